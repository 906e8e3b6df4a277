package data

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/format/imagepack"
)

// CacheOptions adjusts Dataset.Cache.
type CacheOptions struct {
	// Dir is the folder for cache files. It is required, and created if it does not
	// exist.
	Dir string
	// Side is the length in pixels to which the shorter sides of larger images are
	// reduced; 0 keeps all sizes. For random crops, give a little more than the
	// training size.
	Side int
	// Strict ends the build with the error of the first image that cannot be read.
	// Otherwise such images are recorded, and their samples fail when they are read.
	Strict bool
	// Smooth enlarges the chroma of JPEG files by interpolation; see
	// imaging.Decoder.
	Smooth bool
	// RawColours leaves colours as they are stored; see imaging.Decoder.
	RawColours bool
	// Progress, if set, is called from time to time with the number of images
	// done.
	Progress func(done, total int)
}

// Cache returns d with decoded images: they are cut to their boxes, reduced, and kept in a file
// in opt.Dir. The file is reused as long as the samples, the content of their files, opt.Side,
// opt.Smooth and opt.RawColours stay the same. Files in folders are compared by hash. Files in an archive are
// compared by the stored size and CRC-32, which reading verifies. Every image is checked against
// its checksum when it is read from the cache. Sets in memory are returned unchanged. The file
// stays open until Close, which closes d too.
func (d *Dataset) Cache(ctx context.Context, opt CacheOptions) (*Dataset, error) {
	src, ok := d.Source.(*tree.Files)
	if !ok {
		return d, nil
	}
	key, err := d.cacheKey(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(opt.Dir, fmt.Sprintf("%s-%s.pack", filepath.Base(d.Name), hex.EncodeToString(key[:6])))
	file, err := imagepack.Open(path)
	if err != nil || file.Key != key || file.Len() != d.Len() {
		// The file is missing, damaged, or of another set with the same short name.
		if file != nil {
			file.Close()
		}
		if err := os.MkdirAll(opt.Dir, 0o777); err != nil {
			return nil, err
		}
		if err := atomic.Clean(opt.Dir); err != nil { // remove the remains of builds that were killed
			return nil, err
		}
		if err := imagepack.Create(path, key, func(w *imagepack.Writer) error {
			return d.pack(ctx, w, opt)
		}); err != nil {
			return nil, err
		}
		if file, err = imagepack.Open(path); err != nil {
			return nil, err
		}
	}
	out := *d
	out.Source = newCached(d, file)
	out.Boxes = nil
	return out.mustBeConsistent(), nil
}

// CacheHome returns the folder for image caches: kindred/images in the user's
// cache folder.
func CacheHome() (string, error) {
	dir, err := home.Folder("images", "", "")
	if err != nil {
		return "", fmt.Errorf("no folder for a cache of images: %w", err)
	}
	return dir, nil
}

// cacheKey hashes everything that the content of the cache depends on.
func (d *Dataset) cacheKey(ctx context.Context, src *tree.Files, opt CacheOptions) (imagepack.Key, error) {
	sums := src.Digests(ctx, lists.Indices(src.Count()))
	if err := ctx.Err(); err != nil {
		return imagepack.Key{}, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "kindred cache 5\n%d\n%d\n", opt.Side, src.Count())
	if opt.Smooth {
		fmt.Fprintln(h, "smooth")
	}
	if opt.RawColours {
		fmt.Fprintln(h, "raw colours")
	}
	if opt.Side > 0 {
		fmt.Fprintln(h, "shrunk in decoding")
	}
	for i := range src.Count() {
		fmt.Fprintf(h, "%q %s\n", src.Name(i), sums[i])
		if d.Boxes != nil {
			r := d.Boxes[i]
			binary.Write(h, binary.LittleEndian,
				[4]int64{int64(r.Min.X), int64(r.Min.Y), int64(r.Max.X), int64(r.Max.Y)})
		}
	}
	return imagepack.Key(h.Sum(nil)), nil
}

// packChunk is the number of images decoded before they are written.
const packChunk = 128

// packer holds the buffers of one goroutine.
type packer struct {
	dec     imaging.Decoder
	resizer prepare.Resizer
	full    imaging.Image
}

func (d *Dataset) pack(ctx context.Context, w *imagepack.Writer, opt CacheOptions) error {
	whole := prepare.Config{Width: opt.Side, Height: opt.Side}
	p, err := prepare.NewPipeline(whole)
	if err != nil {
		return err
	}
	tools := sync.Pool{New: func() any {
		return &packer{dec: imaging.Decoder{Smooth: opt.Smooth, RawColours: opt.RawColours, Shrink: p.Shrink}}
	}}
	images, errs := make([]imaging.Image, packChunk), make([]error, packChunk)
	for lo := 0; lo < d.Len(); lo += packChunk {
		n := min(packChunk, d.Len()-lo)
		par.For(n, 1, func(a, b int) {
			t := tools.Get().(*packer)
			defer tools.Put(t)
			for k := a; k < b; k++ {
				if errs[k] = ctx.Err(); errs[k] == nil {
					errs[k] = t.load(ctx, d, lo+k, opt.Side, &images[k])
				}
			}
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		for k := range n {
			im := &images[k]
			if errs[k] != nil {
				if opt.Strict || IsFatal(errs[k]) {
					return asUnreadableError(errs[k])
				}
				im = new(imaging.Image)
			}
			if err := w.Add(im.Pix, im.W, im.H, im.C); err != nil {
				return err
			}
		}
		if opt.Progress != nil {
			opt.Progress(lo+n, d.Len())
		}
	}
	return nil
}

// load reads sample i into out and reduces it.
func (t *packer) load(ctx context.Context, d *Dataset, i, side int, out *imaging.Image) error {
	if side <= 0 {
		return d.Image(ctx, i, out, &t.dec)
	}
	if err := d.Image(ctx, i, &t.full, &t.dec); err != nil {
		return err
	}
	im := &t.full
	short := min(im.W, im.H)
	if short <= side {
		out.CopyFrom(im)
		return nil
	}
	scaled := func(n int) int { return max(1, int(math.Round(float64(n)*float64(side)/float64(short)))) }
	t.resizer.Resize(out, im, prepare.Box{X1: float64(im.W), Y1: float64(im.H)}, scaled(im.W), scaled(im.H))
	return nil
}

// cachedSource is a Source of packed images.
type cachedSource struct {
	d       *Dataset
	file    *imagepack.File
	w, h, c int
}

func newCached(d *Dataset, file *imagepack.File) *cachedSource {
	s := &cachedSource{d: d, file: file}
	for i := range file.Len() {
		w, h, c := file.Shape(i)
		switch {
		case c == 0:
		case s.c == 0:
			s.w, s.h, s.c = w, h, c
		case w != s.w || h != s.h:
			s.w, s.h = -1, -1
		}
		s.c = max(s.c, c)
	}
	if s.w < 0 {
		s.w, s.h = 0, 0
	}
	return s
}

func (s *cachedSource) Shape() (w, h, c int) { return s.w, s.h, s.c }

func (s *cachedSource) Read(ctx context.Context, i int, dst *imaging.Image, dec *imaging.Decoder) error {
	w, h, c := s.file.Shape(i)
	if c == 0 { // reading the file again gives the error
		if err := s.d.Source.Read(ctx, i, dst, dec); err != nil {
			return err
		}
		return fmt.Errorf("%s: could not be read when the cache was made", s.d.Names[i])
	}
	dst.Reset(w, h, c)
	if err := s.file.Read(i, dst.Pix); err != nil {
		return fmt.Errorf("%s from the cache: %w", s.d.Names[i], err)
	}
	return nil
}

// Close closes the cache file and the original set.
func (s *cachedSource) Close() error { return errors.Join(s.file.Close(), s.d.Close()) }
