package embedding

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// named is a table of which row i holds the number i, with the columns of a text:
// CSV without embeddings.
func named(t *testing.T, name, csv string) *Table {
	t.Helper()
	head, rest, _ := strings.Cut(csv, "\n")
	lines := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
	text := "embedding_0," + head + "\n"
	for i, l := range lines {
		text += fmt.Sprintf("%d,%s\n", i, l)
	}
	tab, err := Read(write(t, name, []byte(strings.ReplaceAll(strings.ReplaceAll(text, ",\n", "\n"), "_0,\n", "_0\n"))))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// Labels go to the rows that are called alike, wherever these stand.
func TestWithMatchesByName(t *testing.T) {
	for _, c := range []struct{ name, x, labels, want, files string }{
		{"by path", "path\na\nb\nc", "path,label\nc,3\na,1\nb,2", "[1 2 3]", "[a b c]"},
		{"by id", "id\n10\n11\n12", "id,label\n12,3\n10,1\n11,2", "[1 2 3]", "[]"},
		{"ids as text and as numbers", "id\n10\n11\nx", "id,label\nx,3\n11,2\n10,1", "[1 2 3]", "[]"},
		{"by both", "path,id\na,0\nb,1\nc,2", "id,path,label\n2,c,3\n0,a,1\n1,b,2", "[1 2 3]", "[a b c]"},
		{"by id, path from the labels", "id\n0\n1\n2", "id,path,label\n2,c,3\n0,a,1\n1,b,2", "[1 2 3]", "[a b c]"},
		{"by path, id from the labels", "path\na\nb\nc", "id,path,label\n2,c,3\n0,a,1\n1,b,2", "[1 2 3]", "[a b c]"},
		{"crops of one photo by id", "path,id\na,0\na,1\nb,2", "id,path,label\n2,b,3\n1,a,2\n0,a,1", "[1 2 3]",
			"[a a b]"},
		{"repeated names in one order", "path\na\na\nb", "path,label\na,1\na,2\nb,3", "[1 2 3]", "[a a b]"},
		{"one order", "path\na\nb\nc", "file,label\na,1\nb,2\nc,3", "[1 2 3]", "[a b c]"},
		{"a class called id", "path\na\nb\nc", "path,id\nc,3\na,3\nb,2", "[3 2 3]", "[a b c]"},
	} {
		got, err := named(t, "x.csv", c.x).WithLabels(table(t, c.labels))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		ids := got.Columns[len(got.Columns)-1].IDs
		if fmt.Sprint(ids) != c.want || fmt.Sprint(got.Files) != c.files || got.RowPairingReason() != "" {
			t.Errorf("%s: labels %v of %v, %q", c.name, ids, got.Files, got.RowPairingReason())
		}
		if !slices.Equal(got.X.Data, []float32{0, 1, 2}) {
			t.Errorf("%s: the embeddings moved: %v", c.name, got.X.Data)
		}
		if got.ID != nil && got.ID.Len() == 3 && got.ID.At(0) > got.ID.At(1) {
			t.Errorf("%s: the ids are %v", c.name, got.ID)
		}
	}
}

func table(t *testing.T, csv string) *Table {
	t.Helper()
	tab, err := Read(write(t, "y.csv", []byte(csv+"\n")))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// What cannot be the same rows is refused by the first name that shows it.
func TestWithRefusesOtherRows(t *testing.T) {
	for _, c := range []struct{ name, x, labels, want string }{
		{"a row without labels", "path\na\nb\nc", "path,label\nc,3\na,1\nd,2",
			`y.csv has no row with the path "b" of row 2 of `},
		{"fewer labels", "path\na\nb\nc", "path,label\na,1\nb,2", `y.csv has no row with the path "c" of row 3`},
		{"more labels", "path\na\nb", "path,label\na,1\nc,3\nb,2", `x.csv has no row with the path "c" of row 2 of `},
		{"labelled twice", "path\na\nb\nc", "path,label\nb,2\na,1\na,3", `y.csv: rows 2 and 3 both have the path "a"`},
		{"embedded twice", "path\na\nb\na", "path,label\na,1\nb,2\nc,3", `x.csv: rows 1 and 3 both have the path "a"`},
		{"other ids", "id\n1\n2\n3", "id,label\n1,1\n3,3\n4,4", `y.csv has no row with the id "2" of row 2`},
		{"id 01 for 1", "id\n1\n2", "id,label\n2,2\n01,1", `y.csv has no row with the id "1" of row 1`},
		{"an id twice", "id\n1\n2\n3", "id,label\n2,1\n3,3\n3,4", `y.csv: rows 2 and 3 both have the id "3"`},
		{"an id embedded twice", "id,colour\n1,1\n2,1\n2,1", "id,label\n1,1\n2,3\n3,4",
			`x.csv: rows 2 and 3 both have the id "2"`},
		{"ids of other photos", "path,id\na,0\nb,1", "id,path,label\n1,a,2\n0,b,1",
			`id "0" is "a" in row 1 of `},
		{"ids of other photos in one order", "path,id\na,0\nb,1", "id,path,label\n0,a,2\n1,c,1",
			`id "1" is "b" in row 2 of `},
		{"nothing to go by", "colour\n1\n2\n3", "label\n1\n2", "2 labels in "},
	} {
		got, err := named(t, "x.csv", c.x).WithLabels(table(t, c.labels))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q (%+v)", c.name, err, c.want, got)
		}
	}
}

// Rows are paired by their place where one side has no names, which is said.
func TestWithSaysWhenItGoesByRow(t *testing.T) {
	for _, c := range []struct{ name, x, labels, want string }{
		{"embeddings without names", "colour\n1\n2", "path,label\nb,1\na,2", "x.csv names no rows: row i of "},
		{"labels without names", "path\na\nb", "label\n1\n2", "y.csv names no rows: its row i labels row i of "},
		{"names of two kinds", "id\n1\n2", "path,label\nb,1\na,2", "x.csv names its rows by id and "},
		{"no names", "colour\n1\n2", "label\n1\n2", ""},
	} {
		got, err := named(t, "x.csv", c.x).WithLabels(table(t, c.labels))
		if err != nil || !slices.Equal(got.Columns[0].IDs, []int64{1, 2}) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
			continue
		}
		s, err := got.Select()
		if err != nil || !strings.Contains(s.RowPairingReason(), c.want) ||
			(s.RowPairingReason() == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q (%v)", c.name, s.RowPairingReason(), c.want, err)
		}
	}
}

