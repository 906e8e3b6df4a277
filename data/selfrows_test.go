package data

import (
	"path/filepath"
	"slices"
	"testing"
)

// A picture is itself in the gallery as the same row of a manifest, and as another row of the same file and box.
func TestItself(t *testing.T) {
	dir := t.TempDir()
	list := "path,label,split,x_1,y_1,x_2,y_2\n"
	for _, row := range []string{"a,x,test,,,,", "b,x,query,,,,", "b,x,gallery,,,,", "c,y,query,0,0,4,4",
		"c,y,gallery,0,0,4,5", "d,y,query,1,1,2,2", "d,y,gallery,1,1,2,2", "e,y,query,,,,", "f,x,gallery,,,,"} {
		list += row[:1] + ".png" + row[1:] + "\n"
	}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		write(t, filepath.Join(dir, name+".png"), []byte("x"))
	}
	write(t, filepath.Join(dir, "list.csv"), []byte(list))
	d, err := Open(t.Context(), filepath.Join(dir, "list.csv"), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	all := d.All()
	query, gallery := all.Subset([]int{0, 1, 3, 5, 7}), all.Subset([]int{0, 2, 4, 6, 8})
	if have := query.SelfRows(gallery); !slices.Equal(have, []int{0, 1, -1, 3, -1}) {
		t.Errorf("%v", have)
	}
	if have := all.Subset([]int{3, 7}).SelfRows(gallery); have != nil {
		t.Errorf("%v, want none", have)
	}
}
