package index

import (
	"math"
	"strings"
	"testing"

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

// A log is read up to what an index takes, and no further.
func TestReadsWhatIsTaken(t *testing.T) {
	long := store.Item{ID: strings.Repeat("i", store.MaxID), Path: strings.Repeat("p", store.MaxText),
		Vector: []float32{1}, Columns: map[string]any{"a": strings.Repeat("a", store.MaxText), "b": -1.5, "c": true,
			"d": false}}
	if err := checkItem(&long, 1); err != nil {
		t.Error(err)
	}
	ops, err := decodeOperations(appendOperation(nil, operation{entry: &long}), 1)
	if err != nil || len(ops) != 1 || !same(*ops[0].entry, long) {
		t.Fatalf("read %d, %v", len(ops), err)
	}
	for name, it := range map[string]store.Item{
		"no id":              {},
		"a longer id":        {ID: long.ID + "i"},
		"a longer path":      {ID: "a", Path: long.Path + "p"},
		"a longer text":      {ID: "a", Columns: map[string]any{"a": long.Path + "p"}},
		"a column id":        {ID: "a", Columns: map[string]any{"id": 1.0}},
		"an id of two lines": {ID: "a\nb"},
	} {
		it.Vector = []float32{1}
		if _, err := decodeOperations(appendOperation(nil, operation{entry: &it}), 1); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

// A zero is written as the same bytes whatever its sign.
func TestZeroIsWrittenWithoutSign(t *testing.T) {
	written := func(v float64) string {
		it := store.Item{ID: "a", Columns: map[string]any{"n": v}}
		return string(appendOperation(nil, operation{entry: &it}))
	}
	if written(math.Copysign(0, -1)) != written(0) {
		t.Error("the sign of a zero is in the log")
	}
}
