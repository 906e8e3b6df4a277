package embedding

import (
	"bytes"
	"image"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

func TestRegion(t *testing.T) {
	for box, want := range map[image.Rectangle]string{{}: "", image.Rect(64, 0, 96, 32): "xywh=64,0,32,32",
		image.Rect(0, 0, 1<<20, 1): "xywh=0,0,1048576,1"} {
		if got := FormatRegion(box); got != want {
			t.Errorf("%v: %q, want %q", box, got, want)
		}
		if got, ok := ParseRegion(want); got != box || !ok {
			t.Errorf("%q: %v, %v", want, got, ok)
		}
	}
	for _, wrong := range []string{"xywh=", "xywh=1,2,3", "xywh=1,2,3,4,5", "xywh=01,2,3,4", "xywh=-1,2,3,4",
		"xywh=1,2,0,4",
		"xywh=1,2,3,4 ", "xywh=percent:1,2,3,4", "Europe", "xywh=1,2,99999999999,4", "(0,0)-(1,1)"} {
		if box, ok := ParseRegion(wrong); ok {
			t.Errorf("%q: %v", wrong, box)
		}
	}
}

// boxed has two parts of one picture and a whole picture.
func boxed(t *testing.T) *Table {
	t.Helper()
	table, err := NewTable(matrix.FromSlice(3, 2, []float32{1, 2, 3, 4, 5, 6}), []string{"a.png", "a.png", "b/c.png"},
		[]Column{
			NewColumn("label", []string{"cat", "dog", "cat"}), {Name: "region", Text: []string{"xywh=0,0,8,8",
				"xywh=8,0,8,8", ""}},
			{Name: "digest", Text: []string{strings.Repeat("a1", 32), "", strings.Repeat("b2", 32)}}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Items keep their regions and digests in every format that holds texts, through labels, and where rows are left out.
func TestItemsInFiles(t *testing.T) {
	want := []string{"a.png#xywh=0,0,8,8", "a.png#xywh=8,0,8,8", "b/c.png"}
	for _, format := range []Standard{CSV, NPZ, Safetensors} {
		table := boxed(t)
		if got := table.ColumnNames(); !slices.Equal(got, []string{"label"}) {
			t.Fatalf("labels %q", got)
		}
		path := filepath.Join(t.TempDir(), "e"+format.Extension())
		if err := Write(path, table); err != nil {
			t.Fatal(err)
		}
		back, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(back.ItemNames(), want) || !slices.Equal(back.RowNames(), want) ||
			!slices.Equal(back.Digests, table.Digests) || back.CheckItems() != nil ||
			!slices.Equal(back.ColumnNames(), []string{"label"}) {
			t.Errorf("%s: %q, %q", format.Extension(), back.ItemNames(), back.Digests)
		}
		if rest := back.WithoutRows([]int{0}); rest.ItemID(0) != want[1] || rest.Item(1).Digest != table.Digests[2] ||
			rest.Row(1) != 2 {
			t.Errorf("%s, without the first: %+v", format.Extension(), rest.Item(0))
		}
	}
	labels := boxed(t)
	labels.X = nil
	bare := &Table{X: matrix.New(3, 2)}
	if with, err := bare.WithLabels(labels); err != nil || !slices.Equal(with.ItemNames(), want) {
		t.Errorf("labels beside: %v, %v", with, err)
	}
}

// Two boxes of one picture are matched with their labels by region, in any order.
func TestPairingByRegion(t *testing.T) {
	labels := boxed(t).reorder([]int{2, 1, 0})
	labels.X = nil
	with, err := boxed(t).WithLabels(labels)
	if err != nil || with.Columns[0].At(0) != "cat" || with.Columns[0].At(1) != "dog" {
		t.Fatalf("%v, %v", with, err)
	}
}

// A column of that name that holds something else stays a label.
func TestOtherRegions(t *testing.T) {
	for _, text := range []string{"path,label,region\na,x,Europe\nb,y,\"xywh=1,1,2,2\"\n",
		"label,region\nx,\"xywh=1,1,2,2\"\n",
		"path,label,region\na,x,\n"} {
		table, err := CSV.Read(bytes.NewReader([]byte(text)), int64(len(text)))
		if err != nil || table.Column("region") == nil || table.Regions != nil {
			t.Errorf("%q: %+v, %v", text, table, err)
		}
	}
}

// A row without id and path is a row of its file, counted from 1 and as it was before others were left out.
func TestRowNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.npy")
	if err := Write(path, &Table{X: matrix.FromSlice(3, 1, []float32{1, 2, 3})}); err != nil {
		t.Fatal(err)
	}
	table, err := Read(path)
	if err != nil || table.ItemNames() != nil {
		t.Fatal(table, err)
	}
	labels := &Table{Columns: []Column{NewColumn("label", []string{"", "x", "y"})}, source: "labels.csv"}
	with, err := table.WithLabels(labels)
	if err != nil {
		t.Fatal(err)
	}
	kept := with.WithoutRows(with.UnlabelledRows())
	if kept.ItemID(0) != "e.npy#row=2" || kept.RowName(1) != "e.npy#row=3" {
		t.Errorf("%q", kept.RowNames())
	}
	ids := NewColumn("id", []string{"p", "q", "p"})
	with.ID = &ids
	if err := with.CheckItems(); err == nil || !strings.Contains(err.Error(), "rows 1 and 3 are both p") {
		t.Error(err)
	}
	numbers := NewColumn("id", []string{"1", "2"})
	kept.ID = &numbers
	if !kept.HasRowNumberIDs() || with.HasRowNumberIDs() {
		t.Error("ids that are numbers of rows")
	}
}
