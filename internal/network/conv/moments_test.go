package conv

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// TestMomentsOfSplitChunks has the parts of each chunk, which measure different
// channels, run at the same time with nothing to order them. What they share
// must have been written before: the race detector (`make race`) sees to that,
// the values are checked here.
func TestMomentsOfSplitChunks(t *testing.T) {
	s := &Shape{N: 1, H: 7, W: 7, C: 16, K: 256, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1}
	nx, nw, ny := s.Len()
	rnd := rand.New(rand.NewPCG(11, 11))
	x, w, y := normals(rnd, nx), normals(rnd, nw), make([]float32, ny)
	ws := &Workspace{}
	l := ws.layout(s.forward(0))
	if l.split < 2 {
		t.Fatalf("%d chunks in %d parts: this shape does not split", l.chunks, l.split)
	}
	panels := ws.pack(l, packer{w: w, depth: s.R * s.S * s.C, cols: s.K})
	moments := ws.chunkMoments(l)
	var all sync.WaitGroup
	for i := range l.chunks * l.split {
		// A scratch of its own: the lock of a common one would order the parts.
		part := product{layout: l, src: x, dst: y, panels: panels, moments: moments, scratch: new(par.Scratch)}
		all.Go(func() { part.Run(i) })
	}
	all.Wait()
	m := &Moments{make([]float32, s.K), make([]float32, s.K)}
	merge(moments, m, 0)
	checkMoments(t, "split", y, s.K, m)
}
