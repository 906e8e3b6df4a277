package data

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
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
			h := sha256.New()
			fmt.Fprintln(h, "file", sum)
			if d.Boxes != nil {
				fmt.Fprintln(h, d.Boxes[p.Index[k]])
			}
			out[k] = Digest(h.Sum(nil))
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
