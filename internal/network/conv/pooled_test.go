package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

var pooledShapes = []Shape{
	{N: 3, H: 64, W: 60, C: 3, K: 64, R: 7, S: 7, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3},
	{N: 17, H: 8, W: 12, C: 5, K: 7, R: 5, S: 3, StrideH: 1, StrideW: 1, PadH: 2, PadW: 1},
	{N: 1, H: 64, W: 300, C: 40, K: 33, R: 1, S: 1, StrideH: 1, StrideW: 1},
	{N: 2, H: 4, W: 4, C: 16, K: 16, R: 3, S: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1},
	{N: 1, H: 3, W: 3, C: 9, K: 1, R: 2, S: 2, StrideH: 1, StrideW: 1},
	{N: 2, H: 40, W: 700, C: 4, K: 96, R: 4, S: 4, StrideH: 1, StrideW: 1, PadH: 1, EndH: 1, PadW: 1, EndW: 1},
	{N: 0, H: 8, W: 8, C: 4, K: 4, R: 5, S: 5, StrideH: 1, StrideW: 1, PadH: 2, PadW: 2},
}

// A pool in the same pass has the bits of one after it, for any number of cores, and is
// the maximum of each window that lies within the image.
func TestPooledConvolution(t *testing.T) {
	eachHalfLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(8, 9))
		for i, s := range pooledShapes {
			s.Groups = 1
			if !s.CanPool() {
				t.Fatalf("%+v is not pooled", s)
			}
			nx, nw, ny := s.Len()
			ws := &Workspace{BFloat16: i%2 == 0}
			x, w := operands(ws, rnd, nx), operands(ws, rnd, nw)
			if nx > 200 {
				x[77], x[nx/2] = float32(math.NaN()), float32(math.Inf(-1))
			}
			plain := Epilogue{Scale: normals(rnd, s.K), Shift: normals(rnd, s.K), Filters: &Filters{}, ReLU: i == 0}
			if i == 1 {
				plain.Act = func(y []float32) { simd.Scale(y, -2, y) }
			}
			y := make([]float32, ny)
			Forward(ws, &s, x, w, y, &plain)
			want := make([]float32, s.pooledLen())
			pooledByHand(t, &s, y, want)
			e := plain
			e.Pool = true
			for _, procs := range []int{1, 2, 5} {
				t.Run(fmt.Sprintf("%d/%d", i, procs), func(t *testing.T) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					fresh, got := &Workspace{BFloat16: ws.BFloat16}, make([]float32, len(want))
					Forward(fresh, &s, x, w, got, &e)
					same(t, &s, "pooled output", want, got)
					if !s.UsesBFloat16() || !ws.BFloat16 {
						return
					}
					half, got := s, make([]float32, (len(want)+1)/2)
					half.Half = Halves{X: true, Y: true}
					Forward(fresh, &half, halves(x), w, got, &e)
					same(t, &s, "pooled output in bfloat16", halves(want), got)
				})
			}
		}
	})
}

// pooledByHand pools what s makes, and compares it with the definition.
func pooledByHand(t *testing.T, s *Shape, y, want []float32) {
	t.Helper()
	h, w := s.OutH(), s.OutW()
	line := w * s.K
	th := simd.MaxPool3{Line: line, C: s.K}
	room := make([]float32, th.ScratchLen())
	for row := range s.N * h / 2 {
		n, p := row/(h/2), row%(h/2)
		th.X, th.Top = y[(n*h+max(2*p-1, 0))*line:], p == 0
		th.Max(want[row*line/2:(row+1)*line/2], room)
		for i := range line / 2 {
			q, k := i/s.K, i%s.K
			most := math.Inf(-1)
			for r := max(0, 2*p-1); r <= 2*p+1; r++ {
				for c := max(0, 2*q-1); c <= 2*q+1; c++ {
					most = max(most, float64(y[((n*h+r)*w+c)*s.K+k])) // NaN wins
				}
			}
			if got := float64(want[row*line/2+i]); got != most && !(math.IsNaN(got) && math.IsNaN(most)) {
				t.Fatalf("%+v: maximum %d of row %d is %g, want %g", *s, i, row, got, most)
			}
		}
	}
}

func TestPoolNeedsEvenOutputs(t *testing.T) {
	for _, s := range []Shape{
		{N: 1, H: 7, W: 8, C: 3, K: 4, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1},
		{N: 1, H: 8, W: 7, C: 3, K: 4, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1},
		{N: 1, H: 8, W: 8, C: 4, K: 4, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 2},
		{N: 1, H: 8, W: 8, C: 4, K: 4, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1},
	} {
		nx, nw, _ := s.Len()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is pooled", s)
				}
			}()
			Forward(&Workspace{}, &s, make([]float32, nx), make([]float32, nw), make([]float32, s.pooledLen()),
				&Epilogue{Pool: true})
		}()
	}
}
