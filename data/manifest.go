package data

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/classname"
)

// manifestName is the manifest that Open looks for in a folder.
const manifestName = "manifest.csv"

// openManifest reads a CSV manifest with a header. Columns:
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
func openManifest(t tree, file, name string, opt OpenOptions) (*Dataset, error) {
	m := manifest{b: newBuilder("manifest", name, opt), unlabelled: opt.Unlabelled, group: opt.Group,
		all: opt.OtherColumns}
	d := m.b.d
	rows := 0
	err := csvRows(t, file, true, func(_ int, head, row []string) error {
		if rows == 0 {
			if c := duplicateColumn(head); c != "" {
				return &headError{fmt.Sprintf("the header has column %s twice: rename or remove one", c)}
			}
		}
		if slices.EqualFunc(head, row, func(h, r string) bool { return h == strings.ToLower(strings.TrimSpace(r)) }) {
			return errors.New("the header occurs again, as in joined files: remove the line")
		}
		rows++
		return m.row(t, func(column string) (string, bool) {
			i := slices.Index(head, column)
			if i < 0 {
				return "", false
			}
			return classname.Clean(row[i]), true
		}, head)
	})
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		return nil, fmt.Errorf("%s: no rows below the header", filepath.Join(t.location(), file))
	}
	if err := m.dropUnlabelled(); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(t.location(), file), err)
	}
	d.Boxes = m.boxes
	if opt.Distinct {
		m.mergeRows()
	}
	d.setSplits(d.Splits)
	d.OtherColumns = m.others
	if m.groups != nil {
		c := NewColumn(m.group, m.groups)
		d.Group = &c
	}
	if m.multiLabels != nil {
		d.MultiLabel = newMultiLabel(m.multiLabels)
	}
	if m.labels != nil {
		d.Columns, d.Fine, d.Train = []Column{newValueColumn("label", m.labels)}, "label", "label"
		if m.coarse != nil {
			d.Columns = append(d.Columns, newValueColumn("coarse", m.coarse))
			d.Coarse, d.Train = "coarse", "coarse"
		}
	}
	return d.setDisjoint().mustBeConsistent(), nil
}

// manifest is the rows read so far.
type manifest struct {
	b              *builder
	unlabelled     bool // rows without labels are allowed
	labels, coarse []string
	multiLabels    [][]string
	boxes          []image.Rectangle
	group          string // the column to divide by
	groups         []string
	all            bool // keep the other columns
	others         []embedding.Column
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
		if k == len(m.others) {
			m.others = append(m.others, embedding.Column{Name: name})
		}
		text, _ := get(name)
		m.others[k].Text = append(m.others[k].Text, text)
		k++
	}
}

