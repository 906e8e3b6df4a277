package data

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"
)

// The files of samples are told by their sizes and times, in a folder, in an archive, in a
// file system; what is gone is said of the one sample.
func TestStats(t *testing.T) {
	content := map[string]string{"a/1.png": "one", "a/2.png": "three", "b/1.png": "fifteen"}
	when := time.Date(2024, 5, 1, 12, 30, 5, 123456789, time.UTC)
	dir, archive, system := threeTimes(t, content, when)
	inFolder, err := Open(t.Context(), dir, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inArchive, err := Open(t.Context(), archive, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer inArchive.Close()
	inSystem, err := OpenFS(t.Context(), system, "set", OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d        *Dataset
		path     bool
		modified time.Time
	}{{inFolder, true, when}, {inArchive, false, time.Time{}}, {inSystem, false, when}} {
		stats, err := c.d.All().Stats(t.Context())
		if err != nil || len(stats) != 3 {
			t.Fatal(stats, err)
		}
		for i, s := range stats {
			name := c.d.Names[i]
			text, ok := content[name]
			if rest, cut := cutInner(name); cut {
				text, ok = content[rest], true
			}
			want := ""
			if c.path {
				want = filepath.Join(dir, filepath.FromSlash(name))
			}
			if !ok || s.Err != nil || s.Path != want || s.Size != int64(len(text)) || !s.Modified.Equal(c.modified) {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	if err := os.Remove(filepath.Join(dir, "a", "2.png")); err != nil {
		t.Fatal(err)
	}
	stats, err := inFolder.All().Stats(t.Context())
	if err != nil || stats[0].Err != nil || stats[1].Err == nil || stats[1].Path != "" || stats[2].Err != nil {
		t.Errorf("%+v, %v", stats, err)
	}
}

// threeTimes writes files with a time into a folder, an archive and a file system.
func threeTimes(t *testing.T, content map[string]string, when time.Time) (dir, archive string, system fstest.MapFS) {
	t.Helper()
	dir = t.TempDir()
	system = fstest.MapFS{}
	f, err := os.Create(filepath.Join(t.TempDir(), "set.zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, text := range content {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		system[name] = &fstest.MapFile{Data: []byte(text), ModTime: when}
		w, err := z.Create("inner/" + name) // a folder that holds all
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, f.Name(), system
}

// cutInner takes the folder off a name in which all of an archive is.
func cutInner(name string) (string, bool) {
	const inner = "inner/"
	if len(name) > len(inner) && name[:len(inner)] == inner {
		return name[len(inner):], true
	}
	return name, false
}
