package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/objective"
)

// Start is a network to start from.
type Start struct {
	// Name is the network's name, and Path the file of its weights.
	Name, Path string
	// Network is the architecture of the weights, as zoo.Network names it; "" for a file
	// that includes its own network.
	Network string
	// Size is the side in pixels of the images that the network was trained on, or 0 if unknown.
	// Pixels is the range of their values, as data.pixels names it, and Resample the filter by which they were resized,
	// as data.resample names it; "" if unknown.
	Size             int
	Pixels, Resample string
}

// startStage is the second stage of a run: the start of the network is known. It decides the loss
// and the recipe of training.
type startStage struct {
	*datasetStage
	weights Start            // zero without pretrained weights
	file    *onnxnet.Network // the network that the file of weights includes, or nil
	// preprocessing is how images are prepared by the files in the folder of weights without a network.
	preprocessing onnxnet.Preparation
	// side is the side of the images that the pretrained network was made for; 0 if that is
	// unknown, or if samples are not images.
	side int
	// missingDefault is the name of the default pretrained network for photographs if it could not be found.
	missingDefault string
	lossOptions    objective.Options // options of the loss that do not depend on the network
	// choosesLoss says that the configuration leaves the loss to the recipe.
	choosesLoss bool
}

// newStartStage finds the start, and settles the loss and the recipe that follow from it.
func newStartStage(ctx context.Context, o *datasetStage) (*startStage, error) {
	s := &startStage{datasetStage: o}
	look := sync.OnceValue(func() imageShape { return measureShape(ctx, o.data) })
	if err := s.findStart(ctx, look); err != nil {
		return nil, err
	}
	// The default loss for grey images from scratch is SupCon with spread between two views of
	// each image (Chen et al. 2022). SupCon tells the labels apart. Spread keeps the images of a
	// label from falling together, because each stays near its own other view. This works with and
	// without sub-classes. docs/design/scratch.md has the measurements, and why colour images keep
	// the triplet loss.
	spread := !s.opts.Resume && !s.cfg.Network.isPretrained() && s.cfg.leavesLossOpen() &&
		cmp.Or(s.cfg.Data.Channels, look().channels) == 1 && s.data.Features == nil
	s.chooseLoss(spread)
	s.chooseRecipe(spread)
	var err error
	if s.lossOptions, err = s.cfg.objective(); err != nil {
		return nil, err
	}
	return s, useCustomLoss(&s.lossOptions, s.cfg.Mine, &s.opts)
}

// findStart finds the network that a run starts from, which the configuration may leave open. The
// configuration of a resumed run names it. look returns the shape of the images.
func (s *startStage) findStart(ctx context.Context, look func() imageShape) error {
	n, opts := &s.cfg.Network, &s.opts
	var missing error // why no weights were found
	if n.Pretrained == "" && n.Name == "" && opts.Weights != nil && !opts.Resume && look().arePhotographs() {
		p, err := opts.Weights(ctx, "")
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			n.Pretrained, missing, s.missingDefault = none, err, cmp.Or(p.Name, "NAME")
			s.addNote("photographs are trained from random weights, which gives much worse "+
				"results than a pretrained start: %v; network.pretrained=model.onnx starts from your own network, and "+
				"network.pretrained=%s asks for random weights", err, none)
		default:
			n.Pretrained, s.weights = p.Name, p
			s.addNote("the run starts from the pretrained network %s (network.pretrained=%s starts from "+
				"scratch)", p.Name, none)
		}
	}
	open := n.Pretrained == "" || missing != nil // the configuration does not ask for random weights
	if n.hasFrozenBody() && open && s.data.Features == nil && !opts.Resume {
		err := fmt.Errorf("network.freeze=%s: the body would stay random: name a start by "+
			"network.pretrained, or ask for random features by network.pretrained=%s", wholeBody, none)
		if missing != nil {
			err = option.Errorf("%w; %w", err, missing)
		}
		return err
	}
	var err error
	if n.isPretrained() && s.weights.Path == "" {
		if s.weights, err = findWeights(ctx, n, opts); err != nil {
			return err
		}
	}
	if s.file, err = s.cfg.importFileNetwork(s.weights.Path, s.cfg.Data.Size); err != nil {
		return err
	}
	switch {
	case s.file != nil:
		if s.file.Frozen && !n.hasFrozenBody() {
			n.Freeze = append(n.Freeze, wholeBody)
		}
		s.weights = Start{Path: s.weights.Path} // the rest is in the file
		s.side, err = s.fileImageSide()
	case s.data.Features == nil:
		if n.isPretrained() && n.PretrainedIsFile() {
			var notes []string
			if s.preprocessing, notes, err = published.ReadPreparation(s.weights.Path); err != nil {
				return fmt.Errorf("network.pretrained: %w", err)
			}
			s.weights.Size = s.preprocessing.Side
			s.notes = append(s.notes, notes...)
			if err := s.usePublishedConfig(); err != nil {
				return fmt.Errorf("network.pretrained: %w", err)
			}
		}
		s.side = s.weights.Size
	}
	return err
}

// publishedWeights is the file of weights in a folder of Hugging Face's libraries or timm.
const publishedWeights = "model.safetensors"

