package tree

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// An entry of an archive that is larger than it says is an error, not cut.
func TestArchiveEntryOfAnotherSize(t *testing.T) {
	good := zipOf(t, "a/1.png", strings.Repeat("x", 3000), "b/1.png", "y")
	r, err := zip.NewReader(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []uint32{2000, 4000} {
		b := bytes.Clone(good)
		for _, f := range r.File {
			if f.Name != "a/1.png" {
				continue
			}
			// The size stands in the directory at the end.
			at := bytes.LastIndex(b, []byte("a/1.png")) - 46
			b[at+24], b[at+25] = byte(size), byte(size>>8)
		}
		path := filepath.Join(t.TempDir(), "x.zip")
		write(t, path, b)
		a, err := openZip(nil, path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.Read("a/1.png", nil); err == nil || !strings.Contains(err.Error(), path+":a/1.png") {
			t.Errorf("announced as %d: %d bytes, %v", size, len(got), err)
		}
		if got, err := a.Read("b/1.png", nil); err != nil || string(got) != "y" {
			t.Errorf("%q, %v", got, err)
		}
		a.Close()
	}
}

// An entry of an archive takes its own size in memory and no more, wherever the archive
// is read from; one that claims more than it can hold takes none.
func TestArchiveEntryTakesItsSize(t *testing.T) {
	const size = 48 << 20
	var z bytes.Buffer
	zw := zip.NewWriter(&z)
	for name, method := range map[string]uint16{"a/deflated.png": zip.Deflate, "a/stored.png": zip.Store} {
		w, err := zw.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		for range size >> 20 {
			w.Write(make([]byte, 1<<20))
		}
	}
	w, _ := zw.Create("a/small.png")
	w.Write(bytes.Repeat([]byte("x"), 3000))
	zw.Close()
	b := z.Bytes()
	// The size stands in the directory at the end, 22 bytes before the name.
	at := bytes.LastIndex(b, []byte("a/small.png")) - 22
	binary.LittleEndian.PutUint32(b[at:], size)
	path := filepath.Join(t.TempDir(), "x.zip")
	write(t, path, b)
	local, err := openZip(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	budgettest.Limit(t, size)
	for where, from := range map[string]Tree{"a file": local, "a file system": NewFS(r, "x.zip")} {
		for _, name := range []string{"a/deflated.png", "a/stored.png"} {
			var content []byte
			n := budgettest.Allocated(func() { content, err = from.Read(name, nil) })
			if err != nil || len(content) != size || n > size+1<<20 {
				t.Errorf("%s from %s: %d bytes in %d, %v", name, where, len(content), n, err)
			}
		}
		n := budgettest.Allocated(func() { _, err = from.Read("a/small.png", nil) })
		if err == nil || n > 1<<20 ||
			!strings.Contains(err.Error(), "a/small.png: the archive announces 50331648 bytes, more than its ") {
			t.Errorf("%s: %d bytes, %v", where, n, err)
		}
	}
}

// zipOf is an archive of names and contents in turns.
func zipOf(t *testing.T, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
