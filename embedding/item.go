package embedding

import (
	"fmt"
	"image"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/columns"
)

// Item says what a row is, wherever the row stands: a part of a picture.
type Item struct {
	// Path is the name of the picture in its data set, with slashes.
	Path string
	// Region is the part of the picture as a media fragment, in pixels: "xywh=64,0,32,32" is the box 32 wide and 32
	// high whose upper left corner is at (64, 0). It is "" for the whole picture.
	Region string
	// Digest identifies the content of the picture and the region, as hexadecimal digits of a SHA-256; "" if unknown.
	Digest string
}

// Name returns the path and, for a part of the picture, its region: "a.jpg#xywh=64,0,32,32". In a data set no two
// items have the same name.
func (it Item) Name() string {
	if it.Region == "" {
		return it.Path
	}
	return it.Path + "#" + it.Region
}

// boxes begins the region of a box.
const boxes = "xywh="

// FormatRegion returns the region of a box; "" for an empty one, which means the whole picture.
func FormatRegion(box image.Rectangle) string {
	if box.Empty() {
		return ""
	}
	return fmt.Sprintf("%s%d,%d,%d,%d", boxes, box.Min.X, box.Min.Y, box.Dx(), box.Dy())
}

// ParseRegion returns the box of a region. ok is false for a text that FormatRegion does not write.
func ParseRegion(region string) (box image.Rectangle, ok bool) {
	numbers, ok := strings.CutPrefix(region, boxes)
	if !ok {
		return box, region == ""
	}
	var v [4]int
	list := strings.Split(numbers, ",")
	if len(list) != len(v) {
		return box, false
	}
	for i, s := range list {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 1<<24 {
			return box, false
		}
		v[i] = n
	}
	box = image.Rect(v[0], v[1], v[0]+v[2], v[1]+v[3])
	return box, FormatRegion(box) == region
}

// BoxColumns returns the columns of a manifest with the box of a picture: its left, upper, right and lower edge.
func BoxColumns() []string { return []string{"x_1", "y_1", "x_2", "y_2"} }

// takeItems makes the columns called region and digest the Regions and Digests of the rows, if the rows have paths and
// all values have that form.
func (t *Table) takeItems() {
	if t.Files == nil {
		return
	}
	t.Regions = t.takeColumn(columns.Region, t.Regions, isRegion)
	t.Digests = t.takeColumn(columns.Digest, t.Digests, isDigest)
}

// takeColumn removes a column of labels and returns its texts, if each has a form and one is not empty. Otherwise it
// returns have.
func (t *Table) takeColumn(name string, have []string, form func(string) bool) []string {
	c := t.Column(name)
	if c == nil || have != nil || !c.allMatch(form) {
		return have
	}
	texts := c.Text
	var rest []Column
	for i := range t.Columns {
		if &t.Columns[i] != c {
			rest = append(rest, t.Columns[i])
		}
	}
	t.Columns = rest
	return texts
}

// allMatch reports whether a column holds texts that are empty or have a form, and not only empty ones.
func (c *Column) allMatch(form func(string) bool) bool {
	some := false
	for _, s := range c.Text {
		if s != "" && !form(s) {
			return false
		}
		some = some || s != ""
	}
	return some
}

func isRegion(s string) bool { _, ok := ParseRegion(s); return ok }

func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// itemColumns returns the columns of Regions and Digests, as in a file.
func (t *Table) itemColumns() []*Column {
	var out []*Column
	if t.Regions != nil {
		out = append(out, &Column{Name: columns.Region, Text: t.Regions})
	}
	if t.Digests != nil {
		out = append(out, &Column{Name: columns.Digest, Text: t.Digests})
	}
	return out
}

// Item returns what row i is. A row without a path is a row of its file: "E.npy#row=41". Rows count from 1.
func (t *Table) Item(i int) Item {
	var it Item
	if t.Files == nil {
		return Item{Path: t.file(), Region: "row=" + strconv.Itoa(t.Row(i)+1)}
	}
	it.Path = filepath.ToSlash(t.Files[i])
	if t.Regions != nil {
		it.Region = t.Regions[i]
	}
	if t.Digests != nil {
		it.Digest = t.Digests[i]
	}
	return it
}

// ItemID returns the id of row i: its own, or else the name of its Item.
func (t *Table) ItemID(i int) string {
	if t.ID != nil {
		return t.ID.At(i)
	}
	return t.Item(i).Name()
}

// ItemNames returns the names of the rows' items, by which a data set finds its pictures; nil if the rows have no
// paths.
func (t *Table) ItemNames() []string {
	if t.Files == nil || t.Regions == nil {
		return t.Files
	}
	out := make([]string, t.Rows())
	for i := range out {
		out[i] = t.Item(i).Name()
	}
	return out
}

// RowName returns a name of row i for people: that of its picture, or else its id.
func (t *Table) RowName(i int) string {
	if t.Files == nil {
		return t.ItemID(i)
	}
	return t.Item(i).Name()
}

// RowNames returns the names of all rows.
func (t *Table) RowNames() []string {
	out := make([]string, t.Rows())
	for i := range out {
		out[i] = t.RowName(i)
	}
	return out
}

// HasRowNumberIDs reports whether the ids are the numbers of the rows, from 0.
func (t *Table) HasRowNumberIDs() bool {
	if t.ID == nil || t.ID.IDs == nil {
		return false
	}
	for i, id := range t.ID.IDs {
		if id != int64(t.Row(i)) {
			return false
		}
	}
	return true
}

// CheckItems returns an error if two rows have the same ItemID.
func (t *Table) CheckItems() error {
	seen := make(map[string]int, t.Rows())
	for i := range t.Rows() {
		id := t.ItemID(i)
		if j, twice := seen[id]; twice {
			return fmt.Errorf("%s: rows %d and %d are both %s: give each row an id of its own (a column id), or "+
				"the part of the picture that it shows (a column region, such as xywh=64,0,32,32)", t.sourceName(),
				t.Row(j)+1, t.Row(i)+1, id)
		}
		seen[id] = i
	}
	return nil
}

// Row returns the number of row i in its file, from 0: that of the table, unless rows were left out.
func (t *Table) Row(i int) int {
	if t.rows == nil {
		return i
	}
	return t.rows[i]
}

// file returns the name of the file of the embeddings, without its folder.
func (t *Table) file() string {
	switch {
	case t.vectors != "":
		return filepath.Base(t.vectors)
	case t.source != "":
		return filepath.Base(t.source)
	}
	return "table"
}
