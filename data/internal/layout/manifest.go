package layout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/classname"
	"github.com/kindred-ml/kindred/internal/base/lists"
)

// manifestName is the manifest that Open looks for in a folder.
const manifestName = "manifest.csv"

// readManifest reads a CSV manifest with a header. Columns:
//
//	path                 relative to the manifest; see OpenOptions.Outside
//	label                the class: any text; by default the first of labels
//	labels               all labels of an image, as in red|round; optional
//	split                train, test, query, gallery or val; optional
//	coarse               the coarser class; optional
//	is_query, is_gallery 0 or 1: refine the role of test rows; optional
//	x_1,y_1,x_2,y_2      the part of the image to use, in pixels; optional
//
// Other columns are ignored, except the one that OpenOptions.Group names. Columns may be separated by
// semicolons, and folders in a path by backslashes, as on Windows. Errors name the line. Rows without
// label or coarse are left out. With OpenOptions.Unlabelled, the path is enough.
func readManifest(_ context.Context, s *Set) error {
	m := manifest{Set: s}
	file, rows := s.marks[0], 0
	err := csvRows(s.tree, file, true, func(_ int, head, row []string) error {
		if rows == 0 {
			if c := duplicateColumn(head); c != "" {
				return &headError{fmt.Sprintf("the header has column %s twice: rename or remove one", c)}
			}
		}
		if slices.EqualFunc(head, row, func(h, r string) bool { return h == strings.ToLower(strings.TrimSpace(r)) }) {
			return errors.New("the header occurs again, as in joined files: remove the line")
		}
		rows++
		return m.row(func(column string) (string, bool) {
			i := slices.Index(head, column)
			if i < 0 {
				return "", false
			}
			return classname.Clean(row[i]), true
		}, head)
	})
	if err != nil {
		return err
	}
	if rows == 0 {
		return fmt.Errorf("%s: no rows below the header", s.path(file))
	}
	if err := m.dropUnlabelled(); err != nil {
		return fmt.Errorf("%s: %w", s.path(file), err)
	}
	if s.opt.Distinct {
		m.mergeRows()
	}
	s.setRoles(s.Roles)
	if m.groups != nil {
		s.Group = &Column{Name: s.opt.Group, Text: m.groups}
	}
	if m.labels != nil {
		s.setLabels("label", newValueColumn("label", m.labels), Column{})
		if m.coarse != nil {
			s.setLabels("coarse", s.Columns[0], newValueColumn("coarse", m.coarse))
		}
	}
	return nil
}

// manifest is the rows read so far.
type manifest struct {
	*Set
	labels, coarse []string
	groups         []string // values of the column to divide by
}

// knownColumns returns the columns of a manifest that a set is made of.
func knownColumns() []string {
	return append(embedding.BoxColumns(), "path", "label", "labels", "split", "coarse", "is_query", "is_gallery")
}

// keepOthers keeps the values of a row in other columns.
func (m *manifest) keepOthers(get func(string) (string, bool), head []string) {
	k := 0
	for i, name := range head {
		if slices.Contains(knownColumns(), name) || name == "" || slices.Contains(head[:i], name) {
			continue
		}
		if k == len(m.OtherColumns) {
			m.OtherColumns = append(m.OtherColumns, embedding.Column{Name: name})
		}
		text, _ := get(name)
		m.OtherColumns[k].Text = append(m.OtherColumns[k].Text, text)
		k++
	}
}

