package data

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"image"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// Digest identifies the pixels of a sample. It is zero for a sample that cannot be read.
type Digest [sha256.Size]byte

// String returns the hexadecimal digits; "" for the zero Digest.
func (d Digest) String() string {
	if d == (Digest{}) {
		return ""
	}
	return hex.EncodeToString(d[:])
}

// Digests returns the digests of the samples of the part, in order. The digest of an image file
// covers its content and its box. For other sources it covers the pixels.
func (p *Part) Digests(ctx context.Context) ([]Digest, error) {
	d := p.Data
	if d.Source == nil {
		return nil, fmt.Errorf("data set %s has features instead of images", d.Name)
	}
	out := make([]Digest, p.Len())
	if f, ok := d.Source.(*tree.Files); ok {
		for k, sum := range f.Digests(ctx, p.Index) {
			if sum == tree.Unreadable {
				continue
			}
			if d.Boxes != nil && !d.Boxes[p.Index[k]].Empty() {
				out[k] = fileDigest(sum, d.Boxes[p.Index[k]].String())
			} else {
				out[k] = fileDigest(sum)
			}
		}
		return out, ctx.Err()
	}
	par.For(len(out), 64, func(lo, hi int) {
		var img imaging.Image
		var dec imaging.Decoder
		for k := lo; k < hi && ctx.Err() == nil; k++ {
			if d.Image(ctx, p.Index[k], &img, &dec) != nil {
				continue
			}
			h := sha256.New()
			binary.Write(h, binary.LittleEndian, [3]int64{int64(img.W), int64(img.H), int64(img.C)})
			h.Write(img.Pix)
			out[k] = Digest(h.Sum(nil))
		}
	})
	return out, ctx.Err()
}

// fileDigest returns the digest of an image file with the digest sum of its content, or of a box of it.
func fileDigest(sum string, box ...string) Digest {
	h := sha256.New()
	fmt.Fprintln(h, "file", sum)
	for _, b := range box {
		fmt.Fprintln(h, b)
	}
	return Digest(h.Sum(nil))
}

// IsFile reports whether d is the digest of a whole image file in a folder whose content has a SHA-256.
func (d Digest) IsFile(content [sha256.Size]byte) bool {
	sum := hex.EncodeToString(content[:])
	return d == fileDigest(sum) || d == fileDigest(sum, image.Rectangle{}.String()) // as earlier versions wrote it
}

// Item returns what sample i is, without its digest.
func (d *Dataset) Item(i int) embedding.Item {
	it := embedding.Item{Path: d.Names[i]}
	if d.Boxes != nil {
		it.Region = embedding.FormatRegion(d.Boxes[i])
	}
	return it
}

// ItemName returns the name of sample i, by which tables, indexes and pages know it; see embedding.Item.
func (d *Dataset) ItemName(i int) string { return d.Item(i).Name() }

// Rows returns the number of the first sample with each name of an item. A path that is the path of one item alone
// is also a name of it: tables of earlier versions have no regions.
func (d *Dataset) Rows() map[string]int {
	at := make(map[string]int, d.Len())
	paths := make(map[string]int)
	for i, path := range d.Names {
		if name := d.ItemName(i); name != path {
			if _, twice := paths[path]; twice {
				paths[path] = -1
			} else {
				paths[path] = i
			}
			if _, seen := at[name]; !seen {
				at[name] = i
			}
		} else if _, seen := at[path]; !seen {
			at[path] = i
		}
	}
	for path, i := range paths {
		if _, whole := at[path]; !whole && i >= 0 {
			at[path] = i
		}
	}
	return at
}

// Identities returns a number for each position of the part. Numbers are equal if the names of the items are equal,
// which means the same picture: a manifest may list a picture several times, under several labels or by mistake.
// Samples without a name are all different.
func (p *Part) Identities() []int64 {
	first := make(map[embedding.Item]int, p.Len())
	out := make([]int64, p.Len())
	for pos, i := range p.Index {
		of := p.Data.Item(i)
		at, seen := first[of]
		if !seen || of.Path == "" {
			at = i
			first[of] = i
		}
		out[pos] = int64(at)
	}
	return out
}

// SelfRows returns for each position of the part the position in a gallery of the same set that is the same
// item, or -1; nil if there are none. It is the same sample, or one with the same name and box: a manifest
// may list a file as a query
// and again as an item of the gallery.
func (p *Part) SelfRows(gallery *Part) []int {
	samples, items := make(map[int]int, gallery.Len()), make(map[embedding.Item]int, gallery.Len())
	for pos, i := range gallery.Index {
		samples[i] = pos
		it := p.Data.Item(i)
		if _, twice := items[it]; !twice && it.Path != "" {
			items[it] = pos
		}
	}
	out, some := make([]int, p.Len()), false
	for pos, i := range p.Index {
		at, ok := samples[i]
		if !ok {
			at, ok = items[p.Data.Item(i)]
		}
		if out[pos] = -1; ok {
			out[pos], some = at, true
		}
	}
	if !some {
		return nil
	}
	return out
}
