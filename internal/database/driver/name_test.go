package driver

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

func TestProperty(t *testing.T) {
	seen := map[string]string{}
	word := regexp.MustCompile(`^[tnb]_[_0-9A-Za-z]{1,100}$`)
	for _, name := range []string{"label", "Label", "la_bel", "la bel", "la_20bel", "ä", "a.b", strings.Repeat("ä", 9),
		strings.Repeat("ä", 250), strings.Repeat("ä", 251), "\"", "_", "-"} {
		for _, kind := range []store.Kind{store.Text, store.Number, store.Bool} {
			p := PropertyName(kind, name)
			if was, twice := seen[p]; twice || !word.MatchString(p) {
				t.Errorf("%q is %q, as %q is", name, p, was)
			}
			seen[p] = name
		}
	}
	for name, want := range map[string]string{"price": "n_price", "azAZ09": "n_azAZ09",
		"`{@[/:": "n__60_7b_40_5b_2f_3a", strings.Repeat("a", 98): "n_" + strings.Repeat("a", 98)} {
		if p := PropertyName(store.Number, name); p != want {
			t.Errorf("%q is %q", name, p)
		}
	}
	if p := PropertyName(store.Number, strings.Repeat("a", 99)); len(p) != 3+64 || !strings.HasPrefix(p, "n__") {
		t.Errorf("a longer name is %q", p)
	}
}

func TestUUID(t *testing.T) {
	if a, b := UUID("a"), UUID("b"); a == b || len(a) != 36 || a != UUID("a") || a[14] != '5' {
		t.Error(a, b)
	}
}
