package data

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// tarExtension is the extension of WebDataset's shards.
const tarExtension = ".tar"

func isWebDataset(ctx context.Context, t tree) bool { return hasShards(ctx, t, tarExtension) }

// openWebDataset reads tar shards of images KEY.jpg (or another format) with labels in KEY.cls, KEY.json
// or KEY.txt. Every shard is read through once to find the places of its members. After that each image
// is read separately. If no sample has a label and all members are in folders, the folders are the
// classes.
func openWebDataset(ctx context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	shards, left, err := listShards(ctx, t, tarExtension)
	if err != nil {
		return nil, err
	}
	w := &webDataset{t: t, shards: shards, opt: opt, d: &Dataset{Name: name, Layout: "webdataset", LeftOut: left}}
	w.fields = slices.Clone(labelFields())
	for _, c := range append(slices.Clone(opt.Columns), opt.Group, txtField) {
		if c != "" && !slices.Contains(w.fields, c) {
			w.fields = append(w.fields, c)
		}
	}
	if err := w.index(ctx); err != nil {
		return nil, err
	}
	if err := w.samples(); err != nil {
		return nil, err
	}
	return w.d.setDisjoint().mustBeConsistent(), nil
}

// webDataset is a set of tar shards under construction.
type webDataset struct {
	t       tree
	shards  []string
	opt     OpenOptions
	d       *Dataset
	fields  []string
	indexes []*tarIndex
	states  []string
}

// index indexes the shards.
func (w *webDataset) index(ctx context.Context) error {
	x := &tarReader{fields: w.fields, limit: budget.Limit()}
	keep := newShardCache(w.fields)
	w.indexes, w.states = make([]*tarIndex, len(w.shards)), make([]string, len(w.shards))
	errs := make([]error, len(w.shards))
	err := par.ForContext(ctx, len(w.shards), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			w.indexes[i], w.states[i], errs[i] = x.shard(ctx, w.t, w.shards[i], keep)
		}
	})
	return cmp.Or(slices.Concat([]error{err}, errs)...)
}

// shard returns the index of a shard, from the cache if it is there.
func (x *tarReader) shard(ctx context.Context, t tree, name string, keep *shardCache) (*tarIndex, string, error) {
	where := path.Join(t.location(), name)
	f, err := openRanged(t, name)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	if kept := keep.find(where, f); kept != nil {
		for _, s := range kept.Samples {
			if err := x.countMemory(len(s.Member)); err != nil {
				return nil, "", err
			}
		}
		return kept, f.state, nil
	}
	out, err := x.index(ctx, where, f, f.size)
	if err != nil {
		return nil, "", err
	}
	keep.put(where, f, out)
	return out, f.state, nil
}

// samples makes the data set from the indexes.
func (w *webDataset) samples() error {
	label := w.labelField()
	columns := w.columnFields(label)
	wanted := make([]int, len(columns))
	for k, c := range columns {
		wanted[k] = slices.Index(w.fields, c)
	}
	group := -1
	if w.opt.Group != "" && w.hasField(slices.Index(w.fields, w.opt.Group)) {
		group = slices.Index(w.fields, w.opt.Group)
	}
	d, images := w.d, &tarShards{base: w.t, names: w.shards, states: w.states}
	roles, note := shardRoles(w.shards)
	if note != "" {
		d.Notes = append(d.Notes, note)
	}
	values, groups, dirs := make([][]string, len(columns)), []string(nil), []string(nil)
	for i, x := range w.indexes {
		for _, l := range x.LeftOut {
			l.First = prefixShard(w.shards[i], l.First)
			d.LeftOut = AddLeftOut(d.LeftOut, nil, []LeftOut{l})
		}
		if !x.Marked {
			d.Notes = append(d.Notes, fmt.Sprintf("%s does not end with the end mark of tar: it may have been "+
				"cut off after its last member", path.Join(w.t.location(), w.shards[i])))
		}
		for _, s := range x.Samples {
			name := w.shards[i] + "/" + s.Member
			if k := slices.IndexFunc(wanted, func(k int) bool { return !s.Values[k].Has }); k >= 0 {
				d.LeftOut = countLeftOut(d.LeftOut, noLabelReason(columns[k]), name)
				continue
			}
			d.Names = append(d.Names, name)
			images.places = append(images.places, tarPlace{i, s.Offset, s.Size})
			dirs = append(dirs, path.Dir(s.Member))
			if roles != nil {
				d.Splits = append(d.Splits, roles[i])
			}
			for k, at := range wanted {
				values[k] = append(values[k], s.Values[at].Text)
			}
			if group >= 0 {
				groups = append(groups, s.Values[group].Text)
			}
		}
		w.indexes[i] = nil
	}
	if len(d.Names) == 0 {
		return fmt.Errorf("%s: no image in %d shards: members must be called KEY.jpg, with KEY.cls, KEY.json or "+
			"KEY.txt "+
			"beside them%s", w.t.location(), len(w.shards), leftOutSentence(d.LeftOut))
	}
	if groups != nil {
		c := NewColumn(w.opt.Group, groups)
		d.Group = &c
	}
	return w.finish(images, columns, values, dirs)
}