// row adds a row. get returns its value in a column, and whether there is one.
func (m *manifest) row(get func(string) (string, bool), head []string) error {
	p, hasPath := get("path")
	label, hasLabel := get("label")
	coarse, hasCoarse := get("coarse")
	var all []string
	list, hasList := get("labels")
	if hasList {
		all = splitLabels(list)
		if !hasLabel && len(all) > 0 {
			label = all[0]
		}
		hasLabel = true
	}
	if !hasPath || !hasLabel && (!m.opt.Unlabelled || hasCoarse) {
		if slices.ContainsFunc(head, tree.IsImageName) {
			return &headError{fmt.Sprintf("the first line, %q, names an image instead of columns: put a header "+
				"before it, such as path,label", strings.Join(head, ","))}
		}
		return &headError{fmt.Sprintf("the header has columns %q: path and label (or labels) are needed%s",
			strings.Join(head, ","), suggestRenames(head))}
	}
	p = toSlashes(m.tree, p)
	if tree.UnwritableReason(p) != "" {
		m.leave(tree.UnwritableNameReason(p), p)
		return nil
	}
	for _, s := range append([]string{label}, all...) {
		if why := tree.UnwritableReason(s); why != "" {
			return fmt.Errorf("%q %s", s, why)
		}
	}
	if p == "" {
		return errors.New("path is empty")
	}
	if err := m.addListed(p); err != nil {
		return err
	}
	if m.opt.OtherColumns {
		m.keepOthers(get, head)
	}
	if hasList {
		m.MultiLabels = append(m.MultiLabels, all)
	}
	if hasLabel {
		m.labels = append(m.labels, label)
	}
	if hasCoarse {
		m.coarse = append(m.coarse, coarse)
	}
	if value, has := get(m.opt.Group); has && m.opt.Group != "" {
		m.groups = append(m.groups, value)
	}
	r, has, err := manifestRole(get)
	if err != nil {
		return err
	}
	if has {
		m.Roles = append(m.Roles, r)
	}
	box, has, err := manifestBox(get)
	if has {
		m.Boxes = append(m.Boxes, box)
	}
	return err
}

// duplicateColumn returns a column of a manifest that a header has twice, or "".
func duplicateColumn(head []string) string {
	for i, h := range head {
		used := slices.Contains([]string{"path", "label", "labels", "split", "coarse"}, h)
		if used && slices.Contains(head[:i], h) {
			return h
		}
	}
	return ""
}

// suggestRenames suggests columns of a header to rename to path and label.
func suggestRenames(head []string) string {
	said := ""
	for _, c := range []struct {
		want  string
		names []string
	}{
		{"path", []string{"filename", "filenames", "file_name", "fname", "file", "filepath", "file_path", "paths",
			"image", "images", "image_path", "image_id", "img", "img_path", "name", "id"}},
		{"label", []string{"class", "classes", "class_name", "category", "categories", "cat", "cats", "target",
			"species", "label_name", "tag", "y"}},
	} {
		i := slices.IndexFunc(head, func(h string) bool { return slices.Contains(c.names, h) })
		if i >= 0 && !slices.Contains(head, c.want) && (c.want == "path" || !slices.Contains(head, "labels")) {
			said += fmt.Sprintf("; rename %s to %s", head[i], c.want)
		}
	}
	return said
}

// dropUnlabelled leaves out the rows without a label. If no row has a label, the set has no labels,
// if that is allowed.
func (m *manifest) dropUnlabelled() error {
	if len(m.Names) == 0 {
		return fmt.Errorf("no row can be used%s", tree.Sentence(m.LeftOut))
	}
	if m.opt.Unlabelled && m.labels != nil && !slices.ContainsFunc(m.labels, func(s string) bool { return s != "" }) {
		m.labels, m.coarse, m.MultiLabels = nil, nil, nil
		return nil
	}
	var keep []int
	for i := range m.Names {
		switch {
		case m.labels != nil && m.labels[i] == "":
			m.leave(tree.NoLabelReason("label"), m.Names[i])
		case m.coarse != nil && m.coarse[i] == "":
			m.leave(tree.NoLabelReason("coarse"), m.Names[i])
		default:
			keep = append(keep, i)
		}
	}
	if len(keep) == 0 {
		return fmt.Errorf("no row has a label%s", tree.Sentence(m.LeftOut))
	}
	if len(keep) < len(m.Names) {
		m.keepRows(keep)
	}
	return nil
}

// keepRows keeps the rows at the given places.
func (m *manifest) keepRows(places []int) {
	m.Names = lists.At(m.Names, places)
	m.Files.Keep(places)
	m.Roles, m.groups = lists.At(m.Roles, places), lists.At(m.groups, places)
	m.labels, m.coarse, m.MultiLabels = lists.At(m.labels, places), lists.At(m.coarse, places),
		lists.At(m.MultiLabels, places)
	m.Boxes = lists.At(m.Boxes, places)
	for i := range m.OtherColumns {
		m.OtherColumns[i].Text = lists.At(m.OtherColumns[i].Text, places)
	}
}

