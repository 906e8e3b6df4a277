package layout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
)

// openFeatures reads a set of ready features, one row for each sample, and their labels.
// OpenOptions.Labels is a file that embedding.Read knows, matched by embedding.Table.WithLabels. If it is
// empty, the labels are in the file of features or in a file beside it: NAME.labels.csv or .npy,
// labels.csv or labels.npy. OpenOptions.Formats adds formats to those of package embedding, such
// as internal/parquet.
//
// The column "fine", or else "label", or else the only one, is the fine label. The column
// "coarse", if it exists, is the training label. The column "split" holds train, test, query,
// gallery or val. Rows that lack one of these labels, or a label that the options ask for, are
// left out.
func openFeatures(ctx context.Context, path string, opt Options) (*Set, error) {
	files, labels, in := embedding.Formats(opt.Formats), opt.Labels, tables{rootfs.FromContext(ctx)}
	t, err := files.ReadFS(in, path)
	if err != nil {
		return nil, fileinfo.WithHint(err, path, "a file of embeddings, as kindred embed writes it")
	}
	if t.X == nil {
		return nil, fmt.Errorf("%s holds labels but no features", path)
	}
	from := t
	if labels == "" && len(t.Columns) == 0 {
		if labels, err = in.findLabels(path); err != nil {
			return nil, cmp.Or(t.CheckLabel(), err)
		}
	}
	if labels != "" {
		if from, err = files.ReadLabelsFS(in, labels); err != nil {
			return nil, err
		}
		if from, err = t.WithLabels(from); err != nil {
			return nil, err
		}
	} else {
		labels = path
	}
	stem := filepath.Base(path)
	s := &Set{Name: strings.TrimSuffix(stem, filepath.Ext(stem)), Layout: "features"}
	for i := range t.X.Rows {
		for j, v := range t.X.Row(i) {
			if v-v != 0 {
				return nil, fmt.Errorf("%s: row %d, column %d is %v; features must be finite", path, i, j, v)
			}
		}
	}
	if err := from.CheckLabel(); err != nil {
		return nil, err
	}
	if err := s.addTable(from, opt.Columns); err != nil {
		return nil, fmt.Errorf("%s: %w", labels, err)
	}
	return s, nil
}

// addTable makes samples from the rows of a table. asked names further columns to read.
func (s *Set) addTable(t *embedding.Table, asked []string) error {
	if err := s.chooseLabelColumns(t.ColumnNames()); err != nil {
		return err
	}
	named := *t
	if named.Files == nil {
		for i := range t.Rows() {
			named.Files = append(named.Files, "row/"+strconv.Itoa(i))
		}
	}
	t, err := s.labelledRows(&named, append([]string{s.Fine, s.Train}, asked...))
	if err != nil {
		return err
	}
	s.Features, s.Names = t.X, t.Files
	for _, c := range t.Columns {
		switch {
		case c.Name == "split":
			if err := s.readSplits(c.Text); err != nil {
				return err
			}
		case c.Text != nil:
			s.Columns = append(s.Columns, newValueColumn(c.Name, c.Text))
		default:
			s.Columns = append(s.Columns, Column{Name: c.Name, Numbers: c.IDs})
		}
	}
	return nil
}

// tables opens files of tables by their paths.
type tables struct{ in *rootfs.Roots }

func (t tables) Open(path string) (fs.File, error) { return t.in.Open(path) }

// findLabels finds the labels of a file of features.
func (t tables) findLabels(path string) (string, error) {
	beside, missing := embedding.FindLabels(path)
	if missing == nil || !errors.Is(missing, fs.ErrNotExist) {
		return beside, missing
	}
	for _, name := range []string{"labels.csv", "labels.npy"} {
		try := filepath.Join(filepath.Dir(path), name)
		if _, err := t.in.Stat(try); err == nil {
			return try, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s holds no labels: give the file of labels (%w, labels.csv, labels.npy)", path, missing)
}

func (s *Set) readSplits(text []string) error {
	if text == nil {
		return errors.New("column split holds numbers: must hold train, test, query, gallery or val")
	}
	roles := make([]Role, len(text))
	for i, name := range text {
		r, ok := roleByName(name)
		if !ok {
			return fmt.Errorf("row %d: unknown split %q: must be train, test, query, gallery or val", i, name)
		}
		roles[i] = r
	}
	s.setRoles(roles)
	return nil
}

// chooseLabelColumns chooses the columns for scoring and training by their names.
func (s *Set) chooseLabelColumns(names []string) error {
	names = slices.DeleteFunc(names, func(n string) bool { return n == "split" })
	for _, n := range []string{"fine", "label"} {
		if s.Fine == "" && slices.Contains(names, n) {
			s.Fine = n
		}
	}
	rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "coarse" })
	if s.Fine == "" && len(rest) == 1 {
		s.Fine = rest[0]
	}
	if s.Fine == "" {
		return fmt.Errorf("none of the columns %s is called fine or label", strings.Join(names, ", "))
	}
	s.Train = s.Fine
	if slices.Contains(names, "coarse") {
		s.Coarse, s.Train = "coarse", "coarse"
	}
	return nil
}

// labelledRows returns t without the rows that lack a label in one of the columns. s counts these rows.
func (s *Set) labelledRows(t *embedding.Table, columns []string) (*embedding.Table, error) {
	out := map[int]bool{}
	for _, name := range columns {
		c := t.Column(name)
		if c == nil {
			continue
		}
		for i := range t.Rows() {
			if c.Missing(i) && !out[i] {
				out[i] = true
				s.leave(tree.NoLabelReason(name), t.Files[i])
			}
		}
	}
	if len(out) > 0 && len(out) == t.Rows() {
		return nil, fmt.Errorf("no row has a label%s", tree.Sentence(s.LeftOut))
	}
	return t.WithoutRows(slices.Sorted(maps.Keys(out))), nil
}
