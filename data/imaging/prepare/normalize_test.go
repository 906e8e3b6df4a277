package prepare

import "testing"

// FuzzNormalization: what is read has a text that is read as the same.
func FuzzNormalization(f *testing.F) {
	for _, text := range append(Normalizations(), "0.5,0.25,0/1,2,-0.125", "bgr:0.5,0.25,0/1,2,-0.125", "1,1,1/0,1,1") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseNormalization(text)
		if err != nil {
			return
		}
		again, err := ParseNormalization(n.String())
		if err != nil || again.withDefaults() != n.withDefaults() {
			t.Fatalf("%q is %v, whose text %q is read as %v, %v", text, n, n.String(), again, err)
		}
	})
}