// row adds a row. get returns its value in a column, and whether there is one.
func (m *manifest) row(t tree, get func(string) (string, bool), head []string) error {
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
	if !hasPath || !hasLabel && (!m.unlabelled || hasCoarse) {
		if slices.ContainsFunc(head, isImageName) {
			return &headError{fmt.Sprintf("the first line, %q, names an image instead of columns: put a header "+
				"before it, such as path,label", strings.Join(head, ","))}
		}
		return &headError{fmt.Sprintf("the header has columns %q: path and label (or labels) are needed%s",
			strings.Join(head, ","), suggestRenames(head))}
	}
	p = toSlashes(t, p)
	if unwritableReason(p) != "" {
		m.b.d.LeftOut = countLeftOut(m.b.d.LeftOut, unwritableNameReason(p), p)
		return nil
	}
	for _, s := range append([]string{label}, all...) {
		if why := unwritableReason(s); why != "" {
			return fmt.Errorf("%q %s", s, why)
		}
	}
	if p == "" {
		return errors.New("path is empty")
	}
	if err := m.b.addListed(t, p); err != nil {
		return err
	}
	if m.all {
		m.keepOthers(get, head)
	}
	if hasList {
		m.multiLabels = append(m.multiLabels, all)
	}
	if hasLabel {
		m.labels = append(m.labels, label)
	}
	if hasCoarse {
		m.coarse = append(m.coarse, coarse)
	}
	if value, has := get(m.group); has && m.group != "" {
		m.groups = append(m.groups, value)
	}
	role, has, err := manifestRole(get)
	if err != nil {
		return err
	}
	if has {
		m.b.d.Splits = append(m.b.d.Splits, role)
	}
	box, has, err := manifestBox(get)
	if has {
		m.boxes = append(m.boxes, box)
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
	d := m.b.d
	if d.Len() == 0 {
		return fmt.Errorf("no row can be used%s", leftOutSentence(d.LeftOut))
	}
	if m.unlabelled && m.labels != nil && !slices.ContainsFunc(m.labels, func(s string) bool { return s != "" }) {
		m.labels, m.coarse, m.multiLabels = nil, nil, nil
		return nil
	}
	var keep []int
	for i := range d.Names {
		switch {
		case m.labels != nil && m.labels[i] == "":
			d.LeftOut = countLeftOut(d.LeftOut, noLabelReason("label"), d.Names[i])
		case m.coarse != nil && m.coarse[i] == "":
			d.LeftOut = countLeftOut(d.LeftOut, noLabelReason("coarse"), d.Names[i])
		default:
			keep = append(keep, i)
		}
	}
	if len(keep) == 0 {
		return fmt.Errorf("no row has a label%s", leftOutSentence(d.LeftOut))
	}
	if len(keep) < d.Len() {
		m.keepRows(keep)
	}
	return nil
}

// keepRows keeps the rows at the given places.
func (m *manifest) keepRows(places []int) {
	d := m.b.d
	d.Names, m.b.files.list = pickElements(d.Names, places), pickElements(m.b.files.list, places)
	d.Splits, m.groups = pickElements(d.Splits, places), pickElements(m.groups, places)
	m.labels, m.coarse, m.multiLabels = pickElements(m.labels, places), pickElements(m.coarse, places),
		pickElements(m.multiLabels, places)
	m.boxes = pickElements(m.boxes, places)
	for i := range m.others {
		m.others[i].Text = pickElements(m.others[i].Text, places)
	}
	if d.Boxes != nil {
		d.Boxes = m.boxes
	}
}

// mergeRows makes one row of those that list the same item. It has the roles and the labels of all, and the label,
// coarse label and group of the first.
func (m *manifest) mergeRows() {
	d := m.b.d
	first := make(map[string]int, d.Len())
	var distinct []int
	again, labels := "", 0
	for i := range d.Names {
		name := d.ItemName(i)
		at, seen := first[name]
		if !seen {
			first[name] = i
			distinct = append(distinct, i)
			continue
		}
		again = name
		if d.Splits != nil {
			d.Splits[at] |= d.Splits[i]
		}
		if m.labels != nil {
			labels += m.addLabels(at, i)
		}
	}
	if again == "" {
		return
	}
	note := fmt.Sprintf("%d rows list an item again, such as %s: each is one item", d.Len()-len(distinct), again)
	if labels > 0 {
		note += "; it has the labels of all its rows, and label is that of the first"
	}
	d.Notes = append(d.Notes, note)
	m.keepRows(distinct)
}

// addLabels adds the labels of row i to those of row at, and returns the number of new ones.
func (m *manifest) addLabels(at, i int) int {
	if m.multiLabels == nil {
		m.multiLabels = make([][]string, len(m.labels))
		for k, label := range m.labels {
			m.multiLabels[k] = []string{label}
		}
	}
	before := len(m.multiLabels[at])
	for _, label := range m.multiLabels[i] {
		if !slices.Contains(m.multiLabels[at], label) {
			m.multiLabels[at] = append(m.multiLabels[at], label)
		}
	}
	return len(m.multiLabels[at]) - before
}

// pickElements returns the elements of a list at the given places; nil for a nil list.
func pickElements[E any](list []E, places []int) []E {
	if list == nil {
		return nil
	}
	out := make([]E, len(places))
	for k, i := range places {
		out[k] = list[i]
	}
	return out
}

// toSlashes replaces backslashes in a path of a manifest from Windows by slashes, unless there is a file
// with that very name.
func toSlashes(t tree, name string) string {
	if !strings.Contains(name, `\`) || strings.Contains(name, "/") || t.has(name) {
		return name
	}
	return strings.ReplaceAll(name, `\`, "/")
}

// newValueColumn is newNumberColumn if all values are whole numbers in the usual form, and NewColumn
// otherwise.
func newValueColumn(name string, values []string) Column {
	numbers := make([]int64, len(values))
	for i, s := range values {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != s {
			return NewColumn(name, values)
		}
		numbers[i] = n
	}
	return newNumberColumn(name, numbers)
}

func manifestRole(get func(string) (string, bool)) (role Split, has bool, err error) {
	split, has := get("split")
	if has {
		var ok bool
		if role, ok = splitByName(split); !ok {
			return 0, false, fmt.Errorf("unknown split %q: must be train, test, query, gallery or val", split)
		}
	}
	for _, c := range []struct {
		column string
		role   Split
	}{{"is_query", Query}, {"is_gallery", Gallery}} {
		s, ok := get(c.column)
		if !ok || s == "" || has && role&(Train|Test) != role&Test {
			continue
		}
		yes, err := parseFlag(s)
		if err != nil {
			return 0, false, fmt.Errorf("%s: %w", c.column, err)
		}
		if !has {
			// Without a split column only these two columns define the role.
			if yes {
				role |= c.role
			}
			continue
		}
		if yes {
			role |= c.role
		} else {
			role &^= c.role
		}
	}
	_, q := get("is_query")
	_, g := get("is_gallery")
	if !has && (q || g) {
		role = cmp.Or(role, Train)
		has = true
	}
	return role, has, nil
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
