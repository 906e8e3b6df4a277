package embedding

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// partition tells which rows have the same label, whatever the labels are
// called: every row gets the first row of its class.
func partition(labels ...[]int64) [][]int {
	first := make(map[int64]int)
	var out [][]int
	n := 0
	for _, col := range labels {
		var p []int
		for _, l := range col {
			if _, ok := first[l]; !ok {
				first[l] = n
			}
			p = append(p, first[l])
			n++
		}
		out = append(out, p)
	}
	return out
}

// Labels that look like the same number are different classes.
func TestTextLabelsAreNotMerged(t *testing.T) {
	for _, c := range []struct {
		name   string
		labels []string
		ids    []int64 // nil: they are text
	}{
		{"numbers", []string{"7", "-2", "7", "10"}, []int64{7, -2, 7, 10}},
		{"leading zeros", []string{"0", "00", "1", "01", "2", "02", "00"}, nil},
		{"one leading zero", []string{"1", "2", "03"}, nil},
		{"plus", []string{"1", "+1"}, nil},
		{"minus zero", []string{"0", "-0"}, nil},
		{"spaces", []string{"1", "1 1", "1  1"}, nil},
		{"underscores", []string{"1000", "1_000"}, nil},
		{"floats", []string{"1", "1.0"}, nil},
		{"largest", []string{"9223372036854775807", "-9223372036854775808"}, []int64{1<<63 - 1, -1 << 63}},
		{"too large", []string{"9223372036854775808", "9223372036854775807", "9223372036854775808"}, nil},
		{"no text", []string{"", "1", ""}, nil},
	} {
		csv := "embedding_0,label\n"
		for _, l := range c.labels {
			csv += "1," + `"` + l + `"` + "\n"
		}
		set, err := Load(write(t, "e.csv", []byte(csv)), "", nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		ids, names := set.NamedLabels()
		if c.ids != nil && (!slices.Equal(ids[0], c.ids) || names[0] != nil) {
			t.Errorf("%s: ids %v, names %v; want the numbers %v", c.name, ids[0], names[0], c.ids)
		}
		if c.ids == nil && len(names[0]) != len(slices.Compact(slices.Sorted(slices.Values(c.labels)))) {
			t.Errorf("%s: %d names for the labels %q", c.name, len(names[0]), c.labels)
		}
		for i, a := range c.labels {
			if c.ids == nil && names[0][ids[0][i]] != a {
				t.Errorf("%s: %q is called %q", c.name, a, names[0][ids[0][i]])
			}
			for j, b := range c.labels {
				if (a == b) != (ids[0][i] == ids[0][j]) {
					t.Errorf("%s: %q and %q have the labels %d and %d", c.name, a, b, ids[0][i], ids[0][j])
				}
			}
		}
	}
}

// Labels of queries and gallery agree where they are written alike, whether a
// file holds them as text or as numbers.
func TestLabelsWithMatchesNumbersByTheirDigits(t *testing.T) {
	x := write(t, "x.npy", npy("'<f4'", "False", "(4, 1)", le32(1, 2, 3, 4)))
	csv := func(labels ...string) string {
		return write(t, "y.csv", []byte("label\n"+strings.Join(labels, "\n")+"\n"))
	}
	numbers := write(t, "y.npy", npy("'|i1'", "False", "(4,)", []byte{7, 10, 0xfe, 7}))
	for _, c := range []struct{ name, queries, gallery, want string }{
		{"numbers and text of digits", numbers, csv("10", "7", "9", "-2"), "[[0 1 2 0] [1 0 6 2]]"},
		{"numbers and text with zeros", numbers, csv("07", "7", "10", "-02"), "[[0 1 2 0] [4 0 1 7]]"},
		{"the other way round", csv("07", "7", "10", "-02"), numbers, "[[0 1 2 3] [1 2 6 1]]"},
		{"text and text", csv("a", "07", "7", "a"), csv("7", "a", "8", "8"), "[[0 1 2 0] [2 0 6 6]]"},
		{"digits and text", csv("1", "2", "3", "1"), csv("01", "1", "02", "2"), "[[0 1 2 0] [4 0 6 1]]"},
	} {
		q, err := Load(x, c.queries, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Load(x, c.gallery, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b, names, err := q.LabelsWith(g)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(partition(a[0], b[0])); got != c.want {
			t.Errorf("%s: classes %v, want %v (names %v)", c.name, got, c.want, names[0])
		}
	}
}

func TestLabelsWithWantsAsManyColumns(t *testing.T) {
	q := &Table{Columns: []Column{{IDs: []int64{1}}}}
	g := &Table{Columns: []Column{{IDs: []int64{1}}, {IDs: []int64{1}}}}
	if _, _, _, err := q.LabelsWith(g); err == nil ||
		!strings.Contains(err.Error(), "1 columns of labels for the queries, 2 for the gallery") {
		t.Errorf("error %v", err)
	}
}

func TestUnifyLeavesItsColumnsAlone(t *testing.T) {
	room := append(make([]string, 0, 8), "b", "a")
	text, numbers := &Column{Text: room}, &Column{IDs: []int64{5}}
	ids, names := Unify(text, numbers)
	if !slices.Equal(names, []string{"5", "a", "b"}) || !slices.Equal(ids[0], []int64{2, 1}) ||
		!slices.Equal(ids[1], []int64{0}) {
		t.Errorf("ids %v, names %q", ids, names)
	}
	if beyond := room[:3]; beyond[2] != "" || !slices.Equal(text.Text, []string{"b", "a"}) || numbers.Text != nil {
		t.Errorf("columns became %q, %v", beyond, numbers)
	}
	if ids, names := Unify(&Column{}, &Column{IDs: []int64{3}}); names != nil || len(ids[0]) != 0 || ids[1][0] != 3 {
		t.Errorf("with an empty column: ids %v, names %v", ids, names)
	}
}

func TestReadAssignments(t *testing.T) {
	for _, c := range []struct {
		csv  string
		want string
	}{
		{"cluster\n3\n1\n3\n", "[[0 1 0]]"}, {"cluster\n1\n01\n1\n", "[[0 1 0]]"},
		{"a,b\n1,2\n", "2 columns, want one assignment"},
	} {
		ids, err := Formats{}.ReadAssignments(write(t, "a.csv", []byte(c.csv)))
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: error %v, want one with %q", c.csv, err, c.want)
			}
		} else if got := fmt.Sprint(partition(ids)); got != c.want {
			t.Errorf("%q: clusters %v, want %v", c.csv, got, c.want)
		}
	}
}

// Errors list names, but not thousands of them.
func TestManyNamesAreCutShort(t *testing.T) {
	var head, row []string
	for i := range 20 {
		head, row = append(head, fmt.Sprintf("c%d", i)), append(row, "1")
	}
	table := func() *Table {
		tab, err := parseCSV(strings.NewReader(strings.Join(head, ",") + "\n" + strings.Join(row, ",") + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		return tab
	}
	_, err := table().Select("none")
	if err == nil || !strings.HasSuffix(err.Error(), "c18, c19") {
		t.Errorf("20 columns: %v", err)
	}
	head, row = append(head, "more"), append(row, "1")
	_, err = table().Select("none")
	if err == nil || !strings.HasSuffix(err.Error(), "c19 and 1 more") {
		t.Errorf("21 columns: %v", err)
	}
	if _, err = table().Select(); err == nil ||
		!strings.Contains(err.Error(), "c19 and 1 more) and none called label") {
		t.Errorf("21 columns, none named: %v", err)
	}
}

func TestSelectTakesTheUsualColumns(t *testing.T) {
	for _, c := range []struct {
		header string
		names  []string
		want   string
	}{
		{"coarse,x,fine,label", nil, "label fine coarse"},
		{"x,coarse", nil, "coarse"},
		{"x", nil, "x"},
		{"x,label,y", []string{"y", "x"}, "y x"},
		{"label,fine,coarse\n1,2,1", nil, "label fine"}, // coarse says what label says
		{"label,fine,coarse\n1,2,1", []string{"coarse", "label"}, "coarse label"},
	} {
		if !strings.Contains(c.header, "\n") {
			c.header += "\n"
			for i := range strings.Count(c.header, ",") {
				c.header += fmt.Sprint(i, ",")
			}
			c.header += "last"
		}
		tab, err := parseCSV(strings.NewReader(c.header + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := tab.Select(c.names...)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(got.ColumnNames(), " "); got != c.want {
			t.Errorf("%s, %v: %s, want %s", c.header, c.names, got, c.want)
		}
	}
	if _, err := (&Table{}).Select(); err == nil || !strings.Contains(err.Error(), "no labels") {
		t.Errorf("no columns: %v", err)
	}
}

// The marks and line ends of other systems make no difference.
func TestCSVOfOtherSystems(t *testing.T) {
	plain := "filename,embedding_0,label\na,1,x\nb,2,y\n"
	want, err := parseCSV(strings.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"mark": "\ufeff" + plain, "carriage returns": strings.ReplaceAll(plain, "\n", "\r\n"),
		"mark and quotes":            "\ufeff\"filename\"" + plain[len("filename"):],
		"no last line end":           strings.TrimSuffix(plain, "\n"),
		"carriage return at the end": strings.TrimSuffix(plain, "\n") + "\r",
		"spaces about numbers":       "filename,embedding_0,label\na, 1,x\nb,2 ,y\n",
		"columns in another order":   "label,filename,embedding_0\nx,a,1\ny,b,2\n", "blank lines": "\n" + plain +
			"\n\n",
	} {
		got, err := parseCSV(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(got.X.Data, want.X.Data) || !slices.Equal(got.Files, want.Files) ||
			!slices.Equal(got.Columns[0].Text, want.Columns[0].Text) || got.Columns[0].Name != "label" {
			t.Errorf("%s: %v %q %v", name, got.X.Data, got.Files, got.Columns)
		}
	}
}

func TestCSVColumnRoles(t *testing.T) {
	tab, err := parseCSV(strings.NewReader(
		"path,file,embedding_1,embedding_x,embedding_-1,embedding_0\np,f,1e999,a,b,-0.5\n"))
	if err != nil {
		t.Fatal(err)
	}
	cols := make(map[string]string)
	for _, c := range tab.Columns {
		cols[c.Name] = c.Text[0]
	}
	if !maps.Equal(cols, map[string]string{"file": "f", "embedding_x": "a", "embedding_-1": "b"}) ||
		tab.Files[0] != "p" {
		t.Errorf("columns %v, file %v", cols, tab.Files)
	}
	if x := tab.X.Row(0); len(x) != 2 || x[0] != -0.5 || x[1] < 1e38 {
		t.Errorf("coordinates %v", x)
	}
	for text, want := range map[string]string{
		"embedding_0,embedding_00,label\n1,2,3\n": "coordinate 0 appears twice",
		"embedding_1,label\n1,3\n":                "no column embedding_0",
		"a,b,a\n1,2,3\n":                          `the column "a" appears twice`,
		"embedding_0\n1\n\"\n":                    "line 3",
	} {
		if _, err := parseCSV(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// Spaces at the ends of a class do not count, in any format; those of other columns and of ids do.
func TestSpacesOfClasses(t *testing.T) {
	table := &Table{X: matrix.New(3, 1), Files: []string{" a", "a", "b"}, Columns: []Column{
		{Name: "label", Text: []string{"1", " 1", "1\u00a0"}}, {Name: "fine", Text: []string{"x ", "x", "x  y"}},
		{Name: "place", Text: []string{" p", "p", "q"}}}}
	for _, f := range []Standard{NPZ, Safetensors, CSV} {
		path := filepath.Join(t.TempDir(), "e"+f.Extension())
		if err := (Formats{}).Write(path, table); err != nil {
			t.Fatal(err)
		}
		have, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(have.Column("label").IDs, []int64{1, 1, 1}) ||
			!slices.Equal(have.Column("fine").Text, []string{"x", "x", "x  y"}) ||
			!slices.Equal(have.Column("place").Text, []string{" p", "p", "q"}) ||
			!slices.Equal(have.Files, table.Files) {
			t.Errorf("%s: %+v of %q", f, have.Columns, have.Files)
		}
	}
}
