package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/test/soak"
	"github.com/kindred-ml/kindred/store"
)

// drawnColumn is a column of a random index, with the values that it takes.
type drawnColumn struct {
	name   string
	kind   store.Kind
	values []any
}

// drawColumns makes some columns, also with names that need quotes.
func drawColumns(rng *rand.Rand) []drawnColumn {
	names := []string{"price", "kind", "sold", "unit price", "and", "é.x", "a-b", "_", "IN", "true", "日", "a\"b", "x'y"}
	var out []drawnColumn
	for _, i := range rng.Perm(len(names))[:1+rng.IntN(6)] {
		c := drawnColumn{name: names[i], kind: columnKinds()[rng.IntN(3)]}
		for range 1 + rng.IntN(12) {
			switch c.kind {
			case store.Text:
				texts := []string{"", "a", "b", "B", "ab", "it's", `"`, `\`, `a\"b`, "é", "\n", "日本語", "0", "true",
					" a ",
					strings.Repeat("long", 70), "\x00", "\u2028", "\U0001F600"}
				c.values = append(c.values, texts[rng.IntN(len(texts))])
			case store.Number:
				numbers := []float64{0, 1, -1, 0.1, 1e300, -1e300, 5e-324, 1 << 53, 1<<53 + 2, 20.5, 1e-7,
					float64(rng.IntN(100)), rng.NormFloat64()}
				c.values = append(c.values, numbers[rng.IntN(len(numbers))])
			case store.Bool:
				c.values = append(c.values, rng.IntN(2) == 0)
			}
		}
		out = append(out, c)
	}
	return out
}

// drawEntries makes items with such columns, some values missing.
func drawEntries(rng *rand.Rand, columns []drawnColumn, n, dim int) []store.Item {
	out := entries(n, dim, rng.Uint64())
	for i := range out {
		e := &out[i]
		e.ID = fmt.Sprintf("item %05d", rng.IntN(400))
		if rng.IntN(5) == 0 {
			e.Path = ""
		}
		if rng.IntN(6) == 0 { // equals, whose order is that of their ids
			clear(e.Vector)
		}
		e.Columns = map[string]any{}
		for _, c := range columns {
			if rng.IntN(4) > 0 {
				e.Columns[c.name] = c.values[rng.IntN(len(c.values))]
			}
		}
	}
	return out
}

// drawFilter makes a filter in words, and what it means of an item.
func drawFilter(rng *rand.Rand, columns []drawnColumn, depth int) (text string, means func(store.Item) bool) {
	if depth == 0 || rng.IntN(3) == 0 {
		return drawTest(rng, columns)
	}
	a, meansA := drawFilter(rng, columns, depth-1)
	b, meansB := drawFilter(rng, columns, depth-1)
	switch rng.IntN(4) {
	case 0:
		return "(" + a + ") and (" + b + ")", func(e store.Item) bool { return meansA(e) && meansB(e) }
	case 1:
		return "(" + a + ")OR(" + b + ")", func(e store.Item) bool { return meansA(e) || meansB(e) }
	case 2:
		return "not (" + a + ")", func(e store.Item) bool { return !meansA(e) }
	}
	// Without brackets: not before and before or.
	x, meansX := drawTest(rng, columns)
	y, meansY := drawTest(rng, columns)
	z, meansZ := drawTest(rng, columns)
	return "not " + x + " and " + y + " or " + z + " and not " + x, func(e store.Item) bool {
		return !meansX(e) && meansY(e) || meansZ(e) && !meansX(e)
	}
}

