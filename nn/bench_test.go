package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/train"
)

// setup makes a network, a batch and a gradient of its embeddings.
func setup(tb testing.TB, name string, side, channels, dim, n int) (*nn.Net, []float32, *matrix.Dense) {
	tb.Helper()
	return setupWith(tb, name, n,
		zoo.Options{Input: nn.Shape{H: side, W: side, C: channels}, Dim: dim, Normalize: true})
}

// setupNarrow is setup on colour images with a quarter of the filters, or two
// blocks of a narrow transformer, some branches left out.
func setupNarrow(tb testing.TB, name string, side, n int) (*nn.Net, []float32, *matrix.Dense) {
	tb.Helper()
	patch := 4
	for side%patch != 0 {
		patch++
	}
	return setupWith(tb, name, n,
		zoo.Options{Input: nn.Shape{H: side, W: side, C: 3}, Dim: 8, Normalize: true, Width: 16, Multiple: 0.25,
			Patch: patch, Depth: 2, Heads: 2, DropPath: 0.3})
}

func setupWith(tb testing.TB, name string, n int, o zoo.Options) (*nn.Net, []float32, *matrix.Dense) {
	tb.Helper()
	spec, err := zoo.Network(name, o)
	if err != nil {
		tb.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	x, g := make([]float32, n*spec.Input.Len()), matrix.New(n, o.Dim)
	for i := range x {
		x[i] = rng.Float32()
	}
	for i := range g.Data {
		g.Data[i] = float32(rng.NormFloat64())
	}
	return net, x, g
}

func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name             string
		side, ch, dim, n int
	}{
		{"mnist", 28, 1, 2, 128},
		{"conv4", 40, 1, 128, 112},
		{"resnet18", 224, 3, 1000, 16},
		{"resnet50", 224, 3, 1000, 16},
		{"mobilenet_v2", 96, 3, 128, 16},
	} {
		b.Run(c.name+"/train", func(b *testing.B) {
			net, x, g := setup(b, c.name, c.side, c.ch, c.dim, c.n)
			opt, err := train.NewOptimizer(train.OptimizerConfig{Rate: 1e-3}, net.Params())
			if err != nil {
				b.Fatal(err)
			}
			run := func() {
				net.Forward(x, c.n)
				net.Backward(g)
				opt.Step()
			}
			measure(b, net, c.n, run)
		})
		b.Run(c.name+"/infer", func(b *testing.B) {
			net, x, _ := setup(b, c.name, c.side, c.ch, c.dim, c.n)
			measure(b, net, c.n, func() { net.Infer(x, c.n) })
		})
	}
}

func measure(b *testing.B, net *nn.Net, n int, run func()) {
	run()
	prof := &nn.Profile{}
	if os.Getenv("KINDRED_LAYERS") != "" {
		net.SetProfile(prof)
	}
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "images/s")
	for _, l := range append(prof.Train, prof.Infer...) {
		if l.Calls == 0 {
			continue
		}
		f, w := l.GFLOPS()
		fmt.Printf("  %-28s %12s  forward %8.3f ms %6.1f GFLOP/s  backward %8.3f ms %6.1f GFLOP/s\n", l.Layer, l.Out,
			l.Forward.Seconds()*1e3/float64(l.Calls), f, l.Backward.Seconds()*1e3/float64(l.Calls), w)
	}
}

// TestNoAllocation holds that a training step, its optimizer and an evaluation
// allocate nothing once their buffers exist, on one core and on all.
func TestNoAllocation(t *testing.T) {
	for _, name := range []string{"mnist", "conv4", "resnet18", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0",
		"convnext_tiny", "vit_s14", "clip_vit_b16"} {
		net, x, g := setupNarrow(t, name, 32, 6)
		opt, err := train.NewOptimizer(train.OptimizerConfig{ClipNorm: 1}, net.Params())
		if err != nil {
			t.Fatal(err)
		}
		step := func() {
			net.Forward(x, 6)
			net.Backward(g)
			opt.Step()
			net.Infer(x, 6)
		}
		for range 10 {
			step()
		}
		if n := testing.AllocsPerRun(5, step); n > 0 {
			t.Errorf("%s: %v allocations per step on one core", name, n)
		}
		// With several workers, one that comes late needs a scratch buffer or a
		// job of its own now and then; what every step allocates shows in all
		// rounds.
		const steps, rounds = 12, 5
		least := uint64(math.MaxUint64)
		for range rounds {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range steps {
				step()
			}
			runtime.ReadMemStats(&after)
			if least = min(least, after.Mallocs-before.Mallocs); least < steps {
				break
			}
		}
		if least >= steps {
			t.Errorf("%s: %d allocations in %d steps, %d times", name, least, steps, rounds)
		}
	}
}
