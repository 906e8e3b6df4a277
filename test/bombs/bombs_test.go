package bombs

import "testing"

func TestX(t *testing.T) {
	for _, f := range Files() {
		t.Log(f.Name, len(f.Make()))
	}
}
