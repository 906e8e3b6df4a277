package eval

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

func TestRunStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	x := matrix.New(600, 5)
	labels := make([]int64, x.Rows)
	for i := range labels {
		labels[i] = int64(i % 15)
		for j := range x.Row(i) {
			x.Row(i)[j] = float32(i%15+j)/10 + rng.Float32()
		}
	}
	ctxtest.CheckStops(t, 15*20+600+1000, func(ctx context.Context) error {
		_, err := Diagnose(ctx, DiagnosisInput{X: x, Labels: labels}, DiagnosisOptions{})
		return err
	})
	ctxtest.CheckStops(t, 15*20+600, func(ctx context.Context) error {
		_, err := Diagnose(ctx, DiagnosisInput{X: x, Labels: labels},
			DiagnosisOptions{Distance: Cosine, Anchors: 50, PerClass: 20})
		return err
	})
}

// The library's decomposition cannot be stopped; what waits for it can.
func TestEigenvaluesAreNotWaitedFor(t *testing.T) {
	x := matrix.New(700, 600)
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := spectrum(ctx, x); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}
