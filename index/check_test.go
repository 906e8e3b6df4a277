package index

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Checking tells how many of the bytes of its files it has read, up to all.
func TestCheckTellsHowFarItIs(t *testing.T) {
	x := createSmall(t, Config{Dim: 3})
	for i := range 5 {
		e := entries(45, 3, uint64(i))
		for k := range e {
			e[k].ID = fmt.Sprint(i, " ", k)
		}
		add(t, x, e, AddOptions{})
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := readManifest(x.Dir())
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(readFile(t, filepath.Join(x.Dir(), m.Log))))
	for _, s := range m.Segments {
		size += int64(len(readFile(t, filepath.Join(x.Dir(), s.File))))
	}
	last, calls := int64(0), 0
	c, err := Check(t.Context(), x.Dir(), CheckOptions{Progress: func(done, total int64) {
		if calls++; done <= last || total != size {
			t.Errorf("%d after %d of %d bytes, want of %d", done, last, total, size)
		}
		last = done
	}})
	if err != nil || calls < 2 || last != size || c.Bytes != size {
		t.Errorf("%v: %d calls, %d and %d bytes, want %d", err, calls, last, c.Bytes, size)
	}
}

// A log that ends in its header is refused.
func TestLogWithoutAHeader(t *testing.T) {
	_, path, whole := logOfThree(t)
	m, err := readManifest(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range [][]byte{nil, whole[:markAt], whole[:logHeader-1]} {
		writeFile(t, path, log)
		_, err := readLog(path, m.Index, m.Dim, func([]operation) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "it ends in its header") {
			t.Errorf("a log of %d bytes: %v", len(log), err)
		}
	}
}
