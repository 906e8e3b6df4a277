package run

import (
	"cmp"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/nn/onnxnet"
)

// known is what a run has found out that its configuration leaves open. It grows while the
// run is set up: first the start, then the images, the split and the network.
type known struct {
	resumed  bool                         // the run was begun before
	device   bool                         // another engine than package nn holds the weights
	features bool                         // samples are rows of numbers
	start    Start                        // where the network starts, unless a file brings one
	own      *onnxnet.Preparation         // by the file that brings its network; nil until that is taken
	looked   bool                         // all else that the images' keys depend on is known
	images   struct{ w, h, channels int } // of all images, zero where they differ or are to be cut
	spread   bool                         // the loss is to be supcon with spread
	sel      *data.Selected               // the division; nil until it is made
	steps    int                          // of an epoch, of batch samples each; 0 until the sampler is made
	batch    int
	body     int // values that a frozen body makes of an image, 0 until that is known
	note     func(format string, args ...any)
}

// settle fills in unset keys, all or those with the given names, as far as k decides them.
func (c *Config) settle(k *known, names ...string) {
	for i := range keys {
		key := &keys[i]
		if key.resolve == nil || len(names) > 0 && !slices.Contains(names, key.name) || !key.unset(c) {
			continue
		}
		if v := key.resolve(c, k); v != nil {
			key.put(c, v)
		}
	}
}

// look records what is known about the images of a set.
func (k *known) look(d *data.Dataset) {
	k.looked, k.features = true, d.Features != nil
	if k.features {
		return
	}
	k.images.w, k.images.h, k.images.channels = d.Source.Shape()
	if d.Boxes != nil {
		k.images.w, k.images.h = 0, 0
	}
}

// tunes tells whether the run is a new one from a pretrained start, which is trained by a
// recipe of its own. docs/design/finetune.md has the measurements.
//
// A resumed run whose configuration leaves the recipe open was begun without one: it is
// from an earlier version.
func (k *known) tunes(c *Config) bool { return c.Network.pretrained() && !k.resumed }

// file is what the network of a file says about its images.
func (k *known) file() onnxnet.Preparation {
	if k.own == nil {
		return onnxnet.Preparation{}
	}
	return *k.own
}

// channels is data.channels, as far as it is known; 0 before.
func (k *known) channels(c *Config) int {
	switch {
	case c.Data.Channels > 0 || k.features:
		return c.Data.Channels
	case k.start.Size > 0:
		return 3
	case k.looked:
		return cmp.Or(k.images.channels, 3)
	}
	return 0
}
