package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// datasetStage is a run whose data set is open: the first of the stages that Train and Plan go through.
// Each stage embeds the stage before it and is made by one function:
//
//	openDataset   opened   the configuration as given, and the data set
//	newStartStage   started  the start of the network, and the recipe for that start
//	divide     divided  which samples train, validate and test
//	newRecipe  recipe   the size of images, the batches and their number
//	build      built    the network, the objective, the optimizer and the complete configuration
//
// A stage settles only the keys of the configuration that it is the first to know. The stages
// find the mistakes in a run and write nothing. A trainer adds the run folder.
type datasetStage struct {
	cfg     Config // settled as far as this stage allows
	opts    Options
	data    *data.Dataset
	toClose *data.Dataset // nil if the caller opened the data set
	notes   []string      // remarks for the user
}

// openDataset makes the first stage.
func openDataset(ctx context.Context, cfg Config, opts Options) (*datasetStage, error) {
	opts.Resume = opts.Resume || opts.Finish
	if err := errors.Join(cfg.checkMinutes(&opts), opts.checkVacantDir()); err != nil {
		return nil, err
	}
	cfg = cfg.clone()
	if opts.Resume {
		cfg.useRecordedSettings(opts.Dir)
	}
	if err := recordCustomParts(&cfg, &opts); err != nil {
		return nil, err
	}
	for _, p := range table.Problems(&cfg) {
		return nil, fmt.Errorf("%s: %s", p.Key, p.Text)
	}
	if cfg.Network.Precision == string(nn.Int8) {
		return nil, errors.New("network.precision is int8: training needs float32 or bfloat16; kindred quantize then " +
			"writes the finished run in 8 bits")
	}
	o := &datasetStage{cfg: cfg, opts: opts, data: opts.Dataset}
	if o.data == nil {
		var err error
		if o.data, err = cfg.Data.Open(ctx, opts.Home, opts.Formats...); opts.Resume {
			err = ExplainMissingData(err, opts.Dir)
		}
		if err != nil {
			return nil, err
		}
		o.toClose = o.data
	}
	o.notes = slices.Clone(o.data.Notes)
	return o, nil
}

// useRecordedSettings fills in the keys that the configuration of a resumed run leaves unset from the
// settings in its folder dir. Computing the defaults again could give other values: a
// pretrained start holds out a validation part, and its features choose the positives.
func (c *Config) useRecordedSettings(dir string) {
	f, err := Open(dir)
	if err != nil {
		return // claim reports the error
	}
	was, err := f.Config()
	if err != nil {
		return // claim reports the error
	}
	c.Data.topFolders = was.Data.topFolders && (c.Data.Label == "" || c.Data.Fine == "")
	table.UseRecorded(c, &was)
}

// customValue stands in a configuration for a loss, policy or sampler that a program provides by
// Options.Loss, Positives, Negatives, Miner or Sampler. So config.yaml does not name a loss
// that was not used, and a program that does not provide it cannot resume the run.
const customValue = "own"

// negativesKey is the key of the negative policy; see positivesKey.
const negativesKey = "negatives"

// recordCustomParts enters in the configuration what the options provide. A configuration that asks for
// something that the options do not provide is an error.
func recordCustomParts(cfg *Config, opts *Options) error {
	for _, b := range []struct {
		given bool
		field string
		key   string
	}{
		{opts.Loss != nil, "Loss", "loss.name"},
		{opts.Positives != nil || opts.Miner != nil, "Positives or Miner", "mine." + positivesKey},
		{opts.Negatives != nil || opts.Miner != nil, "Negatives or Miner", "mine." + negativesKey},
		{opts.Sampler != nil, "Sampler", "sample.name"},
	} {
		k := table.Lookup(b.key)
		if b.given {
			table.Set(cfg, k, customValue)
		} else if table.Value(cfg, k) == customValue {
			return fmt.Errorf("%s is %s: it is a program's own run.Options.%s, and only that program can start or "+
				"resume this run", b.key, customValue, b.field)
		}
	}
	return nil
}

// addNote adds a remark for the user.
func (o *datasetStage) addNote(format string, args ...any) {
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

// withDataNotes appends the remarks of the data set to an error of its samples, because they may explain it.
func (o *datasetStage) withDataNotes(err error) error {
	for _, n := range o.data.Notes {
		err = fmt.Errorf("%w\n%s", err, n)
	}
	return err
}

// close closes the data set. It ignores errors, because the files were only read.
func (o *datasetStage) close() {
	if o.toClose != nil {
		_ = o.toClose.Close()
	}
}

// Open opens the data set that c names, until ctx ends. home is the data folder, as data.Home
// returns it. Files of features may have the given formats besides the formats of package
// embedding.
func (c *DataConfig) Open(ctx context.Context, home string, formats ...embedding.Format) (*data.Dataset, error) {
	what := cmp.Or(c.Path, c.Name)
	if what == "" {
		return nil, option.Errorf("no data set: give %s, or data.name in the configuration", keyPath)
	}
	return data.Open(ctx, what, c.OpenOptions(home, formats...))
}

// OpenOptions returns the options with which Open opens the data set.
func (c *DataConfig) OpenOptions(home string, formats ...embedding.Format) data.OpenOptions {
	return data.OpenOptions{Home: home, Labels: c.Labels, Formats: formats, Crop: c.Crop, Outside: c.Outside,
		Group: groupColumn(c.Group), Columns: c.labelColumnNames(), Strict: c.Strict}
}

// labelColumnNames returns the columns that labels may be taken from.
func (c *DataConfig) labelColumnNames() []string {
	return slices.DeleteFunc([]string{c.Label, c.Fine}, func(s string) bool { return s == "" })
}

// ExplainMissingData adds advice to an error of DataConfig.Open about the data set of an existing run. A
// data set that does not exist any more was probably moved.
func ExplainMissingData(err error, dir string) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return option.Errorf("%w\nthe run %s was trained on this data set: if it was moved, give its new place with %s",
		err, dir, keyPath)
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
