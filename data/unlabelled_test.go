package data

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
)

// A row without a label is left out and counted in every form of a data set; with Strict it is an
// error. The texts nan, NA and None are classes.
func TestUnlabelledRows(t *testing.T) {
	manifest := func(text string) string {
		return layoutFiles{"manifest.csv": []byte(text)}.folder(t)
	}
	features := func(name string, columns ...embedding.Column) string {
		path := filepath.Join(t.TempDir(), name)
		files := []string{"a", "b", "c", "d", "e"}
		table, err := embedding.NewTable(matrix.FromSlice(5, 1, []float32{1, 2, 3, 4, 5}), files, columns)
		if err == nil {
			err = embedding.Write(path, table)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	label := embedding.Column{Name: "label", Text: []string{"x", "", "nan", "NA", "None"}}
	coarse := embedding.Column{Name: "coarse", Text: []string{"u", "u", "v", "", "v"}}
	other := embedding.Column{Name: "shop", Text: []string{"", "", "", "p", "q"}}
	const missing = "left out 1: without the label that others have (label): b"
	for _, c := range []struct{ path, want, left string }{
		{manifest("path,label\na,x\nb,\nc,nan\nd,NA\ne,None\n"), "a x|c nan|d NA|e None", missing},
		{manifest("path,label\na,x\nb,\"\"\nc, \nd,y\n"), "a x|d y", strings.Replace(missing, "1", "2", 1) + ", c"},
		{manifest("path;label;split;coarse\na;x;train;u\nb;;test;u\nc;y;test;\nd;y;test;v\n"), "a x u train|d y v test",
			missing + "; left out 1: without the label that others have (coarse): c"},
		{manifest("path,labels,x_1,y_1,x_2,y_2\na,x|y,,,,\nb,,,,,\nc,y,0,0,4,4\n"), "a x|c y", missing},
		{features("E.npz", label), "a x|c nan|d NA|e None", missing},
		{features("E.safetensors", label), "a x|c nan|d NA|e None", missing},
		{features("E.npz", label, coarse, other), "a x u|c nan v|e None v",
			missing + "; left out 1: without the label that others have (coarse): d"},
	} {
		d := open(t, c.path)
		if diff := cmp.Diff(c.want, strings.ReplaceAll(summary(t, d), "\n", "|")); diff != "" {
			t.Errorf("%s\n%s", c.path, diff)
		}
		if diff := cmp.Diff(c.left, leftOutText(d.LeftOut)); diff != "" {
			t.Errorf("%s\n%s", c.path, diff)
		}
		if d.Features != nil && d.Features.Row(1)[0] != 3 {
			t.Errorf("%s: row 1 is %v", c.path, d.Features.Row(1))
		}
		_, err := Open(t.Context(), c.path, OpenOptions{Strict: true})
		if err == nil || !strings.Contains(err.Error(), "have (label), such as b: they are left out without ") {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	// What is asked for is judged too, and labels that are numbers stay numbers.
	d, err := Open(t.Context(), features("E.npz", embedding.Column{Name: "label",
		Text: []string{"10", "9", "", "9", "10"}}, other), OpenOptions{Columns: []string{"shop"}})
	if err != nil || !slices.Equal(d.Names, []string{"d", "e"}) || !slices.Equal(d.Columns[0].Numbers, []int64{9, 10}) {
		t.Errorf("%v %v", d, err)
	}
	// A set of which no image has a label has none.
	none := manifest("path,label\na,\nb,\n")
	if d, err = Open(t.Context(), none, OpenOptions{Unlabelled: true}); err != nil || d.Len() != 2 || d.Columns != nil {
		t.Errorf("%v %v", d, err)
	}
	if _, err := Open(t.Context(), none, OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "no row has a label") {
		t.Errorf("%v", err)
	}
}
