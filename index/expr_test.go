package index

import (
	"fmt"
	"testing"
)

func TestExpr(t *testing.T) {
	f, err := ParseFilter(`(price < 20 or not sold) and kind in ("a", "b") and x is missing and y is not missing and ` +
		`z != true and kind not in ("c") and a = 1 and b <= 2 and c > 3 and d >= 4`)
	if err != nil {
		t.Fatal(err)
	}
	have := fmt.Sprint(f.Expr())
	want := `[[{price < [20]} {{sold is true []}}] {kind in [a b]} {x is missing []} {y is not missing []} ` +
		`{z != [true]} {kind not in [c]} {a = [1]} {b <= [2]} {c > [3]} {d >= [4]}]`
	if have != want {
		t.Errorf("%s\nwant\n%s", have, want)
	}
	if (*Filter)(nil).Expr() != nil {
		t.Error("no filter has parts")
	}
}
