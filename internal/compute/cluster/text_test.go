package cluster

import (
	"encoding"
	"testing"
)

func TestOptionsAsText(t *testing.T) {
	type text interface {
		encoding.TextMarshaler
		String() string
	}
	for name, v := range map[string]text{"k-means++": PlusPlus, "random": Random, "arithmetic": Arithmetic,
		"geometric": Geometric} {
		b, err := v.MarshalText()
		if err != nil || string(b) != name || v.String() != name {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	var i Init
	var m Mean
	if i.UnmarshalText([]byte("random")) != nil || i != Random || m.UnmarshalText([]byte("geometric")) != nil ||
		m != Geometric {
		t.Errorf("read %v and %v", i, m)
	}
	if i.UnmarshalText([]byte("plusplus")) == nil || m.UnmarshalText(nil) == nil || i != Random || m != Geometric {
		t.Errorf("unknown names were read as %v and %v", i, m)
	}
	if _, err := Init(2).MarshalText(); err == nil {
		t.Error("a start that there is not was written")
	}
	if _, err := Mean(-1).MarshalText(); err == nil {
		t.Error("a mean that there is not was written")
	}
}
