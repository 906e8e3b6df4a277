package objective

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

func TestStepStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	e := matrix.New(120, 8)
	labels := make([]int64, e.Rows)
	for i := range labels {
		labels[i] = int64(i % 6)
		for j := range e.Row(i) {
			e.Row(i)[j] = float32(rng.NormFloat64())
		}
	}
	var triplets [][3]int32
	for i := range int32(100) {
		triplets = append(triplets, [3]int32{i, i + 6, i + 7})
	}
	for _, c := range []struct {
		name    string
		options map[string]any
		loops   int
	}{
		{"triplet", map[string]any{"loss": "triplet"}, 1},
		{"trimmed", map[string]any{"loss": "margin", "trim": 0.1}, 2},
		{"of two passes", map[string]any{"loss": "lifted"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := ParseFlat(c.options)
			if err != nil {
				t.Fatal(err)
			}
			o.Normalize = true
			ctxtest.CheckStops(t, c.loops*e.Rows, func(ctx context.Context) error {
				obj, err := New(o)
				if err != nil {
					t.Fatal(err)
				}
				_, err = obj.Step(ctx, e, Batch{Labels: labels}, matrix.New(e.Rows, e.Cols))
				return err
			})
		})
	}
	ctxtest.CheckStops(t, e.Rows, func(ctx context.Context) error {
		obj, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = obj.StepTriplets(ctx, e, nil, triplets, nil)
		return err
	})
}
