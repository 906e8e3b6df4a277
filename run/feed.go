package run

import (
	"cmp"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/train"
)

// feeds read the samples of a run.
type feeds struct {
	training *feed
	scored   []*scoredSet  // the sets that evaluations score
	features *featureCache // features of a frozen body; nil without one
}

// feed reads the samples of a part: prepared images or rows of ready features.
type feed struct {
	data   train.Data
	part   *data.Part
	loader *data.Loader // nil for features
	ranks  train.Ranks  // the ranks that share the embedding of the part; nil without ranks
}

// newFeed returns the feed of a part. cfg says how images are prepared, and augment allows
// the random changes of training. With bytes, images are passed on as bytes where that loses
// nothing.
func newFeed(p *data.Part, cfg DataConfig, seed uint64, augment, bytes bool) (*feed, error) {
	if p.Data.Features != nil {
		return &feed{data: train.Rows{X: p.Data.Features, Index: p.Index}, part: p}, nil
	}
	how, err := cfg.loaderConfig(augment)
	if err != nil {
		return nil, err
	}
	how.Seed, how.Bytes = seed, bytes
	l, err := data.NewLoader(p, how)
	if err != nil {
		return nil, err
	}
	return &feed{data: train.Images(l), part: p, loader: l}, nil
}

// loaderConfig returns how images are read and prepared.
func (c *DataConfig) loaderConfig(augment bool) (data.LoaderConfig, error) {
	img, err := c.imagingConfig(augment)
	return data.LoaderConfig{Image: img, Strict: c.Strict, Smooth: c.Chroma == smoothChroma,
		RawColours: c.Colours == rawColours}, err
}

// imagingConfig returns how images are prepared.
func (c *DataConfig) imagingConfig(augment bool) (imaging.Config, error) {
	pixels, err := imaging.ParseNormalization(c.Pixels)
	if err != nil {
		return imaging.Config{}, err
	}
	img := imaging.Config{Width: c.Size, Height: c.Size, Channels: c.Channels, Normalize: pixels, Shorter: c.Shorter}
	if name := c.resampleFilter(); name != "" {
		img.Rounded = true
		if err := img.Filter.UnmarshalText([]byte(name)); err != nil {
			return imaging.Config{}, err
		}
	}
	if c.Fit != "" {
		if err := img.Fit.UnmarshalText([]byte(c.Fit)); err != nil {
			return imaging.Config{}, err
		}
	}
	if err := enum.Check("treatment of colours", c.Colours, []string{"", srgbColours, rawColours}); err != nil {
		return imaging.Config{}, err
	}
	if augment {
		a, err := imaging.ParseAugment(c.Augment)
		if err != nil {
			return imaging.Config{}, err
		}
		img.Augment = a
	}
	return img, nil
}

// resampleFilter returns the filter of Pillow's by which images are resized; "" for the default, which is not Pillow's.
func (c *DataConfig) resampleFilter() string {
	if c.Rounded {
		return cmp.Or(c.Resample, imaging.Bilinear.String())
	}
	return c.Resample
}

// shape returns the shape of a sample; a row of features is 1 x 1 x n.
func (f *feed) shape() (h, w, c int) {
	if f.loader == nil {
		return 1, 1, f.part.Data.Features.Cols
	}
	return f.loader.Shape()
}

func (f *feed) stats() data.Stats {
	if f.loader == nil {
		return data.Stats{}
	}
	return f.loader.Stats()
}
