package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/internal/network/published"
)

// networkStart is where the network of a run starts.
type networkStart struct {
	weights Start            // zero without pretrained weights
	file    *onnxnet.Network // the network that the file of weights includes, or nil
	// preprocessing is how images are prepared by the files in the folder of weights without a network.
	preprocessing onnxnet.Preparation
	// side is the side of the images that the pretrained network was made for; 0 if that is
	// unknown, or if samples are not images.
	side int
	// missingDefault is the name of the default pretrained network for photographs if it could not be found.
	missingDefault string
	// fineTunes says that the run is a new one from a pretrained start, which has its own recipe of training.
	// docs/design/finetune.md has the measurements. A resumed run whose configuration leaves the recipe open was
	// started by an earlier version without a recipe.
	fineTunes bool
}

// findStart finds the network that a run starts from, which the configuration may leave open. The
// configuration of a resumed run names it. look returns the shape of the images.
func findStart(ctx context.Context, c *Config, opts *Options, d *data.Dataset, look func() imageShape, notes *notes) (
	s networkStart, err error) {
	n := &c.Network
	var missing error // why no weights were found
	if n.Pretrained == "" && n.Name == "" && opts.Weights != nil && !opts.Resume && look().arePhotographs() {
		p, err := opts.Weights(ctx, "")
		switch {
		case ctx.Err() != nil:
			return s, ctx.Err()
		case err != nil:
			n.Pretrained, missing, s.missingDefault = none, err, cmp.Or(p.Name, "NAME")
			notes.add("photographs are trained from random weights, which gives much worse "+
				"results than a pretrained start: %v; network.pretrained=model.onnx starts from your own network, and "+
				"network.pretrained=%s asks for random weights", err, none)
		default:
			n.Pretrained, s.weights = p.Name, p
			notes.add("the run starts from the pretrained network %s (network.pretrained=%s starts from "+
				"scratch)", p.Name, none)
		}
	}
	open := n.Pretrained == "" || missing != nil // the configuration does not ask for random weights
	if n.hasFrozenBody() && open && d.Features == nil && !opts.Resume {
		err := fmt.Errorf("network.freeze=%s: the body would stay random: name a start by "+
			"network.pretrained, or ask for random features by network.pretrained=%s", wholeBody, none)
		if missing != nil {
			err = option.Errorf("%w; %w", err, missing)
		}
		return s, err
	}
	s.fineTunes = n.isPretrained() && !opts.Resume
	if n.isPretrained() && s.weights.Path == "" {
		if s.weights, err = findWeights(ctx, n, opts); err != nil {
			return s, err
		}
	}
	if s.file, err = c.importFileNetwork(s.weights.Path, c.Data.Size); err != nil {
		return s, err
	}
	switch {
	case s.file != nil:
		if s.file.Frozen && !n.hasFrozenBody() {
			n.Freeze = append(n.Freeze, wholeBody)
		}
		s.weights = Start{Path: s.weights.Path} // the rest is in the file
		s.side, err = s.fileImageSide(c)
	case d.Features == nil:
		if n.isPretrained() && n.PretrainedIsFile() {
			if err := s.readPublished(n, notes); err != nil {
				return s, fmt.Errorf("network.pretrained: %w", err)
			}
		}
		s.side = s.weights.Size
	}
	return s, err
}

// readPublished reads what the files beside the weights say about images and, for a new run, about the network.
func (s *networkStart) readPublished(n *NetworkConfig, notes *notes) error {
	said, remarks, err := published.ReadPreparation(s.weights.Path)
	if err != nil {
		return err
	}
	s.preprocessing, s.weights.Size = said, said.Side
	*notes = append(*notes, remarks...)
	if !s.fineTunes { // a resumed run has the rest in its configuration
		return nil
	}
	return n.usePublishedConfig(s.weights.Path, notes)
}

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
func (s *networkStart) fileImageSide(c *Config) (int, error) {
	net := s.file
	if c.Data.Size > 0 {
		var err error
		if net, err = c.importFileNetwork(s.weights.Path, 0); err != nil {
			return 0, err
		}
	}
	if in := net.Spec.Input; in.H == in.W && in.H > 1 {
		return in.H, nil
	}
	return 0, nil
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
