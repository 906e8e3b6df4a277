package conv

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkConv(b *testing.B) {
	same := func(n, hw, c, k, r, stride int) Shape {
		return Shape{N: n, H: hw, W: hw, C: c, K: k, R: r, S: r, StrideH: stride, StrideW: stride, PadH: r / 2,
			PadW: r / 2, Groups: 1}
	}
	valid := func(n, hw, c, k, r int) Shape {
		return Shape{N: n, H: hw, W: hw, C: c, K: k, R: r, S: r, StrideH: 1, StrideW: 1, Groups: 1}
	}
	for _, c := range []struct {
		name string
		s    Shape
	}{
		{"mnist-1-32", valid(128, 28, 1, 32, 3)}, {"mnist-32-64", valid(128, 26, 32, 64, 3)},
		{"conv4-40-1-64", same(112, 40, 1, 64, 3, 1)}, {"conv4-20-64-64", same(112, 20, 64, 64, 3, 1)},
		{"conv4-10-64-64", same(112, 10, 64, 64, 3, 1)}, {"conv4-5-64-64", same(112, 5, 64, 64, 3, 1)},
		{"resnet-224-3-64-7s2", same(16, 224, 3, 64, 7, 2)}, {"resnet-56-64-64", same(16, 56, 64, 64, 3, 1)},
		{"resnet-56-64-128-s2", same(16, 56, 64, 128, 3, 2)}, {"resnet-28-128-128", same(16, 28, 128, 128, 3, 1)},
		{"resnet-14-256-256", same(16, 14, 256, 256, 3, 1)}, {"resnet-7-512-512", same(16, 7, 512, 512, 3, 1)},
		{"resnet-56-256-64-1", same(16, 56, 256, 64, 1, 1)}, {"resnet-56-64-256-1", same(16, 56, 64, 256, 1, 1)},
		{"resnet-14-1024-256-1", same(16, 14, 1024, 256, 1, 1)}, {"resnet-7-512-2048-1", same(16, 7, 512, 2048, 1, 1)},
		{"resnet-56-256-512-1s2", same(16, 56, 256, 512, 1, 2)},
		{"mobilenet-56-144-dw", Shape{N: 16, H: 56, W: 56, C: 144, K: 144, R: 3, S: 3, StrideH: 1, StrideW: 1, PadH: 1,
			PadW: 1, Groups: 144}},
	} {
		s := &c.s
		nx, nw, ny := s.Len()
		rnd := rand.New(rand.NewPCG(1, 1))
		x, w, y := normals(rnd, nx), normals(rnd, nw), normals(rnd, ny)
		ws, half := &Workspace{}, &Workspace{BFloat16: true}
		e := &Epilogue{Moments: &Moments{make([]float32, s.K), make([]float32, s.K)}}
		flop := 2 * float64(ny) * float64(s.R*s.S*s.C/s.Groups)
		for _, p := range []struct {
			name string
			run  func()
		}{
			{"forward", func() { Forward(ws, s, x, w, y, nil) }},
			{"moments", func() { Forward(ws, s, x, w, y, e) }},
			{"data", func() { BackwardData(ws, s, y, w, x, false) }},
			{"weights", func() { BackwardWeights(ws, s, x, y, w, false) }},
			{"bf16-forward", func() { Forward(half, s, x, w, y, nil) }},
			{"bf16-data", func() { BackwardData(half, s, y, w, x, false) }},
			{"bf16-weights", func() { BackwardWeights(half, s, x, y, w, false) }},
		} {
			b.Run(c.name+"/"+p.name, func(b *testing.B) {
				for b.Loop() {
					p.run()
				}
				b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				clear(x)
				clear(y)
				clear(w)
			})
		}
	}
}
