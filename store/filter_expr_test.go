package store

import "testing"

func TestExpr(t *testing.T) {
	f, err := ParseFilter(`(price < 20 or not sold) and kind in ("a", "b") and x IS missing and y is not missing and ` +
		`z != true and kind not in ('c') and a = 1 and b <= 2 and c > 3 or d >= -4`)
	if err != nil {
		t.Fatal(err)
	}
	want := "(((`price` < 20 or not `sold`) and `kind` in (\"a\", \"b\") and `x` is missing and " +
		"`y` is not missing and `z` != true and `kind` not in (\"c\") and " +
		"`a` = 1 and `b` <= 2 and `c` > 3) or `d` >= -4)"
	if have := parenthesised(f.Expr()); have != want {
		t.Errorf("%s\nwant\n%s", have, want)
	}
	if f = nil; f.Expr() != nil || f.String() != "" || f.Check(nil) != nil || !f.Match(&samples()[0]) {
		t.Error("no filter lets all pass")
	}
}
