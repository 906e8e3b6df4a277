package data

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"image"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// Digest identifies the pixels of a sample. It is zero for a sample that cannot be read.
type Digest [sha256.Size]byte

// Digests returns the digests of the samples of the part, in order. The digest of an image file
// covers its content and its box. For other sources it covers the pixels.
func (p *Part) Digests(ctx context.Context) ([]Digest, error) {
	d := p.Data
	if d.Source == nil {
		return nil, fmt.Errorf("data set %s has features instead of images", d.Name)
	}
	out := make([]Digest, p.Len())
	if f, ok := d.Source.(*files); ok {
		for k, sum := range f.digests(ctx, p.Index) {
			if sum == unreadable {
				continue
			}
			if d.Boxes != nil {
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

// fileDigest returns the digest of an image file with the digest sum of its content, in a set with boxes or without.
func fileDigest(sum string, box ...string) Digest {
	h := sha256.New()
	fmt.Fprintln(h, "file", sum)
	for _, b := range box {
		fmt.Fprintln(h, b)
	}
	return Digest(h.Sum(nil))
}

// IsFile reports whether d is the digest of an image file in a folder whose content has a SHA-256. box is the text of
// the sample's box, "" for the whole picture.
func (d Digest) IsFile(content [sha256.Size]byte, box string) bool {
	sum := hex.EncodeToString(content[:])
	if box != "" {
		return d == fileDigest(sum, box)
	}
	return d == fileDigest(sum) || d == fileDigest(sum, image.Rectangle{}.String())
}

// Identities returns a number for each position of the part. Numbers are equal if name and box
// are equal, which means the same picture: a manifest may list a picture several times, under
// several labels or by mistake. Samples without a name are all different.
func (p *Part) Identities() []int64 {
	type picture struct {
		name string
		box  image.Rectangle
	}
	first := make(map[picture]int, p.Len())
	out := make([]int64, p.Len())
	for pos, i := range p.Index {
		of := picture{name: p.Data.Names[i]}
		if p.Data.Boxes != nil {
			of.box = p.Data.Boxes[i]
		}
		at, seen := first[of]
		if !seen || of.name == "" {
			at = i
			first[of] = i
		}
		out[pos] = int64(at)
	}
	return out
}
