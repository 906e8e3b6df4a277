package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
)

// pictureConfig is a run of one step on so many small images, by a network with what
// depends on an image's place in the batch: dropout and stochastic depth.
func pictureConfig(t *testing.T, n int, frozenNorm bool) Config {
	t.Helper()
	const side = 12
	rng := rand.New(rand.NewPCG(5, 5))
	x, labels := matrix.New(n, side*side*3), make([]int64, n)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	for i := range labels {
		labels[i] = int64(i % 5)
	}
	spec := &nn.Spec{Input: nn.Shape{H: side, W: side, C: 3}, Layers: []nn.Layer{
		{Kind: nn.Conv, Name: "conv1", Out: 16, Kernel: 3, Pad: 1}, {Kind: nn.BatchNorm, Name: "norm1"},
		{Kind: nn.ReLU},
		{Kind: nn.Residual, Layers: []nn.Layer{
			{Kind: nn.Conv, Name: "conv2", Out: 16, Kernel: 3, Pad: 1}, {Kind: nn.BatchNorm, Name: "norm2"},
			{Kind: nn.ReLU}, {Kind: nn.StochasticDepth, Rate: 0.4},
		}},
		{Kind: nn.GlobalAvgPool}, {Kind: nn.Dropout, Rate: 0.3}, {Kind: nn.Dense, Name: "out", Out: 6},
		{Kind: nn.L2Normalize},
	}}
	net, err := nn.New(spec, nn.Options{Seed: 1, FrozenNorm: frozenNorm})
	if err != nil {
		t.Fatal(err)
	}
	obj, err := objective.New(objective.Options{Classes: 5, Dim: 6})
	if err != nil {
		t.Fatal(err)
	}
	draw, err := sample.NewBalanced(labels, sample.BalancedConfig{Classes: 5, PerClass: n / 5, Batches: 1, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	opt, err := NewOptimizer(OptimizerConfig{Rate: 0.01}, Params(net, obj))
	if err != nil {
		t.Fatal(err)
	}
	return Config{Network: net, Data: Rows{X: x}, Labels: labels, Sampler: draw, Objective: obj, Optimizer: opt,
		Epochs: 1}
}

func gradients(net Network) map[string][]float32 {
	all := map[string][]float32{}
	for _, p := range net.Params() {
		all[p.Name] = slices.Clone(p.Grad)
	}
	return all
}

// TestChunkIsTheWholeStep: where batch norm keeps its statistics, a step in pieces
// has the loss of the whole batch to the bit and its gradients but for rounding,
// whatever the pieces.
func TestChunkIsTheWholeStep(t *testing.T) {
	const n = 60
	whole := pictureConfig(t, n, true)
	want, err := Loop(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	grads := gradients(whole.Network)
	for _, chunk := range []int{1, 7, 20, 32, 59, 60, 1000} {
		cfg := pictureConfig(t, n, true)
		cfg.MicroBatch = chunk
		got, err := Loop(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		a, b := want.History[0].Totals, got.History[0].Totals
		if a.Loss != b.Loss {
			t.Errorf("chunk %d: loss %v, of the whole batch %v", chunk, b.Loss, a.Loss)
		}
		for _, p := range cfg.Network.Params() {
			var diff, size float64
			for i, g := range p.Grad {
				w := float64(grads[p.Name][i])
				diff, size = diff+(float64(g)-w)*(float64(g)-w), size+w*w
			}
			if diff > 1e-12*size || chunk >= n && diff != 0 {
				t.Errorf("chunk %d: the gradient of %s is off by %g of its norm", chunk, p.Name, math.Sqrt(diff/size))
			}
		}
		if s := cfg.Network.(*nn.Net).Step(); s != 1 {
			t.Errorf("chunk %d: %d steps counted", chunk, s)
		}
	}
}

// TestChunkOfBatchStatistics: batch norm takes the statistics of each piece, and
// the running ones move once with each, not again on the second pass.
func TestChunkOfBatchStatistics(t *testing.T) {
	cfg := pictureConfig(t, 20, false)
	cfg.MicroBatch = 10
	byHand := pictureConfig(t, 20, false)
	if _, err := Loop(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	net := byHand.Network.(*nn.Net)
	for b := range byHand.Data.Epoch(t.Context(), 0, byHand.Sampler.Epoch()) {
		size := len(b.X) / 20
		net.ForwardMicroBatch(b.X[:10*size], 10, 0, false)
		net.ForwardMicroBatch(b.X[10*size:], 10, 10, false)
	}
	for i, p := range cfg.Network.Params() {
		if q := net.Params()[i]; p.Buffer && !slices.Equal(p.Value, q.Value) {
			t.Errorf("%s is %v, after each piece once %v", p.Name, p.Value, q.Value)
		}
	}
}

// TestChunkGoesOn: a run in pieces goes on from every checkpoint to the same bits,
// on any number of cores.
func TestChunkGoesOn(t *testing.T) {
	make4 := func() Config {
		cfg := small(t, 3)
		cfg.MicroBatch = 4 // of batches of 6
		return cfg
	}
	var w written
	whole := make4()
	whole.Store = &w
	want, err := Loop(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	for k, file := range w.files {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1 + k%3))
		cfg := make4()
		cfg.Resume = reread(t, file)
		got, err := Loop(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		sameRun(t, fmt.Sprint("from checkpoint ", k), whole.Network, cfg.Network, want.History, got.History)
	}
}

// TestChunkMemory: a batch of 800 in pieces of 20 takes little more than a batch
// of 20 does, and much less than at once.
func TestChunkMemory(t *testing.T) {
	taken := func(n, chunk int) uint64 {
		cfg := pictureConfig(t, n, true)
		cfg.MicroBatch = chunk
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Loop(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	const image = 12 * 12 * 3 * 4
	piece, pieces, whole := taken(20, 0), taken(800, 20), taken(800, 0)
	t.Logf("%d bytes for a piece alone, %d for 40 of them, %d for the batch at once", piece, pieces, whole)
	// Beside the samples of the batch: similarities of all pairs, their gradients.
	if most := piece + 800*image + 24*800*800; pieces > most {
		t.Errorf("%d bytes in pieces; one alone takes %d", pieces, piece)
	}
	if pieces > whole/4 {
		t.Errorf("%d bytes in pieces, %d at once", pieces, whole)
	}
}

func TestChunkMistakes(t *testing.T) {
	cfg := small(t, 1)
	cfg.MicroBatch = -1
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "MicroBatch is -1") {
		t.Errorf("negative: %v", err)
	}
	cfg = small(t, 1)
	cfg.MicroBatch, cfg.Network = 4, struct{ Network }{cfg.Network}
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "ForwardMicroBatch") {
		t.Errorf("a network without pieces: %v", err)
	}
	// What is not finite is found in the piece that holds it.
	cfg = pictureConfig(t, 20, true)
	cfg.MicroBatch = 4
	rows := cfg.Data.(Rows).X
	for i := range rows.Rows {
		rows.Row(i)[7] = float32(math.NaN())
	}
	if _, err := Loop(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "the input holds NaN") {
		t.Errorf("a piece that is not finite: %v", err)
	}
}
