package run

import (
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/train"
)

// feed gives the samples of a part: images as they are prepared, or rows of ready
// features.
type feed struct {
	data   train.Data
	part   *data.Part
	loader *data.Loader // nil for features
	ranks  train.Ranks  // which share the embedding of the part; nil: this process embeds all of it
}

// newFeed returns the feed of a part, as cfg says how to prepare images. augment
// allows the random changes of training, and bytes that images are given as bytes
// where that is the same.
func newFeed(p *data.Part, cfg DataConfig, seed uint64, augment, bytes bool) (*feed, error) {
	if p.Data.Features != nil {
		return &feed{data: train.Rows{X: p.Data.Features, Index: p.Index}, part: p}, nil
	}
	how, err := cfg.loader(augment)
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

// loader says how images are read and prepared.
func (c *DataConfig) loader(augment bool) (data.LoaderConfig, error) {
	img, err := c.images(augment)
	return data.LoaderConfig{Image: img, Strict: c.Strict, Smooth: c.Chroma == smoothChroma}, err
}

// images says how images are prepared.
func (c *DataConfig) images(augment bool) (imaging.Config, error) {
	pixels, err := imaging.ParseNormalization(c.Pixels)
	if err != nil {
		return imaging.Config{}, err
	}
	img := imaging.Config{Width: c.Size, Height: c.Size, Channels: c.Channels, Normalize: pixels, Shorter: c.Shorter,
		Rounded: c.Rounded}
	if c.Fit == "cover" {
		img.Fit = imaging.Cover
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

// shape is the shape of a sample; a row of features is 1 x 1 x n.
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
