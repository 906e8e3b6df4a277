package imaging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable: names and extensions belong to one format each, and each format has a file in testdata, which is
// recognised as it and as no other one.
func TestTable(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("testdata", "formats"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range formats {
		if f.name == "" || seen[f.name] || !strings.HasPrefix(f.mediaType, "image/") || len(f.extensions) == 0 {
			t.Errorf("%+v", f.public())
		}
		seen[f.name] = true
		files := 0
		for _, ext := range f.extensions {
			if seen[ext] || ext != strings.ToLower(ext) || ext[0] != '.' {
				t.Errorf("%s: extension %s", f.name, ext)
			}
			seen[ext] = true
			for _, name := range []string{"a" + ext, "A" + strings.ToUpper(ext), "a/b.c" + ext} {
				if of, ok := FormatByName(name); !ok || of.Name != f.name || IsReadableName(name) != f.readable() ||
					NeedsDecoder(name) == f.readable() {
					t.Errorf("%s: %v, %v", name, of, ok)
				}
			}
			for _, e := range entries {
				if !strings.HasSuffix(e.Name(), ext) {
					continue
				}
				files++
				b := formatFile(t, e.Name())
				for _, g := range formats {
					if is, _ := sniff(b); g.matches(b) && g != is || is != f {
						t.Errorf("%s is taken for %s", e.Name(), g.name)
					}
				}
				if IsSandboxed(b) != f.sandboxed || StructureBytes(b, int64(len(b))) < 1<<20 {
					t.Errorf("%s: sandboxed: %v, %d bytes", e.Name(), IsSandboxed(b), StructureBytes(b, int64(len(b))))
				}
			}
		}
		if files == 0 {
			t.Errorf("%s has no file", f.name)
		}
		if !strings.Contains(FormatNames(), f.name) {
			t.Errorf("%s is not among %s", f.name, FormatNames())
		}
	}
	for _, name := range []string{"", "a", "a.", ".", "a.txt", "a.jpg.txt", "jpg", "a.jpg ", "a.j", "a.jp2"} {
		if of, ok := FormatByName(name); ok {
			t.Errorf("%q: %v", name, of)
		}
	}
	for _, name := range []string{"a.jfif", "a.JPE", "a.hif", "a.ppm"} {
		if _, ok := FormatByName(name); !ok {
			t.Errorf("%s is not taken for an image", name)
		}
	}
}
