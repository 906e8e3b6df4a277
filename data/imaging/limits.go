package imaging

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"runtime"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// checkSize refuses a picture without pixels.
func (f *format) checkSize(cfg image.Config) error {
	if cfg.Width <= 0 || cfg.Height <= 0 {
		return fmt.Errorf("%s of %d x %d pixels", f.name, cfg.Width, cfg.Height)
	}
	return nil
}

// pictureMemory returns the memory for a picture: the decoded image, as much again for the decoder's buffers (raw
// rows, passes of interlaced files), and the three channels of the result.
func pictureMemory(cfg image.Config, progressive bool) int64 {
	model := bytesPerPixel(cfg.ColorModel)
	n := 2*model + 3
	if progressive {
		n += 4 * model // 32-bit coefficients
	}
	return budget.Product(int64(cfg.Width), int64(cfg.Height), n)
}

// memory returns the memory for decoding the picture outside of a sandbox.
func (p *Picture) memory() int64 {
	if p.source.bytes > 0 {
		return p.source.bytes
	}
	return pictureMemory(p.source.cfg, p.jpeg.IsProgressive())
}

// checkLimits returns an error if the header and the markers show that d must not decode a file. It has more
// pixels than allowed, has too many scans, or needs more memory than internal/base/budget or d allow. The
// file is in memory too while it is decoded. It counts for the limit of the process, not for that of d,
// whose owner has read the file.
//
// shrink is Decoder.Shrink, or nil.
func (p *Picture) checkLimits(d *Decoder, shrink func(w, h int) int) error {
	cfg, name := p.source.cfg, p.format.name
	if err := p.format.checkSize(cfg); err != nil {
		return err
	}
	if cfg.Width > d.limit()/cfg.Height {
		return fmt.Errorf("%s of %d x %d pixels: more than the %d allowed", name, cfg.Width, cfg.Height, d.limit())
	}
	if p.source.check != nil {
		if err := p.source.check(p.file); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("%s of %d x %d pixels", name, cfg.Width, cfg.Height)
	need := p.memory()
	if box := p.source.sandbox; box != nil {
		usual, largest := box.memory(shrink)
		if need = usual; d.MaxBytes > 0 { // then others share the memory
			need = largest
		}
	}
	if d.MaxBytes > 0 && need > d.MaxBytes {
		return fmt.Errorf("%s is damaged, or of a kind that cannot be reduced while it is decoded: it needs "+
			"%d bytes of memory, but only %d are allowed", what, need, d.MaxBytes)
	}
	return budget.Check(what, budget.Sum(need, int64(len(p.file))))
}

func bytesPerPixel(m color.Model) int64 {
	switch m {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.YCbCrModel:
		return 3
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	if _, ok := m.(color.Palette); ok {
		return 1
	}
	return 4
}

// decodeGate is where all decoders of the process share its memory, but those with a share of their own.
var decodeGate budget.Gate

// reserve waits for the memory for decoding a file, which is in memory too. With MaxBytes the owner of d has taken it.
func (d *Decoder) reserve(ctx context.Context, bytes int64, file []byte) (leave func(), err error) {
	if d.MaxBytes > 0 {
		return func() {}, nil
	}
	return decodeGate.Enter(ctx, budget.Sum(bytes, int64(len(file))))
}

// maxKeptBuffer returns the largest size of each buffer that is kept for the next picture. Header.Bytes does
// not count what earlier pictures have left, and each core has a few buffers.
func maxKeptBuffer() int64 { return budget.Limit() / int64(8*runtime.GOMAXPROCS(0)) }

// Release frees the large buffers that d and dst have from an earlier picture. Callers who read a file into Buffer
// call it before that.
func (d *Decoder) Release(dst *Image) {
	if int64(cap(d.Buffer)) > maxKeptBuffer() {
		d.Buffer = nil
	}
	d.begin(dst)
}

// begin prepares d and dst for a picture. The file may be in Buffer.
func (d *Decoder) begin(dst *Image) {
	d.ClearRemarks()
	most := maxKeptBuffer()
	d.fast.Trim(most)
	if int64(cap(dst.Pix)) > most {
		dst.Pix = nil
	}
}
