package index

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/store"
)

// What is asked of an index is refused in words that say what is wanted, and what is just
// allowed is not.
func TestRefused(t *testing.T) {
	x := create(t, Config{Dim: 2})
	add(t, x, entries(3, 2, 1), AddOptions{})
	readOnly, err := Open(x.Dir(), Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	ctx := t.Context()
	search := func(q Query) error { _, err := x.Search(ctx, q); return err }
	origin := []float32{0, 0}
	const readOnlyText = "only" // of reading
	for _, c := range []struct {
		err  error
		want string // "" for none
	}{
		{x.Compact(ctx, CompactOptions{Lists: -2}), "-2 lists: want 1 or more, 0 to keep their number, -1 for none"},
		{x.Compact(ctx, CompactOptions{Recall: 1.5}), "a recall of 1.5: want a share from 0 to 1"},
		{x.Compact(ctx, CompactOptions{Recall: -0.5}), "a recall of -0.5"},
		{x.Compact(ctx, CompactOptions{Recall: math.NaN()}), "a recall of NaN"},
		{x.Compact(ctx, CompactOptions{Lists: 4}), "at most as many lists"},
		{x.Compact(ctx, CompactOptions{Lists: 1, Recall: 1}), ""},
		{x.Compact(ctx, CompactOptions{Lists: -1}), ""},
		{search(Query{Vector: origin, K: -1}), "the -1 nearest items: want at least 1"},
		{listed(x.List(nil, "", 0)), "a list of 0 items: want at least 1"},
		{listed(x.List(nil, "", 1)), ""},
		{search(Query{Vector: origin, K: 1}), ""},
		{search(Query{Vector: []float32{1}}), "the query has 1 numbers, and the index holds vectors of 2"},
		{search(Query{Vector: []float32{1, float32(math.Inf(1))}}), "the query holds +Inf (in dimension 1)"},
		{removed(x.RemoveWhere(ctx, nil)), "a removal without a filter"},
		{removed(readOnly.RemoveWhere(ctx, nil)), readOnlyText},
		{removed(readOnly.Remove(ctx, "a")), readOnlyText},
		{readOnly.Compact(ctx, CompactOptions{}), readOnlyText},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%.300v, want %q", c.err, c.want)
		}
		var input *InputError
		if c.err != nil && c.want != readOnlyText && !errors.As(c.err, &input) {
			t.Errorf("%v is no *InputError", c.err)
		}
	}
	for dim, want := range map[int]bool{0: false, -1: false, 1: true, maxDim: true, maxDim + 1: false} {
		y, err := Create(filepath.Join(t.TempDir(), "y"), Config{Dim: dim})
		said := fmt.Sprintf("dimension %d: want 1 to 65536", dim)
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), said) {
			t.Errorf("dimension %d: %v", dim, err)
		}
		if err == nil {
			y.Close()
		}
	}
	if in := x.Info(); in.Items != 3 {
		t.Errorf("%d items", in.Items)
	}
}

func removed(_ int, err error) error { return err }

// A manifest at the ends of what it may say, and beyond.
func TestManifestBounds(t *testing.T) {
	good := func() *manifest {
		return &manifest{Version: formatVersion, Dim: 1, Log: "1.log",
			Segments: []segmentRef{{File: "2.seg", Rows: 1, Dead: "3.dead"}}}
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
		"as it is":        {same, []string{column("a"), column("b")}, ""},
		"version 0":       {func(m *manifest) { m.Version = 0 }, nil, "format version 0, which was never released"},
		"no dimension":    {func(m *manifest) { m.Dim = 0 }, nil, "dimension 0"},
		"the most":        {func(m *manifest) { m.Dim = maxDim }, nil, ""},
		"too many":        {func(m *manifest) { m.Dim = maxDim + 1 }, nil, "dimension"},
		"no rows":         {func(m *manifest) { m.Segments[0].Rows = 0 }, nil, `segment "2.seg" of 0 rows`},
		"a file twice":    {func(m *manifest) { m.Segments[0].Dead = "1.log" }, nil, `the file "1.log", or names it twice`},
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
	for v, want := range map[int]string{formatVersion + 1: "use the program that wrote it", 2: "make the index anew"} {
		m := good()
		m.Version = v
		if text, err := m.encode(); err != nil {
			t.Error(err)
		} else if _, err := decodeManifest(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %d: %v", v, err)
		}
	}
}

// Lists come in the order of their centers, of equals the first; the rows of the nearest ones
// are those between their starts.
func TestNearestLists(t *testing.T) {
	centers := []float32{0, 0, 3, 0, -1, 0, 3, 0}
	for _, c := range []struct {
		distance rank.Distance
		x        []float32
		want     []int
	}{{rank.Euclidean, []float32{2, 0}, []int{1, 3, 0, 2}}, {rank.Dot, []float32{-2, 0}, []int{2, 0, 1, 3}},
		{rank.Cosine, []float32{1, 1}, []int{1, 3, 0, 2}}} {
		if got := nearestLists(c.distance, c.x, centers); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.distance, got, c.want)
		}
	}
	s := &segment{lists: []uint32{0, 5, 9, 9, 12}, centers: centers}
	for probes, want := range map[int][][2]int{1: {{5, 9}}, 2: {{5, 9}, {9, 12}}, 3: {{0, 5}, {5, 9}, {9, 12}},
		9: {{0, 5}, {5, 9}, {9, 9}, {9, 12}}} {
		got := s.within([]float32{2, 0}, probes)
		if len(got) != len(want) {
			t.Errorf("%d lists: %v, want %v", probes, got, want)
			continue
		}
		for i, r := range got {
			if [2]int{r.Lo, r.Hi} != want[i] {
				t.Errorf("%d lists: %v, want %v", probes, got, want)
			}
		}
	}
	if share(3, 4) != 0.75 || share(0, 0) != 1 {
		t.Errorf("%g, %g", share(3, 4), share(0, 0))
	}
}

// A file of an index that no manifest names goes when the index is opened; other files stay.
func TestOrphans(t *testing.T) {
	x := create(t, Config{Dim: 2})
	add(t, x, entries(3, 2, 1), AddOptions{})
	files := map[string]bool{"999.seg": false, "999.log": false, "998.dead": false, "999.seg.bak": true,
		"notes.txt": true}
	nothing := func(io.Writer) error { return nil }
	for name := range files {
		if err := (atomic.Files{}).Write(filepath.Join(x.Dir(), name), nothing); err != nil {
			t.Fatal(err)
		}
	}
	x = reopen(t, x)
	for name, stays := range files {
		found, err := filepath.Glob(filepath.Join(x.Dir(), name))
		if err != nil || (len(found) == 1) != stays {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	if in := x.Info(); in.Items != 3 {
		t.Errorf("%d items", in.Items)
	}
}

// All that wait for a pass which cannot begin, as the index is closed, are told so; one that
// has an error already keeps it.
func TestPassesOfAClosedIndex(t *testing.T) {
	x := createSmall(t, Config{Dim: 1})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	own := errors.New("its own")
	batch := []*pending{{done: make(chan struct{})}, {done: make(chan struct{}), err: own}}
	x.search(batch)
	for _, p := range batch {
		<-p.done
	}
	if batch[0].err == nil || batch[0].result != nil || batch[1].err != own {
		t.Errorf("%v, %v", batch[0].err, batch[1].err)
	}
}

// listed is the error of a list.
func listed(_ []store.Item, err error) error { return err }
