package data

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// A fine class is the same class in every layout: both labels identify it, and spaces at the ends of a name do
// not count.
func TestFineClassesInEveryLayout(t *testing.T) {
	files := []string{"shoe/red /1.png", "shoe/red /2.png", "shoe/2.10/1.png", "hat/red/1.png", "hat/2.1/1.png",
		"hat/red/2.png"}
	rows, list := "path,label,coarse\n", "path,label,coarse\n"
	for _, name := range files {
		part := strings.Split(name, "/")
		rows += name + "," + part[1] + " ,\u00a0" + part[0] + "\n"
	}
	dir, _ := writeFeatures(t, matrix.New(len(files), 2), "birds.labels.csv", rows)
	for _, name := range files {
		write(t, filepath.Join(dir, "photos", filepath.FromSlash(name)), []byte("x"))
		part := strings.Split(name, "/")
		list += "photos/" + name + "," + part[1] + "\u00a0, " + part[0] + "\n"
	}
	write(t, filepath.Join(dir, "list.csv"), []byte(list))
	for name, want := range map[string][]string{
		"photos":    {"hat/2.1", "hat/red", "shoe/2.10", "shoe/red"},
		"list.csv":  {"2.1", "2.10", "hat/red", "shoe/red"},
		"birds.npy": {"2.1", "2.10", "hat/red", "shoe/red"},
	} {
		d, err := Open(t.Context(), filepath.Join(dir, name), OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fine, err := d.Column("fine")
		if err != nil || !slices.Equal(fine.Classes, want) {
			t.Errorf("%s has classes %q, %v, want %q", name, fine.Classes, err, want)
		}
		said := strings.Contains(strings.Join(d.Notes, "\n"), `("red" in`)
		if said != (name != "photos") {
			t.Errorf("%s: notes %q", name, d.Notes)
		}
		d.Close()
	}
}

// A note counts the classes that were divided, and the parts of a split are disjoint if the divided classes are.
func TestDividedClasses(t *testing.T) {
	dir := t.TempDir()
	list := "path,label,coarse,split\n"
	for _, row := range []string{"a/x1,x,a,train", "a/y1,y,a,train", "b/x1,x,b,test", "b/y1,y,b,test", "b/z,z,b,test"} {
		name, rest, _ := strings.Cut(row, ",")
		write(t, filepath.Join(dir, filepath.FromSlash(name)+".png"), []byte("x"))
		list += name + ".png," + rest + "\n"
	}
	write(t, filepath.Join(dir, "list.csv"), []byte(list))
	d, err := Open(t.Context(), filepath.Join(dir, "list.csv"), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if fine, err := d.Column("fine"); err != nil || len(fine.Classes) != 5 || !d.Disjoint ||
		!strings.Contains(strings.Join(d.Notes, ""), `("x" in "a" and "b", and 1 more): they are different classes`) {
		t.Errorf("%q, %v, disjoint %v, notes %q", fine.Classes, err, d.Disjoint, d.Notes)
	}
}
