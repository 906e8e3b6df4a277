package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/soak"
)

// drawnColumn is a column of a random index, with the values that it takes.
type drawnColumn struct {
	name   string
	kind   Kind
	values []Value
}

// drawColumns makes some columns, also with names that need quotes.
func drawColumns(rng *rand.Rand) []drawnColumn {
	names := []string{"price", "kind", "sold", "unit price", "and", "é.x", "a-b", "_", "IN", "true", "日", "a\"b", "x'y"}
	var out []drawnColumn
	for _, i := range rng.Perm(len(names))[:1+rng.IntN(6)] {
		c := drawnColumn{name: names[i], kind: KindText + Kind(rng.IntN(3))}
		for range 1 + rng.IntN(12) {
			switch c.kind {
			case KindText:
				texts := []string{"", "a", "b", "B", "ab", "it's", `"`, `\`, `a\"b`, "é", "\n", "日本語", "0", "true", " a ",
					strings.Repeat("long", 70), "\x00", "\u2028", "\U0001F600"}
				c.values = append(c.values, Text(texts[rng.IntN(len(texts))]))
			case KindNumber:
				numbers := []float64{0, 1, -1, 0.1, 1e300, -1e300, 5e-324, 1 << 53, 1<<53 + 2, 20.5, 1e-7,
					float64(rng.IntN(100)), rng.NormFloat64()}
				c.values = append(c.values, Number(numbers[rng.IntN(len(numbers))]))
			case KindBool:
				c.values = append(c.values, Bool(rng.IntN(2) == 0))
			}
		}
		out = append(out, c)
	}
	return out
}

// drawEntries makes items with such columns, some values missing.
func drawEntries(rng *rand.Rand, columns []drawnColumn, n, dim int) []Entry {
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
		e.Fields = map[string]Value{}
		for _, c := range columns {
			if rng.IntN(4) > 0 {
				e.Fields[c.name] = c.values[rng.IntN(len(c.values))]
			}
		}
	}
	return out
}

// drawFilter makes a filter in words, and what it means of an item.
func drawFilter(rng *rand.Rand, columns []drawnColumn, depth int) (text string, means func(Entry) bool) {
	if depth == 0 || rng.IntN(3) == 0 {
		return drawTest(rng, columns)
	}
	a, meansA := drawFilter(rng, columns, depth-1)
	b, meansB := drawFilter(rng, columns, depth-1)
	switch rng.IntN(4) {
	case 0:
		return "(" + a + ") and (" + b + ")", func(e Entry) bool { return meansA(e) && meansB(e) }
	case 1:
		return "(" + a + ")OR(" + b + ")", func(e Entry) bool { return meansA(e) || meansB(e) }
	case 2:
		return "not (" + a + ")", func(e Entry) bool { return !meansA(e) }
	}
	// Without brackets: not before and before or.
	x, meansX := drawTest(rng, columns)
	y, meansY := drawTest(rng, columns)
	z, meansZ := drawTest(rng, columns)
	return "not " + x + " and " + y + " or " + z + " and not " + x, func(e Entry) bool {
		return !meansX(e) && meansY(e) || meansZ(e) && !meansX(e)
	}
}

// drawTest makes one test.
func drawTest(rng *rand.Rand, columns []drawnColumn) (text string, means func(Entry) bool) {
	c := drawnColumn{name: "id", kind: KindText}
	value := func(e Entry) Value { return Text(e.ID) }
	switch k := rng.IntN(len(columns) + 2); {
	case k < len(columns):
		c = columns[k]
		value = func(e Entry) Value { return e.Fields[c.name] }
	case k == len(columns):
		c.values = []Value{Text("item 00100"), Text("item 00399"), Text("")}
	default:
		c.name, c.values = "path", []Value{Text("p/7.jpg"), Text("p/10.jpg"), Text("q")}
		value = func(e Entry) Value { return textOrMissing(e.Path) }
	}
	name := "`" + c.name + "`"
	some := func() Value { return c.values[rng.IntN(len(c.values))] }
	there := func(e Entry) bool { return value(e) != Value{} }
	switch k := rng.IntN(9); {
	case k == 0:
		return name + " is missing", func(e Entry) bool { return !there(e) }
	case k == 1:
		return name + " is not missing", there
	case k == 2 && c.kind == KindBool:
		return name, func(e Entry) bool { return value(e) == Bool(true) }
	case k <= 4:
		var list []Value
		var words []string
		for range 1 + rng.IntN(4) {
			list = append(list, some())
			words = append(words, literal(list[len(list)-1], rng))
		}
		in := "(" + strings.Join(words, ",") + ")"
		if k == 3 {
			return name + " in " + in, func(e Entry) bool { return slices.Contains(list, value(e)) }
		}
		return name + " not in " + in, func(e Entry) bool { return there(e) && !slices.Contains(list, value(e)) }
	}
	v := some()
	less := func(a, b Value) bool {
		if c.kind == KindText {
			return a.text < b.text
		}
		return a.number < b.number
	}
	signs := []string{"=", "!=", "<", "<=", ">", ">="}
	if c.kind == KindBool {
		signs = signs[:2]
	}
	sign := signs[rng.IntN(len(signs))]
	return name + sign + literal(v, rng), func(e Entry) bool {
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
func literal(v Value, rng *rand.Rand) string {
	switch v.kind {
	case KindNumber:
		if rng.IntN(2) == 0 {
			return strconv.FormatFloat(v.number, 'e', -1, 64)
		}
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	case KindBool:
		return strconv.FormatBool(v.number != 0)
	}
	quote := []string{`"`, `'`}[rng.IntN(2)]
	return quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(v.text) + quote
}

// stir does something to an index and to the map, and returns the index, which may have
// been opened again.
func stir(t *testing.T, x *Index, m model, columns []drawnColumn, rng *rand.Rand) *Index {
	t.Helper()
	known := len(x.Info().Columns) == len(columns) // a column that no item has had is not
	switch k := rng.IntN(8); {
	case k == 0 && known:
		text, means := drawFilter(rng, columns, 3)
		f, err := ParseFilter(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		before := len(m)
		maps.DeleteFunc(m, func(_ string, e Entry) bool { return means(e) })
		if n, err := x.RemoveWhere(t.Context(), f); err != nil || n != before-len(m) {
			t.Fatalf("%s: removed %d, %v; want %d", text, n, err, before-len(m))
		}
	case k == 1:
		if err := x.Compact(t.Context(), CompactOptions{Lists: -1}); err != nil {
			t.Fatal(err)
		}
	case k == 2 && len(m) >= 40:
		if err := x.Compact(t.Context(), CompactOptions{Lists: 1 + rng.IntN(12)}); err != nil {
			t.Fatal(err)
		}
	case k == 3:
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		y, err := (&Index{dir: x.dir, sizes: small()}).open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { y.Close() })
		return y
	default:
		e := drawEntries(rng, columns, 1+rng.IntN(2*small().bulk), x.dim)
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
		x := createSmall(t, Config{Dim: 1 + rng.IntN(40), Distance: rank.Distance(rng.IntN(3))})
		m := model{}
		columns := drawColumns(rng)
		for range 12 {
			x = stir(t, x, m, columns, rng)
			for range 4 {
				if len(x.Info().Columns) < len(columns) {
					break
				}
				text, means := drawFilter(rng, columns, rng.IntN(5))
				f, err := ParseFilter(text)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				q := randomQuery(x, m, rng)
				q.Filter = f
				found(t, x, m, q, means)
			}
		}
		n := 0
		for e, err := range x.All() {
			if err != nil || !same(e, m[e.ID]) {
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
