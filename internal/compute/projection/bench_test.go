package projection

import (
	"context"
	"fmt"
	"testing"
)

// The spreads are those of finished maps: 10,000 points fill a box of 150,
// 60,000 one of 250.
func BenchmarkRepulsion(b *testing.B) {
	for _, c := range []struct {
		n      int
		spread float64
	}{{10000, 20}, {60000, 30}} {
		y := randomPoints(c.n, c.spread, 1)
		out := make(points, len(y))
		if c.n <= 10000 {
			b.Run(fmt.Sprintf("pairs-n%d", c.n), func(b *testing.B) {
				r := &exactRepulsion{}
				for b.Loop() {
					_, _ = r.repel(b.Context(), y, out)
				}
			})
		}
		b.Run(fmt.Sprintf("field-n%d", c.n), func(b *testing.B) {
			r := &fieldRepulsion{}
			for b.Loop() {
				_, _ = r.repel(b.Context(), y, out)
			}
			b.ReportMetric(float64(r.m), "side")
		})
	}
}

func BenchmarkAttraction(b *testing.B) {
	x := drawBlobs(10000, 16, 10, 1)
	nb, err := findNeighbours(context.Background(), x, 91)
	if err != nil {
		b.Fatal(err)
	}
	a, err := computeAffinities(b.Context(), nb, x.Rows, 30)
	if err != nil {
		b.Fatal(err)
	}
	y, out := randomPoints(x.Rows, 20, 1), make(points, 2*x.Rows)
	for b.Loop() {
		a.attract(y, out)
	}
	b.ReportMetric(float64(len(a.col)), "entries")
}
