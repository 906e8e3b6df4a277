package data

import (
	"context"
	"fmt"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
)

// A folder tree can take long to go through, over a network above all.
func TestOpenStops(t *testing.T) {
	files := layoutFiles{}
	for i := range 30 {
		files[fmt.Sprintf("class%d/x.png", i)] = nil
	}
	for _, what := range []string{files.folder(t), layoutFiles{"x.zip": files.zip(t)}.folder(t) + "/x.zip"} {
		ctxtest.CheckStops(t, 30, func(ctx context.Context) error {
			d, err := Open(ctx, what, OpenOptions{})
			if err != nil {
				return err
			}
			return d.Close()
		})
	}
}