// Names in a file of tensors are read as they were written, or not at all.
func TestTensorNamesAreNotMended(t *testing.T) {
	for _, text := range []string{`["a", null]`, `["a", "\ud800"]`, "[\"a\", \"\xff\"]"} {
		if files, _, err := readMeta(map[string]string{metaFiles: text}); err == nil {
			t.Errorf("%s: %q", text, files)
		}
	}
}

// A file that is found beside the embeddings is theirs by its name: nothing needs
// saying. A clustering is matched as labels are.
func TestLabelAndAssign(t *testing.T) {
	x := write(t, "e.npy", npy("'<f4'", "False", "(2, 1)", le32(1, 2)))
	labels := write(t, "e.labels.csv", []byte("path,label\nb,1\na,2\n"))
	dir := strings.TrimSuffix(labels, "e.labels.csv")
	tab, err := Read(x)
	if err != nil {
		t.Fatal(err)
	}
	tab.source = dir + "e.npy"
	if got, err := (Formats{}).Label(tab, ""); err != nil || got.RowPairingReason() != "" {
		t.Errorf("beside: %+v, %v", got, err)
	}
	if got, err := (Formats{}).Label(tab, labels); err != nil || got.RowPairingReason() == "" {
		t.Errorf("named: %+v, %v", got, err)
	}
	of, err := NewTable(matrix.FromSlice(2, 1, []float32{1, 2}), []string{"a", "b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Formats{}.Assign(of, write(t, "a.csv", []byte("path,cluster\nb,7\na,5\n")))
	if err != nil || !slices.Equal(got.Labels()[0], []int64{5, 7}) {
		t.Errorf("clusters %+v, %v", got, err)
	}
	if _, err := (Formats{}).Assign(of, write(t, "a.csv", []byte("path,x,y\nb,7,1\na,5,1\n"))); err == nil ||
		!strings.Contains(err.Error(), "2 columns") {
		t.Error(err)
	}
}
