package data

import (
	"fmt"
	"strings"
	"testing"
)

// Folders that are dates, and deep ones of one image each, are remarked on with the
// way out; classes that only look a little like them are not.
func TestRemarksOnFolders(t *testing.T) {
	pic := picture(t, 2, 2, 1)
	const dates, deep = "the folders are dates, such as ", "folders are nested, such as "
	for _, c := range []struct {
		names []string
		want  string // how the note begins; "" for none
		count string
	}{
		{[]string{"2024/03/17/a.png", "2024/03/18/b.png", "2023/12/01/c.png"}, dates + "2023/12/01",
			"3 classes, 3 of them with one image"},
		{[]string{"2024/03/a.png", "2024/03/b.png", "2024/04/c.png"}, dates + "2024/03",
			"2 classes, 1 of them with one image"},
		{[]string{"2024-03-17/a.png", "2024-03-18 Beach/b.png", "cats/c.png"}, dates + "2024-03-17", "3 classes, 3 "},
		{[]string{"2024/2024-03-17/a.png", "2024/2024-03-18/b.png"}, dates + "2024/2024-03-17", "2 classes, 2 "},
		{[]string{"20240317/a.png", "20240318/b.png"}, dates + "20240317", "2 classes, 2 "},
		{[]string{"train/2024-03-17/a.png", "test/2024-03-18/b.png"}, dates + "2024-03-17", "2 classes, 2 "},
		{[]string{"x/y/z/a.png", "x/y/w/b.png", "u/c.png"}, deep + "x/y/w", "3 classes, 3 "},
		{[]string{"x/y/z/a.png", "x/y/z/b.png", "x/y/w/c.png", "x/y/w/d.png"}, "", ""},
		{[]string{"cats/a.png", "dogs/b.png"}, "", ""},
		{[]string{"1999/a.png", "2001/b.png"}, "", ""},     // years of coins
		{[]string{"200412/a.png", "201399/b.png"}, "", ""}, // numbers of products
		{[]string{"2024-03-17/a.png", "cats/c.png", "dogs/d.png"}, "", ""},
	} {
		l := layoutFiles{}
		for _, n := range c.names {
			l[n] = pic
		}
		d := open(t, l.folder(t))
		got := fmt.Sprint(d.Notes)
		switch {
		case c.want == "" && d.Notes != nil,
			c.want != "" && (len(d.Notes) != 1 || !strings.HasPrefix(d.Notes[0], c.want+",") ||
				!strings.Contains(got, c.count) || !strings.Contains(got, "manifest")):
			t.Errorf("%q: %s", c.names, got)
		}
	}
}
