package driver

import (
	"slices"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	a, err := ParseAddress("db://:s%40cret@a:1,[::1]:2,b?tls=true&level=ALL&n=3", "db", "80", "level", "n")
	if err != nil || !slices.Equal(a.Hosts, []string{"a:1", "[::1]:2", "b:80"}) || a.Key != "s@cret" || !a.TLS {
		t.Fatalf("%+v, %v", a, err)
	}
	if v, err := a.ChoiceOption("level", "one", "all"); v != "all" || err != nil {
		t.Error(v, err)
	}
	if v, err := a.ChoiceOption("other", "one", "all"); v != "one" || err != nil {
		t.Error(v, err)
	}
	if _, err := a.ChoiceOption("level", "one"); err == nil {
		t.Error("an invalid level")
	}
	if n, err := a.NumberOption("n", 1, 1, 5); n != 3 || err != nil {
		t.Error(n, err)
	}
	// Bounds are among the numbers.
	for bounds, fits := range map[[2]int]bool{{1, 2}: false, {4, 9}: false, {3, 9}: true, {1, 3}: true} {
		if _, err := a.NumberOption("n", 1, bounds[0], bounds[1]); (err == nil) != fits {
			t.Errorf("3 of %d: %v", bounds, err)
		}
	}
	for port, fits := range map[string]bool{"0": false, "1": true, "65535": true, "65536": false, "-1": false} {
		if _, err := ParseAddress("db://a:"+port, "db", "80"); (err == nil) != fits {
			t.Errorf("port %s: %v", port, err)
		}
	}
	if a, err := ParseAddress("db://key@a/?tls=false", "db", "80"); err != nil || a.Key != "" || a.TLS {
		t.Errorf("a user alone, who is no key: %+v, %v", a, err)
	}
}

func FuzzAddress(f *testing.F) {
	for _, text := range []string{"", "db://", "http://a", "db://a:b", "db://:secret@a:99999", "db://a,,b",
		"db://a?secret=x", "db://a?tls=maybe", "db://:%secret@a", "db://a/b", "db://a?%"} {
		if _, err := ParseAddress(text, "db", "80"); err == nil || strings.Contains(text, ":secret") &&
			strings.Contains(err.Error(), "secret") {
			f.Errorf("%q: %v", text, err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := ParseAddress(text, "db", "80", "n"); err == nil && len(a.Hosts) == 0 {
			t.Errorf("%q has no host", text)
		}
	})
}
