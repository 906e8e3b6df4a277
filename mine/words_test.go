package mine

import "testing"

// Every policy has words of its own.
func TestWords(t *testing.T) {
	seen := map[string]bool{}
	take := func(name, words string) {
		if words == name || len(words) < 10 || seen[words] {
			t.Errorf("%s: %q", name, words)
		}
		seen[words] = true
	}
	for i, name := range PositiveNames() {
		take(name, Positive(i).Words())
	}
	for i, name := range NegativeNames() {
		take(name, Negative(i).Words())
	}
}
