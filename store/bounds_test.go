package store_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// What an item may hold is taken to the last byte, and a byte more is refused in words that
// name the place.
func TestItemBounds(t *testing.T) {
	columns := func(n int) map[string]any {
		out := map[string]any{}
		for i := range n {
			out[fmt.Sprintf("c%d", i)] = 1.0
		}
		return out
	}
	for _, c := range []struct {
		change func(it *store.Item)
		want   string // in the error; "" for none
	}{
		{func(*store.Item) {}, ""},
		{func(it *store.Item) { it.ID = strings.Repeat("a", 512) }, ""},
		{func(it *store.Item) { it.ID = strings.Repeat("a", 513) }, "its id has 513 bytes: must be at most 512"},
		{func(it *store.Item) { it.ID = "" }, "its id is empty"},
		{func(it *store.Item) { it.ID = "a\x01" }, "its id has the control character U+0001"},
		{func(it *store.Item) { it.ID = "a\xff" }, "its id is not UTF-8"},
		{func(it *store.Item) { it.Path = strings.Repeat("p", 1<<16) }, ""},
		{func(it *store.Item) { it.Path = strings.Repeat("p", 1<<16+1) }, "its path has 65537 bytes: must be at most " +
			"65536"},
		{func(it *store.Item) { it.Path = "\xff" }, "its path is not UTF-8"},
		{func(it *store.Item) { it.Vector = []float32{1, float32(math.NaN())} }, "number 1 of its vector is NaN"},
		{func(it *store.Item) { it.Vector = []float32{float32(math.Inf(-1)), 1} }, "number 0 of its vector is -Inf"},
		{func(it *store.Item) { it.Vector = []float32{math.MaxFloat32, 1} }, ""},
		{func(it *store.Item) { it.Columns = columns(256) }, ""},
		{func(it *store.Item) { it.Columns = columns(257) }, "257 columns: must be at most 256"},
		{func(it *store.Item) { it.Columns = map[string]any{"": true} }, "the name of a column is empty"},
		{func(it *store.Item) { it.Columns = map[string]any{"a": "x", "b": 1.5, "c": false} }, ""},
		{func(it *store.Item) { it.Columns = map[string]any{"a": math.Inf(1)} }, "column a is +Inf"},
		{func(it *store.Item) { it.Columns = map[string]any{"a": math.NaN()} }, "column a is NaN"},
		{func(it *store.Item) { it.Columns = map[string]any{"a": strings.Repeat("x", 1<<16+1)} }, "column a has 65537"},
	} {
		it := store.Item{ID: "a", Vector: []float32{1, 2}}
		c.change(&it)
		err := it.Check(2)
		var item *store.ItemError
		if (err == nil) != (c.want == "") || err != nil && (!errors.As(err, &item) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.200v, want %q", err, c.want)
		}
	}
	var dim *store.DimensionError
	it := store.Item{ID: "a", Vector: []float32{1, 2}}
	if err := it.Check(3); !errors.As(err, &dim) || dim.Have != 2 || dim.Want != 3 {
		t.Errorf("%v", err)
	}
}

// Numbers up to float16's largest are kept in half of the room, of either sign.
func TestHalfBounds(t *testing.T) {
	for v, good := range map[float32]bool{65504: true, -65504: true, 65504.01: false, -65536: false, 0: true} {
		it := store.Item{ID: "a", Vector: []float32{0, v}}
		err := it.CheckFloat16()
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "number 1 of its vector is") {
			t.Errorf("%g: %v", v, err)
		}
	}
}

// A config at the ends of what it may be, and one beyond.
func TestConfigBounds(t *testing.T) {
	for _, c := range []struct {
		config store.Config
		good   bool
	}{
		{store.Config{Dim: 1}, true}, {store.Config{Dim: 0}, false}, {store.Config{Dim: 10}, true},
		{store.Config{Dim: 11}, false}, {store.Config{Dim: 2, Distance: "dot"}, true},
		{store.Config{Dim: 2, Distance: "cosine"}, true}, {store.Config{Dim: 2, MaxNeighbours: 2}, true},
		{store.Config{Dim: 2, MaxNeighbours: 100, BuildCandidates: 200}, true},
		{store.Config{Dim: 2, MaxNeighbours: 101, BuildCandidates: 300}, false},
		{store.Config{Dim: 2, MaxNeighbours: 100, BuildCandidates: 199}, false},
		{store.Config{Dim: 2, MaxNeighbours: 32}, true},
		{store.Config{Dim: 2, MaxNeighbours: 33}, false}, {store.Config{Dim: 2, BuildCandidates: 1000}, true},
		{store.Config{Dim: 2, BuildCandidates: 1001}, false}, {store.Config{Dim: 2, BuildCandidates: 31}, false},
		{store.Config{Dim: 2, BuildCandidates: 32}, true},
	} {
		config := c.config
		if err := config.Check("a", 10); (err == nil) != c.good {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
	config := store.Config{Dim: 3}
	if err := config.Check(strings.Repeat("a", 51), 3); err != nil {
		t.Error(err)
	}
	if err := config.CheckExisting("s", 3, "euclidean"); err != nil {
		t.Error(err)
	}
	for _, other := range []struct {
		dim      int
		distance string
	}{{4, "euclidean"}, {3, "dot"}} {
		err := config.CheckExisting("s", other.dim, other.distance)
		if want := fmt.Sprintf("the store s has vectors of %d numbers and the %s distance, not 3 and euclidean",
			other.dim, other.distance); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
