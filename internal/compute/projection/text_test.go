package projection

import "testing"

func TestMethodsAsText(t *testing.T) {
	for m, name := range map[Method]string{Auto: "auto", Exact: "exact", Field: "field"} {
		var got Method
		b, err := m.MarshalText()
		if err != nil || string(b) != name || got.UnmarshalText(b) != nil || got != m {
			t.Errorf("%v: %q, %v, read as %v", m, b, err, got)
		}
	}
	m := Field
	if m.UnmarshalText([]byte("fast")) == nil || m != Field {
		t.Errorf("an unknown method was read as %v", m)
	}
	if b, err := Method(3).MarshalText(); err == nil {
		t.Errorf("a method that there is not was written as %q", b)
	}
}
