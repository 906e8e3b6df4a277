package isometry

import (
	"context"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
)

func TestLongFunctionsStop(t *testing.T) {
	plane := Set{Dim: 2, X: []float64{0, 0, 1.6, 0.4, 0.5, 1.7, 1.3, 1.2, 2.6, 1.9, 2.3, 0.2},
		Class: []int{0, 0, 0, 1, 1, 1}}
	line := Set{Dim: 1, X: []float64{0, 2, 1, 20, 22, 21}, Class: []int{0, 0, 1, 2, 2, 3}}
	for _, c := range []struct {
		name    string
		atLeast int
		compute func(ctx context.Context) error
	}{
		{"NearestTS", 100, func(ctx context.Context) error {
			_, err := NearestTS(ctx, plane, Options{Starts: 3, Steps: 10})
			return err
		}},
		{"NearestTS on the line", 48, func(ctx context.Context) error {
			_, err := NearestTS(ctx, line, Options{})
			return err
		}},
		{"NearestHaus", 2 * 50, func(ctx context.Context) error {
			_, err := NearestHaus(ctx, plane, Options{Starts: 2, Steps: 50})
			return err
		}},
		{"Line", 48, func(ctx context.Context) error {
			_, _, err := Line(ctx, line)
			return err
		}},
		{"Repair", 40, func(ctx context.Context) error {
			_, err := Repair(ctx, plane)
			return err
		}},
		{"CollapseOf", 40 + 72 + 3*20, func(ctx context.Context) error {
			_, err := CollapseOf(ctx, 12, 3, 2, 20, 1)
			return err
		}},
		{"Survey", 200, func(ctx context.Context) error {
			_, err := Survey{Random: 6, Searches: 3, Steps: 2}.Run(ctx, func(int) {})
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) { ctxtest.CheckStops(t, c.atLeast, c.compute) })
	}
}
