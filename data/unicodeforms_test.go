package data

import (
	"path/filepath"
	"strings"
	"testing"
)

// Names composed and decomposed: lists find their files either way, and classes that differ in that
// alone are two with a note.
func TestTwoForms(t *testing.T) {
	const nfc, nfd = "caf\u00e9", "cafe\u0301"
	pic := picture(t, 2, 2, 1)
	for _, c := range []struct{ disk, list string }{
		{nfc + "/" + nfd + ".png", nfd + "/" + nfc + ".png"}, {nfd + "/" + nfd + ".png", nfc + "/" + nfc + ".png"},
		{nfc + "/a.png", nfd + "/a.png"}, {"한/각.png", "\u1112\u1161\u11ab/\u1100\u1161\u11a8.png"},
	} {
		l := layoutFiles{c.disk: pic, "b.png": pic, "manifest.csv": []byte("path,label\n" + c.list + ",x\nb.png,y\n")}
		zip := filepath.Join(t.TempDir(), "set.zip")
		write(t, zip, l.zip(t))
		for _, at := range []string{l.folder(t), zip} {
			d := open(t, at)
			readable(t, d)
			if d.Names[0] != c.disk {
				t.Errorf("%q is called %q", c.disk, d.Names[0])
			}
		}
		whole := layoutFiles{"list.csv": []byte("path,label\n" + filepath.ToSlash(filepath.Join(l.folder(t), c.list)) +
			",x\n")}
		d, err := Open(t.Context(), filepath.Join(whole.folder(t), "list.csv"), OpenOptions{Outside: true})
		if err != nil {
			t.Fatal(err)
		}
		readable(t, d)
	}
	d := open(t, layoutFiles{nfc + "/1.png": pic, nfd + "/2.png": pic, "b/3.png": pic}.folder(t))
	if len(d.Columns[0].Classes) != 3 || len(d.Notes) != 1 ||
		!strings.Contains(d.Notes[0], `classes "cafe\u0301" and "caf\u00e9" of column class look the same`) {
		t.Errorf("%q %q", d.Columns[0].Classes, d.Notes)
	}
	d = open(t, layoutFiles{"manifest.csv": []byte("path,label\na.png," + nfc + "\nb.png," + nfd + "\n")}.folder(t))
	if len(d.Columns[0].Classes) != 2 || len(d.Notes) != 1 {
		t.Errorf("%q %q", d.Columns[0].Classes, d.Notes)
	}
}

// Classes that look nearly the same are named; letters, numbers and other words are not.
func TestLookAlikes(t *testing.T) {
	for text, want := range map[string]bool{
		"Cat|cat": true, "cat |cat": true, "cat\u00a0|cat": true, "cat\u200b|cat": true, "red  fox|Red Fox": true,
		"1|1.0": true, "2.00|2": true, "caf\u00e9|cafe\u0301": true, "Caf\u00e9|cafe\u0301": true,
		"cat|dog|cat": false, "|": false, "a|A": false, "1|1.5": false, "1|10": false, "007|7": false, "v1|v1.0": false,
		"1.0|2.0": false, "cat|cats": false, ".0|0": false, "red fox|redfox": false, "\u0131|i": false, "": false,
	} {
		note := ConfusableNames("label", strings.Split(text, "|"))
		if (note != "") != want {
			t.Errorf("%q: %q", text, note)
		}
	}
}