// drawTest makes one test.
func drawTest(rng *rand.Rand, columns []drawnColumn) (text string, means func(store.Item) bool) {
	c := drawnColumn{name: "id", kind: store.Text}
	value := func(e store.Item) any { return e.ID }
	switch k := rng.IntN(len(columns) + 2); {
	case k < len(columns):
		c = columns[k]
		value = func(e store.Item) any { return e.Columns[c.name] }
	case k == len(columns):
		c.values = []any{"item 00100", "item 00399", ""}
	default:
		c.name, c.values = "path", []any{"p/7.jpg", "p/10.jpg", "q"}
		value = func(e store.Item) any { return e.Value("path") }
	}
	name := "`" + c.name + "`"
	some := func() any { return c.values[rng.IntN(len(c.values))] }
	there := func(e store.Item) bool { return value(e) != nil }
	switch k := rng.IntN(9); {
	case k == 0:
		return name + " is missing", func(e store.Item) bool { return !there(e) }
	case k == 1:
		return name + " is not missing", there
	case k == 2 && c.kind == store.Bool:
		return name, func(e store.Item) bool { return value(e) == true }
	case k <= 4:
		var list []any
		var words []string
		for range 1 + rng.IntN(4) {
			list = append(list, some())
			words = append(words, literal(list[len(list)-1], rng))
		}
		in := "(" + strings.Join(words, ",") + ")"
		if k == 3 {
			return name + " in " + in, func(e store.Item) bool { return slices.Contains(list, value(e)) }
		}
		return name + " not in " + in, func(e store.Item) bool { return there(e) && !slices.Contains(list, value(e)) }
	}
	v := some()
	less := func(a, b any) bool {
		if c.kind == store.Text {
			return a.(string) < b.(string)
		}
		return a.(float64) < b.(float64)
	}
	signs := []string{"=", "!=", "<", "<=", ">", ">="}
	if c.kind == store.Bool {
		signs = signs[:2]
	}
	sign := signs[rng.IntN(len(signs))]
	return name + sign + literal(v, rng), func(e store.Item) bool {
		have := value(e)
		if !there(e) {
			return false
		}
		switch sign {
		case "=":
			return have == v
		case "!=":
			return have != v
		case "<":
			return less(have, v)
		case "<=":
			return !less(v, have)
		case ">":
			return less(v, have)
		}
		return !less(have, v)
	}
}

// literal writes a value as a filter has it.
func literal(v any, rng *rand.Rand) string {
	switch v := v.(type) {
	case float64:
		if rng.IntN(2) == 0 {
			return strconv.FormatFloat(v, 'e', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	quote := []string{`"`, `'`}[rng.IntN(2)]
	return quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(v.(string)) + quote
}

// changeAtRandom does something to an index and to the map, and returns the index, which may have
// been opened again.
func changeAtRandom(t *testing.T, x *Index, m model, columns []drawnColumn, rng *rand.Rand) *Index {
	t.Helper()
	known := len(x.Info().Columns) == len(columns) // a column that no item has had is not
	switch k := rng.IntN(8); {
	case k == 0 && known:
		text, means := drawFilter(rng, columns, 3)
		f, err := store.ParseFilter(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		before := len(m)
		maps.DeleteFunc(m, func(_ string, e store.Item) bool { return means(e) })
		if n, err := x.RemoveWhere(t.Context(), f); err != nil || n != before-len(m) {
			t.Fatalf("%s: removed %d, %v; want %d", text, n, err, before-len(m))
		}
	case k == 1:
		if err := x.Compact(t.Context(), CompactOptions{NumLists: -1}); err != nil {
			t.Fatal(err)
		}
	case k == 2 && len(m) >= 40:
		if err := x.Compact(t.Context(), CompactOptions{NumLists: 1 + rng.IntN(12)}); err != nil {
			t.Fatal(err)
		}
	case k == 3:
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		y, err := (&Index{dir: x.dir, sizes: smallLimits()}).open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { y.Close() })
		return y
	default:
		e := drawEntries(rng, columns, 1+rng.IntN(2*smallLimits().bulkRows), x.dim)
		if _, err := x.Add(t.Context(), e, AddOptions{Existing: Replace}); err != nil {
			t.Fatal(err)
		}
		for _, e := range e {
			m[e.ID] = e
		}
	}
	return x
}

// TestSoak does anything to an index with any columns, and compares what it finds by any
// filter with a map and the filter's meaning.
func TestSoak(t *testing.T) {
	soak.Run(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 11))
		x := createSmall(t, Config{Dim: 1 + rng.IntN(40), Distance: eval.Distance(rng.IntN(3))})
		m := model{}
		columns := drawColumns(rng)
		for range 12 {
			x = changeAtRandom(t, x, m, columns, rng)
			for range 4 {
				if len(x.Info().Columns) < len(columns) {
					break
				}
				text, means := drawFilter(rng, columns, rng.IntN(5))
				f, err := store.ParseFilter(text)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				q := randomQuery(x, m, rng)
				q.Filter = f
				compareSearch(t, x, m, q, means)
			}
		}
		n := 0
		for e, err := range x.All() {
			if err != nil || !isSameItem(e, m[e.ID]) {
				t.Fatalf("%+v, want %+v: %v", e, m[e.ID], err)
			}
			n++
		}
		if n != len(m) {
			t.Fatalf("%d items, want %d", n, len(m))
		}
		if c, err := Check(t.Context(), x.dir, CheckOptions{}); err != nil || len(c.Problems) > 0 {
			t.Fatalf("%+v, %v", c, err)
		}
	})
}
