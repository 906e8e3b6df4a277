package train

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
)

// small is a run of milliseconds with every kind of state in play: dropout, batch
// norm, a learned parameter of the loss, a memory of embeddings. Each call makes
// it anew.
func small(t testing.TB, epochs int) Config {
	t.Helper()
	const classes, perClass, dim = 3, 8, 5
	rng := rand.New(rand.NewPCG(2, 2))
	x, labels, ids := matrix.New(classes*perClass, dim), []int64{}, []int64{}
	for i := range x.Rows {
		c := i / perClass
		for j := range dim {
			x.Row(i)[j] = float32(rng.NormFloat64())
		}
		x.Row(i)[c] += 2
		labels, ids = append(labels, int64(c)), append(ids, int64(i))
	}
	spec := &nn.Spec{Input: nn.Shape{H: 1, W: 1, C: dim}, Layers: []nn.Layer{
		{Kind: nn.Dense, Name: "hidden", Out: 8}, {Kind: nn.BatchNorm, Name: "norm"}, {Kind: nn.ReLU},
		{Kind: nn.Dropout, Rate: 0.3}, {Kind: nn.Dense, Name: "out", Out: 3}, {Kind: nn.L2Normalize},
	}}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	obj, err := objective.New(objective.Options{Loss: &loss.Margin{}, Memory: 10, Classes: classes, Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	draw, err := sample.NewBalanced(labels, sample.BalancedConfig{Classes: 2, PerClass: 3, Batches: 3, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	opt, err := NewOptimizer(OptimizerConfig{Rate: 0.01}, Params(net, obj))
	if err != nil {
		t.Fatal(err)
	}
	return Config{Network: net, Data: Rows{X: x}, Labels: labels, IDs: ids, Sampler: draw, Objective: obj,
		Optimizer: opt, Epochs: epochs, EvalEvery: 2, CheckpointInterval: 2}
}

// written is a Store of the files of all checkpoints.
type written struct{ files [][]byte }

func (w *written) Save(c *Checkpoint) error {
	var b bytes.Buffer
	w.files = append(w.files, nil)
	if err := c.Write(&b); err != nil {
		return err
	}
	w.files[len(w.files)-1] = b.Bytes()
	return nil
}

// reread returns the checkpoint in a file.
func reread(t testing.TB, file []byte) *Checkpoint {
	t.Helper()
	c, err := ReadCheckpoint(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// weights lists all numbers of a network.
func weights(net Network) []float32 {
	var all []float32
	for _, p := range net.Params() {
		all = append(all, p.Value...)
	}
	return all
}

// sameRun compares networks to the bit, and the rows of the epochs.
func sameRun(t *testing.T, what string, want, got Network, a, b []Epoch) {
	t.Helper()
	if !slices.Equal(weights(want), weights(got)) {
		t.Errorf("%s: another network", what)
	}
	for i := range a {
		a[i].Timing = Timing{}
	}
	for i := range b {
		b[i].Timing = Timing{}
	}
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("%s: another history\n%v\n%v", what, a, b)
	}
}
