package pages

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
)

func TestFieldStops(t *testing.T) {
	ctxtest.CheckStops(t, 50, func(ctx context.Context) error {
		_, err := Field(ctx, FieldOptions{Losses: []string{"first"}, Gammas: []float64{0.5}, Entangle: []float64{0.4},
			Grid: 20}, t.TempDir(), func(string, int, int) {})
		return err
	})
}

// Stages that take minutes when left alone end at the look that finds the context
// done, wherever that is.
func TestLongStagesStop(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	quiet := func(string, int, int) {}
	r := &NoiseResult{}
	for name, compute := range map[string]func(ctx context.Context) error{
		"noise": func(ctx context.Context) error {
			_, err := Noise(ctx, NoiseOptions{}, t.TempDir(), quiet)
			return err
		},
		"claims": func(ctx context.Context) error {
			_, err := noiseFirst(ctx, r, func(stage string) error { return stageError(ctx, stage) })
			return err
		},
		"conditions": func(ctx context.Context) error {
			return noiseCases(ctx, r, NoiseOptions{}, func(stage string) error { return stageError(ctx, stage) })
		},
		"isometry": func(ctx context.Context) error {
			_, err := Isometry(ctx, IsometryOptions{}, t.TempDir(), quiet)
			return err
		},
		"toy": func(ctx context.Context) error {
			_, _, err := new(IsometryResult).toyFigure(ctx, 1)
			return err
		},
	} {
		for _, at := range []int{0, 1, 100, 1500} {
			ctx := ctxtest.NewCountdown(at)
			if err := compute(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, cancelled after %d looks: error %v", name, at, err)
			}
			if more := ctx.Calls() - at; more > 20 {
				t.Errorf("%s, cancelled after %d looks: went on for %d more", name, at, more)
			}
		}
	}
}
