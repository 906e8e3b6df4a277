package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Manifests as spreadsheets and Windows write them.
func TestManifestForms(t *testing.T) {
	dir := t.TempDir()
	read := func(text string) (*Dataset, error) {
		t.Helper()
		path := filepath.Join(dir, "list.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return Open(t.Context(), path, OpenOptions{})
	}
	if err := os.WriteFile(filepath.Join(dir, `b\0.png`), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	mine := `b\0.png` // on Windows a path
	if os.PathSeparator == '\\' {
		mine = "b/0.png"
	}
	want := []string{"a/x/0.png", "a/1.png", mine, "b/1.png"}
	for _, text := range []string{
		"path,label\na/x/0.png,a\na/1.png,a\nb\\0.png,b\nb/1.png,b\n",
		"path;label\na/x/0.png;a\na/1.png;a\nb\\0.png;b\nb/1.png;b\n",
		"\xef\xbb\xbf\"Path\";\"Label\"\r\n\"a\\x\\0.png\";a\r\na\\1.png;a\r\nb\\0.png;b\r\nb\\1.png;b\r\n",
		"path,label\na\\x\\0.png,a\na\\1.png,a\nb\\0.png,b\nb\\1.png,b\n",
		"path\tlabel\tnote\na/x/0.png\ta\t\na/1.png\ta\t\nb\\0.png\tb\t\nb/1.png\tb\t\n",
		"\xef\xbb\xbfpath,label\ra/x/0.png,a\ra/1.png,a\rb\\0.png,b\rb/1.png,b\r",
		"sep=;\r\npath;label\r\na/x/0.png;a\r\na/1.png;a\r\nb\\0.png;b\r\nb/1.png;b\r\n",
		"path,label\na/x/0.png,a\u00a0\na/1.png, a\nb\\0.png,\u00a0b\nb/1.png,b \n",
		"path,label\n" + filepath.ToSlash(dir) + "/a/x/0.png,a\na/1.png,a\nb\\0.png,b\nb/1.png,b\n",
	} {
		d, err := read(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if c, err := d.Column("label"); err != nil || !slices.Equal(d.Names, want) ||
			!slices.Equal(c.Classes, []string{"a", "b"}) {
			t.Errorf("%q: %q, %+v, %v", text, d.Names, c, err)
		}
	}
	for text, want := range map[string]string{
		"name,label\na,b\nc,d\n":              "list.csv:1: the header has columns \"name,label\"",
		"\n\nname;label\na;b\n":               "list.csv:3: the header has columns \"name,label\"",
		"path,label\n..\\..\\etc\\x,a\n":      "list.csv:2: ../../etc/x leads outside",
		"path;label\na/1.png;a;b\n":           "list.csv:2: the line has 3 fields, but the header has 2",
		"# mine\npath,label\na/1.png,a\n":     "list.csv:2: the line has 2 fields, but the header has 1",
		"path,label,Label\na/1.png,a,b\n":     "list.csv:1: the header has column label twice",
		"path,label\na,b\nPath, label\nc,d\n": "list.csv:3: the header occurs again",
		"a/1.png,a\na/2.png,b\n":              `list.csv:1: the first line, "a/1.png,a", names an image instead of columns`,
		"path;label\na/1.png;\n":              "list.csv: no row has a label; left out 1: ",
		"path;label\n":                        "no rows below the header",
		"filename,label\na/1.png,x\n":         "path and label (or labels) are needed; rename filename to path",
		"Image\tclass\na/1.png\tx\n":          "are needed; rename image to path; rename class to label",
		"\xff\xfep\x00a\x00,\x00b\x00\n\x00":  "list.csv: the text is in UTF-16: save it in UTF-8",
		"path;label,coarse\na/1.png;a,b\n":    "list.csv:1: the header has columns",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
