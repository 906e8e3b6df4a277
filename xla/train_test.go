package xla_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"

	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
	"github.com/kindred-ml/kindred/xla"
)

var _ train.Network = (*xla.Net)(nil)

// problem is a small data set, and a run on it.
type problem struct {
	spec   *nn.Spec
	x      *matrix.Dense
	labels []int64
	optim  train.OptimizerConfig
}

func newProblem() problem {
	// Nothing here that a norm takes out again: of such a bias the gradient is
	// rounding alone, of which Adam makes whole steps.
	conv := func(name string) nn.Layer {
		return nn.Layer{Kind: nn.Conv, Name: name, Out: 4, Kernel: 3, Pad: 1, NoBias: true}
	}
	norm := func(name string) nn.Layer { return nn.Layer{Kind: nn.BatchNorm, Name: name} }
	relu := nn.Layer{Kind: nn.ReLU}
	p := problem{spec: &nn.Spec{Name: "small", Input: nn.Shape{H: 5, W: 4, C: 2}, Layers: []nn.Layer{
		conv("x"), norm("xn"), relu,
		{Kind: nn.Residual, Name: "r", Layers: []nn.Layer{conv("a"), norm("an"), relu, conv("b"), norm("bn")}}, relu,
		{Kind: nn.GlobalAvgPool}, {Kind: nn.Dropout, Rate: 0.1}, {Kind: nn.Dense, Name: "end", Out: 3},
		{Kind: nn.L2Normalize}}}}
	n := 48
	p.x = matrix.FromSlice(n, p.spec.Input.Len(), drawn("problem", n*p.spec.Input.Len()))
	for i := range n {
		p.labels = append(p.labels, int64(i%4))
		p.x.Row(i)[i%4] += 2
	}
	return p
}

// run trains net; on tells where the optimizer moves its parameters.
func (p *problem) run(t *testing.T, net train.Network, on train.OptimizerDevice, epochs int, from *train.Checkpoint,
	store train.Store) *train.Result {
	t.Helper()
	obj, err := objective.New(objective.Options{Loss: loss.Triplet{}})
	if err != nil {
		t.Fatal(err)
	}
	draw, err := sample.NewBalanced(p.labels, sample.BalancedConfig{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var o *train.Optimizer
	if on == nil {
		o, err = train.NewOptimizer(p.optim, train.Params(net, obj))
	} else {
		o, err = train.NewDeviceOptimizer(p.optim, train.Params(net, obj), on)
	}
	if err != nil {
		t.Fatal(err)
	}
	res, err := train.Loop(context.Background(), train.Config{Network: net, Data: train.Rows{X: p.x}, Labels: p.labels,
		Sampler: draw, Objective: obj, Optimizer: o, Epochs: epochs, Resume: from, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestTraining: ten steps and more of every optimizer take the same way as on the
// CPU.
func TestTraining(t *testing.T) {
	for _, c := range []train.OptimizerConfig{
		{}, {Method: train.AdamW, WeightDecay: 0.1, ClipNorm: 0.05}, {Method: train.SGD, Rate: 0.05},
		{Method: train.SGD, Rate: 0.02, Momentum: 0.9, Nesterov: true, WeightDecay: 0.01},
		{Method: train.SGD, Rate: 0.02, Momentum: 0.9, Groups: []train.ParamGroup{{Prefix: "end", Scale: 0.1}}},
	} {
		t.Run(fmt.Sprintf("%s nesterov %v groups %d", c.Method, c.Nesterov, len(c.Groups)), func(t *testing.T) {
			p := newProblem()
			p.optim = c
			cpu, host, dev := twins(t, p.spec, nn.Options{Seed: 1})
			want, got := p.run(t, cpu, nil, 12, nil, nil), p.run(t, dev, dev, 12, nil, nil)
			for i := range want.History {
				a, b := want.History[i].Totals, got.History[i].Totals
				if math.Abs(a.Loss-b.Loss) > 2e-3*float64(a.Steps) {
					t.Fatalf("epoch %d: a loss of %v, on the CPU %v", i+1, b.Loss, a.Loss)
				}
			}
			if err := dev.Pull(); err != nil {
				t.Fatal(err)
			}
			for i, q := range cpu.Params() {
				within(t, 2e-3, q.Name, q.Value, host.Params()[i].Value)
			}
		})
	}
}

type kept struct{ data []byte }

func (k *kept) Save(c *train.Checkpoint) error {
	var b bytes.Buffer
	err := c.Write(&b)
	k.data = b.Bytes()
	return err
}

// TestEnginesHandOver: a run that goes over from one engine to the other at a
// checkpoint ends where each would have ended alone, in both directions.
func TestEnginesHandOver(t *testing.T) {
	p := newProblem()
	p.optim = train.OptimizerConfig{Method: train.AdamW, WeightDecay: 0.05}
	whole, _, _ := twins(t, p.spec, nn.Options{Seed: 1})
	p.run(t, whole, nil, 6, nil, nil)
	for _, first := range []string{"cpu", "device"} {
		t.Run(first+" first", func(t *testing.T) {
			cpu, host, dev := twins(t, p.spec, nn.Options{Seed: 1})
			var k kept
			read := func() *train.Checkpoint {
				c, err := train.ReadCheckpoint(bytes.NewReader(k.data))
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			result := host
			if first == "cpu" {
				p.run(t, cpu, nil, 3, nil, &k)
				p.run(t, dev, dev, 6, read(), &k)
				if err := dev.Pull(); err != nil {
					t.Fatal(err)
				}
			} else {
				p.run(t, dev, dev, 3, nil, &k)
				p.run(t, cpu, nil, 6, read(), &k)
				result = cpu
			}
			for i, q := range whole.Params() {
				within(t, 2e-3, q.Name, q.Value, result.Params()[i].Value)
			}
			if result.Step() != whole.Step() {
				t.Errorf("%d training passes, want %d", result.Step(), whole.Step())
			}
		})
	}
}

// TestFrozenParameters: a step leaves frozen parameters alone and moves the others, and
// one of a network without any other is no failure.
func TestFrozenParameters(t *testing.T) {
	spec := netcases.Layers()["dense relu"]
	for _, all := range []bool{false, true} {
		host, err := nn.New(spec, nn.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		before := map[string][]float32{}
		for i, p := range host.Params() {
			p.Frozen = all || i == 0
			before[p.Name] = slices.Clone(p.Value)
		}
		dev, err := xla.New(open(t, 1), host, xla.Options{})
		if err != nil {
			t.Fatal(err)
		}
		opt, err := train.NewDeviceOptimizer(train.OptimizerConfig{WeightDecay: 0.1}, host.Params(), dev)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			e := dev.Forward(drawn("frozen", 3*spec.Input.Len()), 3)
			dev.Backward(matrix.FromSlice(e.Rows, e.Cols, slices.Clone(e.Data)))
			opt.Step()
		}
		if err := dev.Pull(); err != nil {
			t.Fatal(err)
		}
		for _, p := range host.Params() {
			if same := slices.Equal(p.Value, before[p.Name]); same != p.Frozen {
				t.Errorf("%s, frozen %v: unchanged %v", p.Name, p.Frozen, same)
			}
		}
	}
}
