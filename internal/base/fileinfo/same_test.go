package fileinfo

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestSameContent(t *testing.T) {
	long := strings.Repeat("x", 16<<10)
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"", "", true}, {"a", "a", true}, {"a", "b", false}, {"", "a", false}, {long, long, true},
		{long, long + "y", false}, {long + "y", long + "y", true}, {long + "y", long + "z", false},
	} {
		if got := SameContent(strings.NewReader(c.a), iotest.OneByteReader(strings.NewReader(c.b))); got != c.same {
			t.Errorf("%.5q of %d and %.5q of %d: %v", c.a, len(c.a), c.b, len(c.b), got)
		}
	}
	broken := func() io.Reader {
		return io.MultiReader(strings.NewReader("a"), iotest.ErrReader(errors.New("broken")))
	}
	if SameContent(broken(), broken()) || SameContent(broken(), strings.NewReader("a")) {
		t.Error("files that cannot be read are the same")
	}
}
