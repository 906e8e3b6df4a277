package noise

import (
	"context"
	"testing"

	"github.com/kindred-ml/kindred/internal/testing/ctxtest"
)

func TestLongFunctionsStop(t *testing.T) {
	m, err := Balanced(2, 3, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	d := must(Minimise(t.Context(), m, Loss{}, Search{Restarts: 1, Iterations: 1}))[0].Distances
	for _, c := range []struct {
		name    string
		atLeast int
		compute func(ctx context.Context) error
	}{
		{"Minimise", 4 * 50, func(ctx context.Context) error {
			_, err := Minimise(ctx, m, Loss{Easy: true}, Search{Restarts: 4, Iterations: 50})
			return err
		}},
		{"MonteCarlo", 20, func(ctx context.Context) error {
			_, _, err := MonteCarlo(ctx, m, Loss{}, d, nil, 10000, 1)
			return err
		}},
		{"CompareModes", 30, func(ctx context.Context) error {
			_, err := CompareModes(ctx, Loss{Easy: true}, 2, 60, 0.8, 0, 0)
			return err
		}},
		{"BestModes", 12, func(ctx context.Context) error {
			_, err := BestModes(ctx, Loss{Easy: true}, 2, 60, 0.8, 0, 0)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) { ctxtest.Stops(t, c.atLeast, c.compute) })
	}
}