// finish gives the data set its columns and its source.
func (w *webDataset) finish(images *tarShards, columns []string, values [][]string, dirs []string) error {
	d := w.d
	switch {
	case len(columns) > 0:
		for k, name := range columns {
			d.Columns = append(d.Columns, newValueColumn(name, values[k]))
		}
		d.Fine, d.Train = columns[0], columns[0]
		if err := w.nameClasses(&d.Columns[0]); err != nil {
			return err
		}
	case !slices.Contains(dirs, "."):
		d.labelByFolder(dirs)
	case !w.opt.Unlabelled:
		return fmt.Errorf("%s: no image has a label: want KEY.cls, a key label, class or category of KEY.json "+
			"(data.label "+
			"names another), KEY.txt, or class folders; kindred embed needs no labels",
			w.t.location())
	}
	tree, err := newSharded(w.t, d.Names, images)
	if err != nil {
		return err
	}
	d.Source = sourceOf(tree)
	return nil
}

// prefixShard puts the name of a shard before the names of its members.
func prefixShard(shard string, members []string) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = shard + "/" + m
	}
	return out
}

// hasField reports whether any sample has a field.
func (w *webDataset) hasField(field int) bool {
	return slices.ContainsFunc(w.indexes, func(x *tarIndex) bool {
		return slices.ContainsFunc(x.Samples, func(s tarSample) bool { return s.Values[field].Has })
	})
}

// labelField returns the field with the label, or "" without such a field.
func (w *webDataset) labelField() string {
	for _, f := range append(labelFields(), txtField) {
		if w.hasField(slices.Index(w.fields, f)) {
			return f
		}
	}
	return ""
}

// columnFields returns the fields that become columns: the label, and the requested fields that occur.
func (w *webDataset) columnFields(label string) []string {
	var out []string
	if label != "" && label != txtField {
		out = append(out, label)
	}
	for _, c := range w.opt.Columns {
		if i := slices.Index(w.fields, c); i >= 0 && !slices.Contains(out, c) && w.hasField(i) {
			out = append(out, c)
		}
	}
	if len(out) == 0 && label != "" {
		out = append(out, label)
	}
	return out
}

// classLists returns the names of files beside shards with the names of classes. The number of a line,
// from 0, is the label.
func classLists() []string { return []string{"classnames.txt", "classes.txt"} }

// nameClasses names the classes of a column of numbers, if a list beside the shards or in a folder above
// has a name for each.
func (w *webDataset) nameClasses(c *Column) error {
	if c.Numbers == nil || len(w.shards) == 0 {
		return nil
	}
	for dir := path.Dir(w.shards[0]); ; dir = path.Dir(dir) {
		for _, file := range classLists() {
			if file = path.Join(dir, file); !w.t.has(file) {
				continue
			}
			text, err := readText(w.t, file)
			if err != nil {
				return err
			}
			var names []string
			for _, line := range textLines(text) {
				names = append(names, line)
			}
			return c.rename(path.Join(w.t.location(), file), names)
		}
		if dir == "." || dir == "/" {
			return nil
		}
	}
}

// rename gives each class the name at its number. If several classes have the same name, it adds the
// number.
func (c *Column) rename(where string, names []string) error {
	count := map[string]int{}
	for _, n := range names {
		count[n]++
	}
	for id, n := range c.Numbers {
		if n < 0 || n >= int64(min(len(names), math.MaxInt32)) {
			return fmt.Errorf("%s names %d classes, but a sample has class %d", where, len(names), n)
		}
		c.Classes[id] = names[n]
		if count[names[n]] > 1 {
			c.Classes[id] += " (" + strconv.FormatInt(n, 10) + ")"
		}
	}
	return nil
}
