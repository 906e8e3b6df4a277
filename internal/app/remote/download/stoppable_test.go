package download

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestStoppable(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := NewContextReader(ctx, strings.NewReader("xy"))
	if n, err := r.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
