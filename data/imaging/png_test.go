package imaging

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
	"github.com/kindred-ml/kindred/internal/test/hostile"
)

// TestChunks: as many chunks as encoders write are read, and more are refused before they take memory.
func TestChunks(t *testing.T) {
	f := hostile.PNG(formatFile(t, "png-grey.png"))
	root := f.Valid[0]
	end := len(root.Parts) - 1
	with := func(n int, data []byte) []byte {
		all := append([]*hostile.Part{}, root.Parts[:end]...)
		for range n {
			all = append(all, &hostile.Part{Name: "teXt", Data: data})
		}
		return f.Write(&hostile.Part{Parts: append(all, root.Parts[end])})
	}
	for _, c := range []struct {
		n, length int
		ok        bool
	}{{900, 0, true}, {1100, 0, false}, {10_000, 0, false}, {10_000, 300, true}} {
		b := with(c.n, make([]byte, c.length))
		var dec Decoder
		var im Image
		var err error
		taken := budgettest.Allocated(func() { err = dec.Decode(t.Context(), &im, b) })
		if (err == nil) != c.ok || !c.ok && !strings.Contains(err.Error(), "chunks: more than") {
			t.Errorf("%d chunks of %d bytes: %v", c.n, c.length, err)
		}
		if !c.ok && taken > 1<<20 {
			t.Errorf("%d chunks of %d bytes: took %d bytes", c.n, c.length, taken)
		}
	}
}
