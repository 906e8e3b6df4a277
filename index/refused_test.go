package index

import (
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/atomic"
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
	item := func(it Item, v ...float32) error {
		_, err := x.Add(ctx, []Entry{{it, v}}, AddOptions{})
		return err
	}
	field := func(name string, v Value) Item { return Item{ID: "a", Fields: map[string]Value{name: v}} }
	origin := []float32{0, 0}
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
		{search(Query{Vector: origin, K: 1}), ""},
		{search(Query{Vector: []float32{1}}), "the query has 1 numbers, and the index holds vectors of 2"},
		{search(Query{Vector: []float32{1, float32(math.Inf(1))}}), "the query holds +Inf (in dimension 1)"},
		{item(Item{ID: "a"}, 1, 2, 3), `the vector of item "a" has 3 numbers`},
		{item(Item{ID: "a"}, float32(math.NaN()), 0), `the vector of item "a" holds NaN (in dimension 0)`},
		{item(field(strings.Repeat("c", 256), Number(1)), origin...), ""},
		{item(field("", Number(1)), origin...), "a column name of 0 bytes: want 1 to"},
		{item(field("a`b", Number(1)), origin...), "a backquote"},
		{item(field("a\x1fb", Number(1)), origin...), "a control character"},
		{item(field("a b", Number(1)), origin...), ""},
		{item(field("a\x7f", Number(1)), origin...), "a control character"},
		{item(field("a\xff", Number(1)), origin...), "not UTF-8"},
		{item(field("id", Number(1)), origin...), "a column cannot be called id"},
		{item(field("c", Number(math.Inf(1))), origin...), `item "a": c is +Inf; numbers have to be finite`},
		{item(field("c", Text(strings.Repeat("x", MaxText+1))), origin...), `item "a": c has 65537 bytes: at most 65536`},
		{item(field("d", Text(strings.Repeat("x", MaxText))), origin...), ""},
		{item(field("c", Text("\xff")), origin...), `item "a": c is not UTF-8`},
		{removed(x.RemoveWhere(ctx, nil)), "a removal without a filter"},
		{removed(readOnly.RemoveWhere(ctx, nil)), ErrReadOnly.Error()},
		{removed(readOnly.Remove(ctx, "a")), ErrReadOnly.Error()},
		{readOnly.Compact(ctx, CompactOptions{}), ErrReadOnly.Error()},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%.300v, want %q", c.err, c.want)
		}
		var input *InputError
		if c.err != nil && c.want != ErrReadOnly.Error() && !errors.As(c.err, &input) {
			t.Errorf("%v is no *InputError", c.err)
		}
	}
	for dim, want := range map[int]bool{0: false, -1: false, 1: true, maxDim: true, maxDim + 1: false} {
		y, err := Create(filepath.Join(t.TempDir(), "y"), Config{Dim: dim})
		if (err == nil) != want {
			t.Errorf("dimension %d: %v", dim, err)
		}
		if err == nil {
			y.Close()
		}
	}
	if in := x.Info(); in.Items != 4 {
		t.Errorf("%d items", in.Items)
	}
}

func removed(_ int, err error) error { return err }

// A manifest at the ends of what it may say, and beyond.
func TestManifestBounds(t *testing.T) {
	good := func() *manifest {
		return &manifest{Version: 1, Dim: 1, Log: "1.log", Segments: []segmentRef{{File: "2.seg", Rows: 1, Dead: "3.dead"}},
			Columns: []Column{{Name: "a", Kind: KindText}, {Name: "b", Kind: KindBool}}}
	}
	for name, c := range map[string]struct {
		change func(m *manifest)
		want   string
	}{
		"as it is":        {func(*manifest) {}, ""},
		"version 0":       {func(m *manifest) { m.Version = 0 }, "version 0"},
		"no dimension":    {func(m *manifest) { m.Dim = 0 }, "dimension 0"},
		"the most":        {func(m *manifest) { m.Dim = maxDim }, ""},
		"too many":        {func(m *manifest) { m.Dim = maxDim + 1 }, "dimension"},
		"no rows":         {func(m *manifest) { m.Segments[0].Rows = 0 }, `segment "2.seg" of 0 rows`},
		"a file twice":    {func(m *manifest) { m.Segments[0].Dead = "1.log" }, `the file "1.log", or names it twice`},
		"a file outside":  {func(m *manifest) { m.Log = "../1.log" }, `the file "../1.log"`},
		"no log":          {func(m *manifest) { m.Log = "" }, `the file ""`},
		"a column twice":  {func(m *manifest) { m.Columns[1].Name = "a" }, `column "a"`},
		"no kind":         {func(m *manifest) { m.Columns[0].Kind = None }, `column "a" of kind`},
		"the name of one": {func(m *manifest) { m.Columns[1].Name = "path" }, `column "path"`},
		"many columns": {func(m *manifest) {
			for i := len(m.Columns); i <= maxColumns; i++ {
				m.Columns = append(m.Columns, Column{Name: strings.Repeat("c", i), Kind: KindText})
			}
		}, "columns"},
	} {
		m := good()
		c.change(m)
		text, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err = decodeManifest(text); (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	m := good()
	m.Version = formatVersion + 1
	if text, err := m.encode(); err != nil {
		t.Error(err)
	} else if _, err := decodeManifest(text); err == nil || !strings.Contains(err.Error(), "reads up to version 3") {
		t.Errorf("%v", err)
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
	files := map[string]bool{"999.seg": false, "999.log": false, "998.dead": false, "999.seg.bak": true, "notes.txt": true}
	for name := range files {
		if err := (atomic.Files{}).Write(filepath.Join(x.Dir(), name), func(io.Writer) error { return nil }); err != nil {
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
