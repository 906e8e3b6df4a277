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
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/nn"
)

// opened is a run whose data set is open: the first of the stages that Train and Plan go through.
// Each stage holds the one before and has one function that makes it:
//
//	openData   opened   the configuration as it was asked for, and the data set
//	newStart   started  where the network begins, and how it is trained from there
//	divide     divided  which samples train, validate and test
//	newRecipe  recipe   the size of images, the batches and their number
//	build      built    the network, the objective, the optimizer: a configuration that is complete
//
// A stage settles the keys of the configuration that it is the first to know about, and no
// others. They find the mistakes in a run, and write nothing.
type opened struct {
	cfg     Config // as far as it is settled
	opts    Options
	data    *data.Dataset
	toClose *data.Dataset // nil if the caller opened the data set
	notes   []string      // for the user
}

// openData makes the first stage.
func openData(ctx context.Context, cfg Config, opts Options) (*opened, error) {
	opts.Resume = opts.Resume || opts.Finish
	if err := opts.vacant(); err != nil {
		return nil, err
	}
	cfg = cfg.clone()
	if opts.Resume {
		cfg.asBegun(opts.Dir)
	}
	if err := bring(&cfg, &opts); err != nil {
		return nil, err
	}
	for _, p := range table.Problems(&cfg) {
		return nil, fmt.Errorf("%s: %s", p.Key, p.Text)
	}
	if cfg.Network.Precision == string(nn.Int8) {
		return nil, errors.New("network.precision=int8 is for evaluation: train in float32 or bfloat16, then write " +
			"the run in 8 bits with kindred quantize")
	}
	o := &opened{cfg: cfg, opts: opts, data: opts.Dataset}
	if o.data == nil {
		var err error
		if o.data, err = cfg.Data.Open(ctx, opts.Home, opts.Formats...); opts.Resume {
			err = Moved(err, opts.Dir)
		}
		if err != nil {
			return nil, err
		}
		o.toClose = o.data
	}
	o.notes = slices.Clone(o.data.Notes)
	return o, nil
}

// note keeps a sentence for the user.
func (o *opened) note(format string, args ...any) {
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

// explained appends the remarks of the data set to an error of its samples, which they may explain.
func (o *opened) explained(err error) error {
	for _, n := range o.data.Notes {
		err = fmt.Errorf("%w\n%s", err, n)
	}
	return err
}

// close closes the data set. It ignores errors, because the files were only read.
func (o *opened) close() {
	if o.toClose != nil {
		_ = o.toClose.Close()
	}
}

// Open opens the data set that c names, until ctx ends. home is the data
// folder, as data.Home returns it. Files of features may have the given formats besides those of
// package embedding.
func (c *DataConfig) Open(ctx context.Context, home string, formats ...embedding.Format) (*data.Dataset, error) {
	what := cmp.Or(c.Path, c.Name)
	if what == "" {
		return nil, option.Errorf("no data set: give %s, or data.name in the configuration", keyPath)
	}
	return data.Open(ctx, what, c.Options(home, formats...))
}

// Options are those with which Open opens the data set.
func (c *DataConfig) Options(home string, formats ...embedding.Format) data.OpenOptions {
	return data.OpenOptions{Home: home, Labels: c.Labels, Formats: formats, Crop: c.Crop, Outside: c.Outside,
		Group: groupColumn(c.Group), Columns: c.columns(), Strict: c.Strict}
}

// columns are those that labels may be taken from, where samples are described at length.
func (c *DataConfig) columns() []string {
	return slices.DeleteFunc([]string{c.Label, c.Fine}, func(s string) bool { return s == "" })
}

// Moved adds the way out to an error of DataConfig.Open about the data set of an existing run: if
// the data set is no longer there, it was probably moved, and the user can say where to.
func Moved(err error, dir string) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return option.Errorf("%w\nthe run %s was trained on this data set: if it was moved, say where it is with %s",
		err, dir, keyPath)
}

// cacheImages puts the decoded images behind the selected samples, at no more than
// the size that the run can use: twice the final one where random parts are cut
// out. Where there is no place for a cache, the run goes without.
func (t *built) cacheImages(ctx context.Context) error {
	cfg := &t.cfg.Data
	dir, err := data.CacheHome()
	if err != nil {
		if t.opts.Resume { // the images of the cache may be smaller, and other bits
			return fmt.Errorf("the run was begun with data.cache: %w; set $HOME or $XDG_CACHE_HOME", err)
		}
		cfg.Cache = false
		t.note("data.cache is off, and images are decoded in every epoch: %v", err)
		return nil
	}
	a, err := imaging.ParseAugment(cfg.Augment)
	if err != nil {
		return err
	}
	side := max(cfg.Size, cfg.Shorter)
	if a.CropArea[1] > 0 {
		side *= 2
	}
	err = t.sel.Cache(ctx, data.CacheOptions{Dir: dir, Side: side, Strict: cfg.Strict,
		Smooth: cfg.Chroma == smoothChroma})
	if t.toClose != nil {
		t.toClose = t.sel.Train.Data // with the cache in front of it
	}
	return err
}
