package imaging

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// maxScans is the largest number of scans of a JPEG file. Encoders write about ten. Each scan passes
// over the whole image, even if it has only a few bytes.
const maxScans = 40

// sized refuses a picture without pixels.
func (f *format) sized(cfg image.Config) error {
	if cfg.Width <= 0 || cfg.Height <= 0 {
		return fmt.Errorf("%s of %d x %d pixels", f.name, cfg.Width, cfg.Height)
	}
	return nil
}

// memory returns the memory for a picture: the decoded image, as much again for the decoder's buffers (raw rows,
// passes of interlaced files), and the three channels of the result.
func (p *Picture) memory(progressive bool) int64 {
	cfg := p.source.cfg
	model := bytesPerPixel(cfg.ColorModel)
	n := 2*model + 3
	if progressive {
		n += 4 * model // 32-bit coefficients
	}
	return max(p.source.bytes, budget.Product(int64(cfg.Width), int64(cfg.Height), n))
}

// refuse returns an error if the header and the markers show that d must not decode a file. It has more pixels than
// allowed, has too many scans, or needs more memory than internal/base/budget or d allow.
//
// shrink is Decoder.Shrink, or nil.
func (p *Picture) refuse(d *Decoder, shrink func(w, h int) int) error {
	cfg, name := p.source.cfg, p.format.name
	if err := p.format.sized(cfg); err != nil {
		return err
	}
	if cfg.Width > d.limit()/cfg.Height {
		return fmt.Errorf("%s of %d x %d pixels: more than the %d allowed", name, cfg.Width, cfg.Height, d.limit())
	}
	progressive := false
	if name == "JPEG" {
		n := 0
		if n, progressive = jpegScans(p.file); n > maxScans {
			return fmt.Errorf("JPEG of %d scans: more than the %d allowed", n, maxScans)
		}
	}
	what := fmt.Sprintf("%s of %d x %d pixels", name, cfg.Width, cfg.Height)
	need := p.memory(progressive)
	if box := p.source.inBox; box != nil {
		usual, largest := box.memory(shrink)
		if need = usual; d.MaxBytes > 0 { // then others share the memory
			need = largest
		}
	}
	if d.MaxBytes > 0 && need > d.MaxBytes {
		return fmt.Errorf("%s is damaged, or of a kind that cannot be reduced while it is decoded: it needs "+
			"%d bytes of memory, but only %d are allowed", what, need, d.MaxBytes)
	}
	return budget.Check(what, need)
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

// jpegScans returns the number of scans of a JPEG file, and whether it is progressive. If a marker
// is missing, it searches for the next one, as image/jpeg does.
func jpegScans(b []byte) (n int, progressive bool) {
	for at := 2; at+1 < len(b); {
		marker := b[at+1]
		switch {
		case b[at] != 0xff, marker == 0xff, marker == 0:
			at++ // data of a scan, stuffing, padding
			continue
		case marker == 0xd9: // end of the image
			return n, progressive
		case 0xd0 <= marker && marker <= 0xd8: // markers without a segment
			at += 2
			continue
		case marker == 0xda:
			n++
		case marker == 0xc2:
			progressive = true
		}
		if at+4 > len(b) {
			return n, progressive
		}
		at += 2 + max(2, int(binary.BigEndian.Uint16(b[at+2:])))
	}
	return n, progressive
}
