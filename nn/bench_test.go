package nn_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/optim"
)

// setup makes a network, a batch and a gradient of its embeddings.
func setup(tb testing.TB, name string, side, channels, dim, n int) (*nn.Net, []float32, *mat.Dense) {
	tb.Helper()
	spec, err := nn.Network(name, nn.NetworkOptions{Input: nn.Shape{H: side, W: side, C: channels}, Dim: dim, Normalize: true})
	if err != nil {
		tb.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	x, g := make([]float32, n*spec.Input.Len()), mat.New(n, dim)
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
			opt, err := optim.New(optim.Config{Rate: 1e-3}, net.Params())
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
	for _, name := range []string{"mnist", "conv4", "mobilenet_v2"} {
		net, x, g := setup(t, name, 32, 3, 8, 6)
		opt, err := optim.New(optim.Config{ClipNorm: 1}, net.Params())
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
		// With several workers, one may need its first scratch buffer late: a few
		// allocations in all, but none that every step makes.
		const steps = 12
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range steps {
			step()
		}
		runtime.ReadMemStats(&after)
		if n := after.Mallocs - before.Mallocs; n >= steps {
			t.Errorf("%s: %d allocations in %d steps", name, n, steps)
		}
	}
}
