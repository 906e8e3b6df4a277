package qdrant

import (
	"reflect"
	"testing"

	"github.com/qdrant/go-client/qdrant"
)

// What a point holds comes back as it is, or not at all.
func TestItemsOfPoints(t *testing.T) {
	for _, c := range []struct {
		columns string
		want    map[string]any
		wrong   bool
	}{
		{`null`, nil, false}, {`{"n":1.5,"s":"é"}`, map[string]any{"n": 1.5, "s": "é"}, false},
		{`{"s":"\ud800"}`, nil, true}, {`{"\udfff":1}`, nil, true}, {`{`, nil, true}, {``, nil, true},
	} {
		it, err := parseItem(map[string]*qdrant.Value{idKey: qdrant.NewValueString("x"),
			pathKey:    qdrant.NewValueString("p"),
			columnsKey: qdrant.NewValueString(c.columns)}, nil)
		if (err != nil) != c.wrong {
			t.Errorf("%s: %+v, %v", c.columns, it, err)
		}
		if err == nil && (it.ID != "x" || it.Path != "p" || it.Vector != nil ||
			!reflect.DeepEqual(it.Columns, c.want)) {
			t.Errorf("%s: %+v", c.columns, it)
		}
	}
}
