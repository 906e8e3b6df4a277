package index

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/store"
)

// A manifest with a column of a kind that there is not is damaged.
func TestManifestOfAnotherKind(t *testing.T) {
	for _, kind := range []store.Kind{"", "date", store.Number} {
		m := &manifest{Version: formatVersion, Index: "abc", Dim: 3, Log: "000001.log", Segments: []segmentRef{},
			Columns: []store.Column{{Name: "a", Kind: kind}}}
		text, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		_, err = decodeManifest(text)
		if kind == store.Number {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), `damaged: column "a"`) {
			t.Errorf("kind %q: %v", kind, err)
		}
	}
}

// A manifest is small: one of another size is refused before it is read whole.
func TestManifestSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), manifestFile)
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxManifest+1); err != nil {
		t.Fatal(err)
	}
	var large *budget.TooLargeError
	if _, err := readManifest(filepath.Dir(path)); !errors.As(err, &large) {
		t.Errorf("a manifest of %d bytes: %v", maxManifest+1, err)
	}
	if err := os.Truncate(path, maxManifest); err != nil {
		t.Fatal(err)
	}
	if _, err := readManifest(filepath.Dir(path)); err == nil || errors.As(err, &large) {
		t.Errorf("a manifest of %d bytes: %v", maxManifest, err)
	}
}

// A manifest at the ends of what it may say, and beyond.
func TestManifestBounds(t *testing.T) {
	good := func() *manifest {
		return &manifest{Version: formatVersion, Dim: 1, Log: "1.log",
			Segments: []segmentRef{{File: "2.seg", Rows: 1, RemovedFile: "3.dead"}}}
	}
	same := func(*manifest) {}
	column := func(name string) string { return `{"name":"` + name + `","kind":"text"}` }
	var many []string
	for i := range 256 + 1 {
		many = append(many, column(strings.Repeat("c", i%200+1)+strings.Repeat("d", i/200)))
	}
	for name, c := range map[string]struct {
		change  func(m *manifest)
		columns []string
		want    string
	}{
		"as it is":     {same, []string{column("a"), column("b")}, ""},
		"version 0":    {func(m *manifest) { m.Version = 0 }, nil, "format version 0 was never released"},
		"no dimension": {func(m *manifest) { m.Dim = 0 }, nil, "dimension 0"},
		"the most":     {func(m *manifest) { m.Dim = maxDim }, nil, ""},
		"too many":     {func(m *manifest) { m.Dim = maxDim + 1 }, nil, "dimension"},
		"no rows":      {func(m *manifest) { m.Segments[0].Rows = 0 }, nil, `segment "2.seg" of 0 rows`},
		"a file twice": {func(m *manifest) { m.Segments[0].RemovedFile = "1.log" }, nil,
			`the file "1.log", or names it twice`},
		"a file outside":  {func(m *manifest) { m.Log = "../1.log" }, nil, `the file "../1.log"`},
		"no log":          {func(m *manifest) { m.Log = "" }, nil, `the file ""`},
		"a column twice":  {same, []string{column("a"), column("a")}, `column "a"`},
		"the name of one": {same, []string{column("path")}, `column "path"`},
		"no kind":         {same, []string{`{"name":"a"}`}, "damaged"},
		"all columns":     {same, many[1:], ""},
		"many columns":    {same, many, "columns"},
	} {
		m := good()
		c.change(m)
		text, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		body := strings.Replace(strings.Join(lines[:len(lines)-2], ""), `"columns": null`,
			`"columns": [`+strings.Join(c.columns, ",")+"]", 1)
		text = fmt.Appendf(nil, "%scrc32c %08x\n", body, crc32.Checksum([]byte(body), castagnoli()))
		if _, err = decodeManifest(text); (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for v, want := range map[int]string{formatVersion + 1: "use the program that wrote it", 2: "make the index again"} {
		m := good()
		m.Version = v
		if text, err := m.encode(); err != nil {
			t.Error(err)
		} else if _, err := decodeManifest(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %d: %v", v, err)
		}
	}
}
