package run

import (
	"cmp"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/run/internal/feed"
)

// feeds read the samples of a run.
type feeds struct {
	training *feed.Feed
	scored   []*scoredSet // the sets that evaluations score
	features *feed.Cache  // features of a frozen body; nil without one
}

// newFeed returns the feed of a part. cfg says how images are prepared, and augment allows
// the random changes of training. With bytes, images are passed on as bytes where that loses
// nothing.
func newFeed(p *data.Part, cfg DataConfig, seed uint64, augment, bytes bool) (*feed.Feed, error) {
	if p.Data.Features != nil {
		return feed.NewRows(p), nil
	}
	how, err := cfg.loaderConfig(augment)
	if err != nil {
		return nil, err
	}
	how.Seed, how.Bytes = seed, bytes
	return feed.NewImages(p, how)
}

// loaderConfig returns how images are read and prepared.
func (c *DataConfig) loaderConfig(augment bool) (data.LoaderConfig, error) {
	img, err := c.imagingConfig(augment)
	return data.LoaderConfig{Image: img, Strict: c.Strict, Smooth: c.Chroma == smoothChroma,
		RawColours: c.Colours == rawColours}, err
}

// imagingConfig returns how images are prepared.
func (c *DataConfig) imagingConfig(augment bool) (prepare.Config, error) {
	pixels, err := prepare.ParseNormalization(c.Pixels)
	if err != nil {
		return prepare.Config{}, err
	}
	img := prepare.Config{Width: c.Size, Height: c.Size, Channels: c.Channels, Normalize: pixels, Shorter: c.Shorter}
	if name := c.resampleFilter(); name != "" {
		img.Rounded = true
		if err := img.Filter.UnmarshalText([]byte(name)); err != nil {
			return prepare.Config{}, err
		}
	}
	if c.Fit != "" {
		if err := img.Fit.UnmarshalText([]byte(c.Fit)); err != nil {
			return prepare.Config{}, err
		}
	}
	if err := enum.Check("treatment of colours", c.Colours, []string{"", srgbColours, rawColours}); err != nil {
		return prepare.Config{}, err
	}
	if augment {
		a, err := prepare.ParseAugment(c.Augment)
		if err != nil {
			return prepare.Config{}, err
		}
		img.Augment = a
	}
	return img, nil
}

// resampleFilter returns the filter of Pillow's by which images are resized; "" for the default, which is not Pillow's.
func (c *DataConfig) resampleFilter() string {
	if c.Rounded {
		return cmp.Or(c.Resample, prepare.Bilinear.String())
	}
	return c.Resample
}

// prepared describes how images are prepared, for the features of a frozen body.
func (c *DataConfig) prepared(seed uint64) feed.Preparation {
	return feed.Preparation{Size: c.Size, Channels: c.Channels, Fit: c.Fit, Shorter: c.Shorter, Pixels: c.Pixels,
		Chroma: c.Chroma, Augment: c.Augment, Seed: seed, Resample: c.resampleFilter(), Raw: c.Colours == rawColours}
}
