package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run/internal/validation"
	"github.com/kindred-ml/kindred/train"
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

// encoder is a pretrained network that a run may start from, with the score of the untrained network at its own image
// size and preparation.
type encoder struct {
	name          string
	size          int                     // side of the images
	hits          map[int]float64         // 1 if the nearest other image of a position has its class, else 0
	inferenceTime time.Duration           // of an image in the network, in the fastest batch
	comparison    *train.PairedComparison // the best encoder compared with this one
}

// significanceLevel is the level of the t-test below which a difference between encoders counts.
const significanceLevel = 0.05

// encoderCandidates lists the networks that the run has to choose from; nil if the configuration names one
// or none. A list in network.pretrained has commas, but a file with that name comes first.
func encoderCandidates(ctx context.Context, n *NetworkConfig, opts *Options, d *data.Dataset) (
	names []string, err error) {
	names, key := opts.Encoders, optEncoders
	if _, err := rootfs.FromContext(ctx).Stat(n.Pretrained); strings.Contains(n.Pretrained, ",") && err != nil &&
		names == nil {
		key = "network.pretrained"
		for name := range strings.SplitSeq(n.Pretrained, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	switch {
	case names == nil:
		return nil, nil
	case key == optEncoders && n.Pretrained != "":
		err = fmt.Errorf("network.pretrained is %s: set only one of them", n.Pretrained)
	case slices.Contains(names, "") || slices.Contains(names, none):
		err = fmt.Errorf("%q: a list has names, files and folders of networks, with a comma between", n.Pretrained)
	case len(names) > maxEncoders:
		err = fmt.Errorf("%d networks: at most %d are compared: list these in network.pretrained", len(names),
			maxEncoders)
	case opts.Resume:
		err = errors.New("a run that has begun has its network: leave the list out")
	case opts.Ranks != nil || rootfs.FromContext(ctx) != nil:
		err = errors.New("machines differ in their speeds: name one network")
	case d.Features != nil:
		err = fmt.Errorf("data set %s holds ready features, which no network computes: leave the list out", d.Name)
	case n.Name != "":
		err = fmt.Errorf("network.name is %s, but a list has networks of its own: leave network.name out", n.Name)
	}
	if err != nil {
		return nil, option.Errorf("%s: %w", key, err)
	}
	return names, nil
}

// maxEncoders is the largest number of networks that are compared.
const maxEncoders = 8

// chooseEncoder replaces a list of networks by the one to start from. It compares the Recall@1 of the untrained
// networks on training and validation images, as measureSize does. Among those that are not worse than the best one by
// a paired t-test it takes the fastest.
func chooseEncoder(ctx context.Context, c *Config, opts *Options, d *data.Dataset, notes *notes) error {
	names, err := encoderCandidates(ctx, &c.Network, opts, d)
	if err != nil || names == nil {
		return err
	}
	var part *data.Part
	var tried []*encoder
	for k, name := range names {
		e, err := scoreEncoder(ctx, c, opts, d, name, &part, k, len(names))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			tried = append(tried, e)
		case opts.Encoders == nil:
			return fmt.Errorf("network %s of the list in network.pretrained: %w", name, err)
		default:
			notes.add("network %s is not tried: %v", name, err)
		}
	}
	if len(tried) == 0 {
		return option.Errorf("%s: none of the networks can be tried:\n%s", optEncoders, strings.Join(*notes, "\n"))
	}
	kept := selectEncoder(tried)
	c.Network.Pretrained = kept.name
	notes.add("%s", describeEncoders(tried, kept, part.Len()))
	return nil
}

// scoreEncoder scores a network on part, which the first call draws. k of n networks have been scored before.
func scoreEncoder(ctx context.Context, given *Config, opts *Options, d *data.Dataset, name string, part **data.Part,
	k, n int) (*encoder, error) {
	c := given.clone()
	c.Network.Pretrained = name
	if err := firstProblem(&c); err != nil {
		return nil, err
	}
	ignored := new(notes)
	look := func() imageShape { return measureShape(ctx, d) }
	start, err := findStart(ctx, &c, opts, d, look, ignored)
	if err != nil {
		return nil, err
	}
	loss, err := settleLoss(&c, opts, d, &start, look)
	if err != nil {
		return nil, err
	}
	if *part == nil {
		parts, _, err := splitDataset(ctx, &c, d, loss.options.Rule, ignored)
		if err != nil {
			return nil, withNotes(err, d)
		}
		if *part = sizeSample(parts, c.Train.Seed); *part == nil {
			return nil, errors.New("no class has two training images by which networks could be compared: name one " +
				"network")
		}
	}
	if err := choosePreprocessing(&c, d, &start, ignored); err != nil {
		return nil, err
	}
	chooseNetwork(&c, d, &start)
	b, err := start.newBareNet(&c, c.Data.Size)
	if err != nil {
		return nil, err
	}
	e := &encoder{name: name, size: c.Data.Size, hits: map[int]float64{}}
	images := (*part).Len()
	x, err := embedBare(ctx, b.cfg, timedNetwork{b.net, &e.inferenceTime}, *part, opts.FeatureProgress,
		k*images, n*images)
	if err != nil {
		return nil, err
	}
	found, _, err := validation.Search(ctx, &validation.Rows{X: eval.NormalizeRows(x.X), Labels: x.FineLabels()},
		eval.Euclidean)
	if err != nil {
		return nil, err
	}
	for row, f := range found {
		if f != validation.NotSearched {
			e.hits[x.Pos[row]] = float64(f - validation.Miss)
		}
	}
	return e, nil
}

// timedNetwork is a network that keeps the shortest time of an image in its evaluations.
type timedNetwork struct {
	train.Network
	shortest *time.Duration
}

func (t timedNetwork) Infer(x []float32, n int) *matrix.Dense {
	start := time.Now()
	y := t.Network.Infer(x, n)
	if took := time.Since(start) / time.Duration(n); *t.shortest == 0 || took < *t.shortest {
		*t.shortest = took
	}
	return y
}

// recall returns the Recall@1 of the network with its standard error.
func (e *encoder) recall() (value, spread float64) {
	n := float64(max(len(e.hits), 1))
	for _, f := range e.hits {
		value += f / n
	}
	return value, math.Sqrt(value * (1 - value) / n)
}

// selectEncoder returns the fastest of the encoders that are not worse than the one of the highest Recall@1, or are so
// by no more than chance explains. It sets than.
func selectEncoder(tried []*encoder) *encoder {
	best := slices.MaxFunc(tried, func(a, b *encoder) int {
		x, _ := a.recall()
		y, _ := b.recall()
		return cmp.Compare(x, y)
	})
	kept := best
	for _, e := range tried {
		var its, bests []float64
		for pos, f := range e.hits {
			if g, ok := best.hits[pos]; ok {
				its, bests = append(its, f), append(bests, g)
			}
		}
		e.comparison = train.ComparePairs(its, bests)
		if e.comparison.P > significanceLevel && e.inferenceTime < kept.inferenceTime {
			kept = e
		}
	}
	return kept
}

// describeEncoders says how the encoders scored and why one is kept.
func describeEncoders(tried []*encoder, kept *encoder, images int) string {
	var said []string
	alike := 0
	for _, e := range tried {
		value, spread := e.recall()
		said = append(said, fmt.Sprintf("%s %.1f ± %.1f (%d px, %.2g ms an image)", e.name, 100*value, 100*spread,
			e.size, 1000*e.inferenceTime.Seconds()))
		if e.comparison.P > significanceLevel {
			alike++
		}
	}
	why := "the best one"
	if alike > 1 {
		why = fmt.Sprintf("the fastest of the %d best, which differ by no more than chance explains,", alike)
	}
	return fmt.Sprintf("network.pretrained is %s, %s by Recall@1 of the untrained networks on %d training images, in "+
		"per cent: %s; network.pretrained=NAME starts from another one", kept.name, why, images,
		strings.Join(said, ", "))
}
