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
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/option"
)

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

// validationMetric scores the validation samples, beside eval.recall. The best epoch is
// chosen by it where the gallery of the validation samples holds training samples of their
// own classes.
const validationMetric = eval.MAPAtR

// selectData applies the label rule, the split and the limits of the configuration, and
// records in it which split was used.
func (t *resolved) selectData(ctx context.Context, d *data.Dataset) (*data.Selected, error) {
	cfg := &t.cfg
	c := &cfg.Data
	sel, err := t.divide(ctx, d, data.Selection{
		Label: c.Label, Fine: c.Fine, Split: c.Split,
		TrainClasses: c.TrainClasses, TestClasses: c.TestClasses, Validation: c.Validation, Fold: c.Fold,
		Seed: cfg.Train.Seed,
	})
	if err != nil {
		return nil, err
	}
	c.Split, c.Validation = sel.Split, sel.ValidationSplit
	if sel.Seen != nil && overlap(sel.Seen, sel.Train) {
		sel.Seen = nil // where only classes are held out, what is seen is what was trained on
	}
	shared := sel.Query == sel.Gallery
	own := sel.ValidationGallery == sel.Validation
	sel.Train = limit(sel.Train, c.TrainLimit)
	if sel.Validation != nil {
		sel.Validation = limit(sel.Validation, c.TrainLimit)
		sel.ValidationGallery = sel.Train
		if own {
			sel.ValidationGallery = sel.Validation
		}
	}
	sel.Query = limit(sel.Query, c.TestLimit)
	if sel.Seen != nil {
		sel.Seen = limit(sel.Seen, c.TestLimit)
	}
	if shared {
		sel.Gallery = sel.Query
	}
	return sel, nil
}

// overlap reports whether two parts share a sample.
func overlap(a, b *data.Part) bool {
	in := make(map[int]bool, b.Len())
	for _, i := range b.Index {
		in[i] = true
	}
	return slices.ContainsFunc(a.Index, func(i int) bool { return in[i] })
}

// limit keeps the first n samples of every fine class; 0 keeps all.
func limit(p *data.Part, n int) *data.Part {
	if n == 0 {
		return p
	}
	taken := map[int64]int{}
	var keep []int
	for i, y := range p.Fine {
		if taken[y]++; taken[y] <= n {
			keep = append(keep, i)
		}
	}
	return subset(p, keep)
}

// subset is the part with the samples at the given positions.
func subset(p *data.Part, pos []int) *data.Part {
	out := &data.Part{Data: p.Data, LabelClasses: p.LabelClasses, FineClasses: p.FineClasses}
	for _, i := range pos {
		out.Index = append(out.Index, p.Index[i])
		out.Label = append(out.Label, p.Label[i])
		out.Fine = append(out.Fine, p.Fine[i])
	}
	return out
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
	return t.sel.Cache(ctx, data.CacheOptions{Dir: dir, Side: side, Strict: cfg.Strict,
		Smooth: cfg.Chroma == smoothChroma})
}