// mergeRows makes one row of those that list the same item. It has the roles and the labels of all, and the label,
// coarse label and group of the first.
func (m *manifest) mergeRows() {
	first := make(map[string]int, len(m.Names))
	var distinct []int
	again, labels := "", 0
	for i := range m.Names {
		item := embedding.Item{Path: m.Names[i]}
		if m.Boxes != nil {
			item.Region = embedding.FormatRegion(m.Boxes[i])
		}
		name := item.Name()
		at, seen := first[name]
		if !seen {
			first[name] = i
			distinct = append(distinct, i)
			continue
		}
		again = name
		if m.Roles != nil {
			m.Roles[at] |= m.Roles[i]
		}
		if m.labels != nil {
			labels += m.addLabels(at, i)
		}
	}
	if again == "" {
		return
	}
	note := fmt.Sprintf("%d rows list an item again, such as %s: each is one item", len(m.Names)-len(distinct), again)
	if labels > 0 {
		note += "; it has the labels of all its rows, and label is that of the first"
	}
	m.Notes = append(m.Notes, note)
	m.keepRows(distinct)
}

// addLabels adds the labels of row i to those of row at, and returns the number of new ones.
func (m *manifest) addLabels(at, i int) int {
	if m.MultiLabels == nil {
		m.MultiLabels = make([][]string, len(m.labels))
		for k, label := range m.labels {
			m.MultiLabels[k] = []string{label}
		}
	}
	before := len(m.MultiLabels[at])
	for _, label := range m.MultiLabels[i] {
		if !slices.Contains(m.MultiLabels[at], label) {
			m.MultiLabels[at] = append(m.MultiLabels[at], label)
		}
	}
	return len(m.MultiLabels[at]) - before
}

// toSlashes replaces backslashes in a path of a manifest from Windows by slashes, unless there is a file
// with that very name.
func toSlashes(t tree.Tree, name string) string {
	if !strings.Contains(name, `\`) || strings.Contains(name, "/") || t.Has(name) {
		return name
	}
	return strings.ReplaceAll(name, `\`, "/")
}

func manifestRole(get func(string) (string, bool)) (r Role, has bool, err error) {
	split, has := get("split")
	if has {
		var ok bool
		if r, ok = roleByName(split); !ok {
			return 0, false, fmt.Errorf("unknown split %q: must be train, test, query, gallery or val", split)
		}
	}
	for _, c := range []struct {
		column string
		role   Role
	}{{"is_query", Query}, {"is_gallery", Gallery}} {
		s, ok := get(c.column)
		if !ok || s == "" || has && r&(Train|Test) != r&Test {
			continue
		}
		yes, err := parseFlag(s)
		if err != nil {
			return 0, false, fmt.Errorf("%s: %w", c.column, err)
		}
		if !has {
			// Without a split column only these two columns define the role.
			if yes {
				r |= c.role
			}
			continue
		}
		if yes {
			r |= c.role
		} else {
			r &^= c.role
		}
	}
	_, q := get("is_query")
	_, g := get("is_gallery")
	if !has && (q || g) {
		r = cmp.Or(r, Train)
		has = true
	}
	return r, has, nil
}

func parseFlag(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "true", "yes", "1.0":
		return true, nil
	case "0", "false", "no", "0.0":
		return false, nil
	}
	return false, fmt.Errorf("%q: must be 0 or 1", s)
}

func manifestBox(get func(string) (string, bool)) (box image.Rectangle, has bool, err error) {
	var v [4]int
	empty := 0
	for i, column := range embedding.BoxColumns() {
		s, ok := get(column)
		if !ok {
			return box, false, nil
		}
		if s == "" {
			empty++
			continue
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f < 1<<24) {
			return box, false, fmt.Errorf("%s: %q is not a coordinate", column, s)
		}
		v[i] = int(f)
	}
	if empty == 4 {
		return box, true, nil
	}
	if empty > 0 || v[0] >= v[2] || v[1] >= v[3] {
		return box, false, fmt.Errorf("box %d,%d,%d,%d has no area", v[0], v[1], v[2], v[3])
	}
	return image.Rect(v[0], v[1], v[2], v[3]), true, nil
}

// splitLabels splits a list such as "red|round" into its different labels.
func splitLabels(list string) []string {
	var out []string
	for label := range strings.SplitSeq(list, "|") {
		if label = classname.Clean(label); label != "" && !slices.Contains(out, label) {
			out = append(out, label)
		}
	}
	return out
}
