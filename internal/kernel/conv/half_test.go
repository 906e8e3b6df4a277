package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
)

// operands draws values that a workspace's arithmetic multiplies exactly.
func operands(ws *Workspace, rnd *rand.Rand, n int) []float32 {
	v := normals(rnd, n)
	for i := range v {
		if ws.BFloat16 {
			v[i] = bf16.ToFloat(bf16.FromFloat(v[i]))
		}
	}
	return v
}

// eachHalfLevel runs f at every level of bfloat16; those that the machine lacks are
// skipped by name.
func eachHalfLevel(t *testing.T, f func(t *testing.T)) {
	for l := bf16.Generic; l <= bf16.AMX; l++ {
		t.Run(l.String(), func(t *testing.T) {
			defer bf16.Force(l)()
			if bf16.Active() != l {
				t.Skipf("the machine has no %v", l)
			}
			f(t)
		})
	}
}

func TestHalfShapes(t *testing.T) {
	eachHalfLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(18, 8))
		ws := &Workspace{BFloat16: true}
		for i := range shapes {
			modes := []int{0, 3, 16, 15, 24, 67}
			if _, _, ny := shapes[i].Len(); ny*shapes[i].C/shapes[i].Groups > 1e4 {
				modes = []int{47, 16}
			}
			for _, mode := range modes {
				if shapes[i].N > 0 || mode&16 == 0 {
					checkShape(t, rnd, ws, &shapes[i], mode)
				}
			}
		}
	})
}
