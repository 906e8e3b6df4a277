package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/nn"
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
