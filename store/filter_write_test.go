package store

import "testing"

// What FilterValue and FilterName write is read back as it was.
func TestWrite(t *testing.T) {
	for _, name := range []string{"a", "unit price", "not", "é'\"\\", "`", "", "a`b"} {
		for _, v := range []any{"", "x", `a "b" \ 'c'`, "two\nlines", 0.0, -2.5e-300, 1e21, 0.1, true, false} {
			column, ok := FilterName(name)
			if want := name != "" && name != "`" && name != "a`b"; ok != want {
				t.Errorf("%q can be named: %v", name, ok)
			}
			if !ok {
				continue
			}
			f, err := ParseFilter(column + " in (" + FilterValue(v) + ")")
			if err != nil {
				t.Errorf("%q, %v: %v", name, v, err)
				continue
			}
			e, ok := f.Expr().(*Condition)
			if !ok || e.Column != name || len(e.Values) != 1 || e.Values[0] != v {
				t.Errorf("%q, %v: %+v", name, v, e)
			}
		}
	}
	if FilterValue(nil) != "" {
		t.Error("a missing value is written")
	}
}
