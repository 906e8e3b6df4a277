package imaging

import (
	"context"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/tiff"
)

var tiffFormat = format{name: "TIFF", extensions: []string{".tif", ".tiff"}, mediaType: "image/tiff",
	matches: tiff.IsTIFF, open: openTIFF, exif: func(b []byte) []byte { return b }, colours: tiffColours}

// tiffColours returns the profile, tag 34675.
func tiffColours(b []byte) colourSpace {
	const profile = 34675
	t, first := readTags(b)
	return colourSpace{icc: smallProfile(t.bytes(first, profile))}
}

func openTIFF(_ context.Context, b []byte, _ int64) (*source, error) {
	f, err := tiff.Open(b)
	if err != nil {
		return nil, err
	}
	s := &source{cfg: f.Config(), decode: f.Decode, bytes: f.Memory()}
	if !f.IsRGB() { // see fromImage
		s.bytes = budget.Sum(s.bytes, reduced(s.cfg.Width, s.cfg.Height, 1))
	}
	return s, nil
}