// findWeights looks for the weights that the configuration names: a file, a folder with
// publishedWeights, or a name that Options.Weights knows.
func findWeights(ctx context.Context, n *NetworkConfig, opts *Options) (Start, error) {
	if n.PretrainedIsFile() || opts.Weights == nil {
		path, err := rootfs.LocalCopy(ctx, n.Pretrained)
		if err != nil {
			return Start{}, fmt.Errorf("network.pretrained: %w", err)
		}
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			if weights, _ := findPublishedFiles(path); weights != "" {
				return Start{Name: n.Pretrained, Path: weights}, nil
			}
			path = filepath.Join(path, publishedWeights)
		}
		return Start{Name: n.Pretrained, Path: path}, nil
	}
	s, err := opts.Weights(ctx, n.Pretrained)
	if err != nil {
		return Start{}, fmt.Errorf("network.pretrained: %w", err)
	}
	return s, nil
}

// fileImageSide returns the side of the images that the network of a file was made for, whatever
// size the configuration asks for; 0 if the images are not square.
func (s *startStage) fileImageSide() (int, error) {
	net := s.file
	if s.cfg.Data.Size > 0 {
		var err error
		if net, err = s.cfg.importFileNetwork(s.weights.Path, 0); err != nil {
			return 0, err
		}
	}
	if in := net.Spec.Input; in.H == in.W && in.H > 1 {
		return in.H, nil
	}
	return 0, nil
}

// isFineTuning reports whether the run is a new one from a pretrained start, which has its own recipe
// of training. docs/design/finetune.md has the measurements.
//
// A resumed run whose configuration leaves the recipe open was started by an earlier version
// without a recipe.
func (s *startStage) isFineTuning() bool { return s.cfg.Network.isPretrained() && !s.opts.Resume }

// leavesLossOpen reports whether a configuration leaves the loss open and allows batches with two
// views of each image.
func (c *Config) leavesLossOpen() bool {
	return len(c.Loss) == 0 && len(c.Mine) == 0 && c.Sample.Views != 1 && c.Sample.PerClass != 1 &&
		c.Data.Augment != none
}

// chooseLoss settles the loss and the number of views of a sample.
func (s *startStage) chooseLoss(spread bool) {
	c := &s.cfg
	name, views := "triplet", 1
	_, nested := c.Loss["nested"] // a key of every loss
	switch {
	case spread:
		name, views = "supcon", 2
		c.Loss["plus"] = []any{map[string]any{"name": "spread", "weight": 1}}
	case c.Network.isPretrained() && (len(c.Loss) == 0 || len(c.Loss) == 1 && nested):
		name = pairLoss
		s.choosesLoss = len(c.Loss) == 0 && len(c.Mine) == 0 && s.isFineTuning() && s.data.Features == nil &&
			!c.Network.hasFrozenBody() && s.usesConfiguredObjective()
		if s.choosesLoss {
			name = classificationLoss
		}
	}
	if v := c.Loss["name"]; v == nil || v == "" {
		c.Loss["name"] = name
	}
	c.Sample.Views = cmp.Or(c.Sample.Views, views)
}

// chooseRecipe settles the keys of training that depend only on the start. A frozen body keeps
// its norms, and its features are computed once.
func (s *startStage) chooseRecipe(spread bool) {
	d, n, t := &s.cfg.Data, &s.cfg.Network, &s.cfg.Train
	augment, validation, norm, depth := none, none, Off, 1.0
	if spread {
		augment = "characters"
	}
	if s.isFineTuning() {
		validation = "as-test:0.2"
		if !n.hasFrozenBody() {
			augment, norm, depth = "light", On, 0.1
		}
	}
	d.Augment, d.Validation = cmp.Or(d.Augment, augment), cmp.Or(d.Validation, validation)
	t.Depth = cmp.Or(t.Depth, depth)
	n.FrozenNorm = cmp.Or(n.FrozenNorm, norm)
	if n.hasFrozenBody() && d.Augment != none {
		d.Views = cmp.Or(d.Views, 4)
	}
	if s.file != nil || s.isFineTuning() {
		d.Chroma = cmp.Or(d.Chroma, smoothChroma)
	}
}

// imageShape describes some images: the median of their shorter sides, and 3 channels if one of them
// has 3. It is zero without images.
type imageShape struct{ side, channels int }

// arePhotographs reports whether the images are colour images larger than thumbnails.
func (s imageShape) arePhotographs() bool { return s.channels == 3 && s.side >= 64 }

// shapeImages is the number of images that measureShape decodes.
const shapeImages = 24

func measureShape(ctx context.Context, d *data.Dataset) imageShape {
	if d.Features != nil || d.Source == nil {
		return imageShape{}
	}
	if w, h, c := d.Source.Shape(); w > 0 && h > 0 {
		return imageShape{min(w, h), c}
	}
	channels := 0
	var sides []int
	var img imaging.Image
	var dec imaging.Decoder
	for k := range shapeImages {
		if d.Source.Read(ctx, k*d.Len()/shapeImages, &img, &dec) != nil { // training reports the error
			continue
		}
		sides, channels = append(sides, min(img.W, img.H)), max(channels, img.C)
	}
	if len(sides) == 0 {
		return imageShape{}
	}
	slices.Sort(sides)
	return imageShape{sides[len(sides)/2], channels}
}
