package layout

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// tarExtension is the extension of WebDataset's shards.
const tarExtension = ".tar"

// readWebDataset reads tar shards of images KEY.jpg (or another format) with labels in KEY.cls, KEY.json
// or KEY.txt. Every shard is read through once to find the places of its members. After that each image
// is read separately. If no sample has a label and all members are in folders, the folders are the
// classes.
func readWebDataset(ctx context.Context, s *Set) error {
	shards, err := listShards(ctx, s, tarExtension)
	if err != nil {
		return err
	}
	w := &webDataset{Set: s, shards: shards, fields: slices.Clone(labelFields())}
	for _, c := range append(slices.Clone(s.opt.Columns), s.opt.Group, txtField) {
		if c != "" && !slices.Contains(w.fields, c) {
			w.fields = append(w.fields, c)
		}
	}
	if err := w.index(ctx); err != nil {
		return err
	}
	return w.samples()
}

// webDataset is a set of tar shards under construction.
type webDataset struct {
	*Set
	shards  []string
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
			w.indexes[i], w.states[i], errs[i] = x.shard(ctx, w.tree.Tree, w.shards[i], keep)
		}
	})
	return cmp.Or(slices.Concat([]error{err}, errs)...)
}

// shard returns the index of a shard, from the cache if it is there.
func (x *tarReader) shard(ctx context.Context, t tree.Tree, name string, keep *shardCache) (*tarIndex, string, error) {
	where := path.Join(t.Location(), name)
	f, err := tree.OpenRanged(t, name)
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
		return kept, f.State, nil
	}
	out, err := x.index(ctx, where, f, f.Size)
	if err != nil {
		return nil, "", err
	}
	keep.put(where, f, out)
	return out, f.State, nil
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
	images := &tarShards{base: w.tree.Tree, names: w.shards, states: w.states}
	roles := w.shardRoles(w.shards)
	values, groups, dirs := make([][]string, len(columns)), []string(nil), []string(nil)
	for i, x := range w.indexes {
		for _, l := range x.LeftOut {
			w.LeftOut = tree.Count(w.LeftOut, l.Reason, l.Count, prefixShard(w.shards[i], l.First)...)
		}
		if !x.Marked {
			w.Notes = append(w.Notes, fmt.Sprintf("%s does not end with the end mark of tar: it may have been "+
				"cut off after its last member", w.path(w.shards[i])))
		}
		for _, s := range x.Samples {
			name := w.shards[i] + "/" + s.Member
			if k := slices.IndexFunc(wanted, func(k int) bool { return !s.Values[k].Has }); k >= 0 {
				w.leave(tree.NoLabelReason(columns[k]), name)
				continue
			}
			w.Names = append(w.Names, name)
			images.places = append(images.places, tarPlace{i, s.Offset, s.Size})
			dirs = append(dirs, path.Dir(s.Member))
			if roles != nil {
				w.Roles = append(w.Roles, roles[i])
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
	if len(w.Names) == 0 {
		return fmt.Errorf("%s: no image in %d shards: members must be called KEY.jpg, with KEY.cls, KEY.json or "+
			"KEY.txt beside them%s", w.tree.Location(), len(w.shards), tree.Sentence(w.LeftOut))
	}
	if groups != nil {
		w.Group = &Column{Name: w.opt.Group, Text: groups}
	}
	return w.finish(images, columns, values, dirs)
}

// finish gives the data set its columns and its source.
func (w *webDataset) finish(images *tarShards, columns []string, values [][]string, dirs []string) error {
	switch {
	case len(columns) > 0:
		for k, name := range columns {
			w.Columns = append(w.Columns, newValueColumn(name, values[k]))
		}
		w.Fine, w.Train = columns[0], columns[0]
		if err := w.nameClasses(&w.Columns[0]); err != nil {
			return err
		}
	case !slices.Contains(dirs, "."):
		w.Dirs = dirs
	case !w.opt.Unlabelled:
		return fmt.Errorf("%s: no image has a label: want KEY.cls, a key label, class or category of KEY.json "+
			"(data.label names another), KEY.txt, or class folders; kindred embed needs no labels", w.tree.Location())
	}
	return w.setShards(images)
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
			if file = path.Join(dir, file); !w.tree.Has(file) {
				continue
			}
			names, err := readLines(w.tree, file)
			if err != nil {
				return err
			}
			return c.rename(w.path(file), names)
		}
		if dir == "." || dir == "/" {
			return nil
		}
	}
}

// rename gives each class the name at its number. If several classes have the same name, it adds the
// number.
func (c *Column) rename(where string, names []string) error {
	count := lists.Count(names)
	c.Names = map[int64]string{}
	for _, n := range slices.Sorted(slices.Values(c.Numbers)) {
		if n < 0 || n >= int64(min(len(names), math.MaxInt32)) {
			return fmt.Errorf("%s names %d classes, but a sample has class %d", where, len(names), n)
		}
		c.Names[n] = names[n]
		if count[names[n]] > 1 {
			c.Names[n] += " (" + strconv.FormatInt(n, 10) + ")"
		}
	}
	return nil
}
