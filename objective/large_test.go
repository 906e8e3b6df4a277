package objective

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// TestLargeBatchMemory: a batch of 16,384 embeddings takes little beside the
// block of similarities, whatever the loss. It is slow, so KINDRED_LARGE asks
// for it.
func TestLargeBatchMemory(t *testing.T) {
	if os.Getenv("KINDRED_LARGE") == "" {
		t.Skip("set KINDRED_LARGE=1 to run steps of 16,384 embeddings")
	}
	e, labels := gaussian(16384, 128, 2048, 1)
	grad := matrix.New(16384, 128)
	for _, name := range []string{"ms", "triplet", "margin"} {
		o := benchOptions()[name]()
		obj, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		debug.FreeOSMemory()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := obj.Step(context.Background(), e, Batch{Labels: labels}, grad); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		const limit = 512 << 20
		grown := after.Sys - before.Sys
		t.Logf("%s: %d MiB allocated, process grew by %d MiB", name, (after.TotalAlloc-before.TotalAlloc)>>20,
			grown>>20)
		if after.TotalAlloc-before.TotalAlloc > limit {
			t.Errorf("%s: a step allocated %d MiB", name, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
	}
}
