package index

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// An operation that ends within one of its numbers is invalid: the bytes after it are not read as part of it.
func TestOperationsCutOff(t *testing.T) {
	for name, text := range map[string]string{
		"a length that ends nowhere": "\x02\x80\x80",
		"a length of eleven bytes":   "\x02\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
		"no length":                  "\x02", "a text that ends before": "\x02\x05abcd", "no operation": "\x03",
		"a number of fields whose bytes make a vector": "\x01\x01a\x00\x80\x80\x80\x80",
		"half a vector": "\x01\x01a\x00\x00\x00\x00", "fields without end": "\x01\x01a\x00\x02\x01c\x03\x01",
		"a field of no kind": "\x01\x01a\x00\x01\x01c\x04\x00\x00\x00\x00\x00",
	} {
		if ops, err := decodeOperations([]byte(text), 1); !errors.Is(err, errBadOperation) {
			t.Errorf("%s: %v, %v", name, ops, err)
		}
	}
	ops, err := decodeOperations([]byte("\x02\x01b\x01\x01a\x00\x01\x01c\x03\x01\x00\x00\x80\x3f"), 1)
	if err != nil || len(ops) != 2 || ops[0].remove != "b" || ops[1].entry.ID != "a" ||
		ops[1].entry.Columns["c"] != true || ops[1].entry.Vector[0] != 1 {
		t.Errorf("%+v, %v", ops, err)
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
	if err != nil || len(ops) != 1 || !isSameItem(*ops[0].entry, long) {
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
