package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run/internal/feed"
)

// completeGiven completes the configuration as given by that of a resumed run and by what the options provide, and
// checks it.
func completeGiven(c *Config, opts *Options) error {
	if err := errors.Join(c.checkMinutes(opts), opts.claim().CheckVacant()); err != nil {
		return err
	}
	if opts.Resume {
		c.useRecordedSettings(opts.Dir)
	}
	if err := recordCustomParts(c, opts); err != nil {
		return err
	}
	if err := firstProblem(c); err != nil {
		return err
	}
	if c.Network.Precision == string(nn.Int8) {
		return errors.New("network.precision is int8: training needs float32 or bfloat16; kindred quantize then " +
			"writes the finished run in 8 bits")
	}
	return nil
}

// firstProblem returns the first problem of the configuration as an error.
func firstProblem(c *Config) error {
	for _, p := range table.Problems(c) {
		return fmt.Errorf("%s: %s", p.Key, p.Text)
	}
	return nil
}

// openDataset opens the data set, unless the options have it.
func openDataset(ctx context.Context, c *Config, opts *Options) (*data.Dataset, error) {
	if opts.Dataset != nil {
		return opts.Dataset, nil
	}
	d, err := c.Data.Open(ctx, opts.Home, opts.Formats...)
	if opts.Resume {
		err = ExplainMissingData(err, opts.Dir)
	}
	return d, err
}

// useRecordedSettings fills in the keys that the configuration of a resumed run leaves unset from the
// settings in its folder dir. Computing the defaults again could give other values: a
// pretrained start holds out a validation part, and its features choose the positives.
func (c *Config) useRecordedSettings(dir string) {
	f, err := Open(dir)
	if err != nil {
		return // lockFolder reports the error
	}
	was, err := f.Config()
	if err != nil {
		return // lockFolder reports the error
	}
	c.Data.topFolders = was.Data.topFolders && (c.Data.Label == "" || c.Data.Fine == "")
	table.UseRecorded(c, &was)
}

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

// groupColumn returns the column of a manifest that data.group names, or "" for a rule.
func groupColumn(rule string) string {
	switch rule {
	case split.GroupNone, split.GroupFound, split.GroupFolder:
		return ""
	}
	return rule
}

// adviseSearch returns advice for photos whose labels are not enough for training.
func adviseSearch(d *data.Dataset) string {
	if d.Source == nil {
		return ""
	}
	return "; kindred search finds photos without training"
}

// withNotes appends the remarks of the data set to an error of its samples, because they may explain it.
func withNotes(err error, d *data.Dataset) error {
	for _, n := range d.Notes {
		err = fmt.Errorf("%w\n%s", err, n)
	}
	return err
}

// fingerprint identifies the training samples and their labels, so that a run is not resumed on
// other data. It covers names and the labels in use and, if the set has them, behind a dash all
// labels of each sample and the coarse labels, and behind featuresMark the ready features.
func fingerprint(p *data.Part) string {
	text := labelFingerprint(p)
	if features := p.Data.FeaturesDigest(p.Index); features != "" {
		text += featuresMark + features
	}
	return text
}

// changedSamples says what differs between two fingerprints, "" for nothing. One without features is of a version that
// did not look at them.
func changedSamples(was, now string) string {
	oldLabels, old, looked := strings.Cut(was, featuresMark)
	labels, features, _ := strings.Cut(now, featuresMark)
	switch {
	case oldLabels != labels:
		return "the training samples or their labels"
	case looked && old != features:
		return "the features of the training samples"
	}
	return ""
}

// featuresMark separates the digest of features from the rest of a fingerprint.
const featuresMark = "~"

func labelFingerprint(p *data.Part) string {
	labels, rest := sha256.New(), sha256.New()
	var b [16]byte
	for i, idx := range p.Index {
		labels.Write([]byte(p.Data.Names[idx]))
		binary.LittleEndian.PutUint64(b[:8], uint64(p.Label[i]))
		binary.LittleEndian.PutUint64(b[8:], uint64(p.Fine[i]))
		labels.Write(b[:])
	}
	text := hex.EncodeToString(labels.Sum(nil)[:8])
	coarse, err := p.Data.Column("coarse")
	if p.Data.MultiLabel == nil && err != nil {
		return text
	}
	for _, idx := range p.Index {
		if err == nil {
			binary.LittleEndian.PutUint64(b[:8], uint64(coarse.IDs[idx]))
			rest.Write(b[:8])
		}
		if p.Data.MultiLabel == nil {
			continue
		}
		for _, id := range p.Data.MultiLabel.Sets[idx] {
			binary.LittleEndian.PutUint64(b[:8], uint64(id))
			rest.Write(b[:8])
		}
		binary.LittleEndian.PutUint64(b[:8], 1<<63) // no label has this number
		rest.Write(b[:8])
	}
	return text + "-" + hex.EncodeToString(rest.Sum(nil)[:8])
}
