package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// stepCases time whole training steps: forward, easy positives with random
// negatives, triplet loss, backward, Adam. They also time the networks' passes alone.
func stepCases() []Case {
	cases := []Case{
		trainingStep("mnist-step-b128",
			stepOptions{network: "mnist", side: 28, n: 128, dim: 2, classes: 2}),
		trainingStep("mnist-step-b128-unfolded",
			stepOptions{network: "mnist", side: 28, n: 128, dim: 2, classes: 2, unfolded: true}),
		trainingStep("conv4-40px-step-b112",
			stepOptions{network: "conv4", side: 40, n: 112, dim: 128, classes: 4}),
		trainingStep("conv4-40px-step-b112-bf16",
			stepOptions{network: "conv4", side: 40, n: 112, dim: 128, classes: 4, precision: nn.BFloat16}),
	}
	for _, p := range networkPasses() {
		for _, training := range []bool{false, true} {
			cases = append(cases, p.newCase(training, nn.Float32))
			if !training || p.trains16 {
				cases = append(cases, p.newCase(training, nn.BFloat16))
			}
			if !training {
				cases = append(cases, p.newCase(training, nn.Int8))
			}
		}
	}
	return cases
}

// stepper is a training step that can be profiled layer by layer.
type stepper struct {
	net       *nn.Net
	objective *objective.Objective
	optimizer *train.Optimizer
	pixels    []float32
	labels    []int64
	grad      *matrix.Dense
}

// stepOptions describe a step on n random grey pictures of the given side.
type stepOptions struct {
	network               string
	side, n, dim, classes int
	unfolded              bool // compute the first two convolutions separately
	precision             nn.Precision
}

func newStepper(o stepOptions) (*stepper, error) {
	spec, err := zoo.Network(o.network,
		zoo.Options{Input: nn.Shape{H: o.side, W: o.side, C: 1}, Dim: o.dim, Normalize: true})
	if err != nil {
		return nil, err
	}
	if o.unfolded {
		// Only convolutions with nothing between them are joined. A dropout that drops
		// nothing separates them, and takes no time.
		spec.Layers = slices.Insert(spec.Layers, 1, nn.Layer{Kind: nn.Dropout})
	}
	s := &stepper{labels: make([]int64, o.n), grad: matrix.New(o.n, o.dim), pixels: uniformValues(o.n*o.side*o.side, 1)}
	if s.net, err = nn.New(spec, nn.Options{Seed: 1, Precision: o.precision}); err != nil {
		return nil, err
	}
	opts, err := objective.Parse(
		map[string]any{"positives": "easy", "negatives": "random"},
		map[string]any{"name": "triplet", "margin": 0.2, "distance": "squared"})
	if err != nil {
		return nil, err
	}
	if s.objective, err = objective.New(opts); err != nil {
		return nil, err
	}
	if s.optimizer, err = train.NewOptimizer(train.OptimizerConfig{Method: train.Adam, Rate: 1e-3},
		s.net.Params()); err != nil {
		return nil, err
	}
	for i := range s.labels {
		s.labels[i] = int64(i % o.classes)
	}
	return s, nil
}

func (s *stepper) step() error {
	e := s.net.Forward(s.pixels, len(s.labels))
	if _, err := s.objective.Step(context.Background(), e, objective.Batch{Labels: s.labels}, s.grad); err != nil {
		return err
	}
	s.net.Backward(s.grad)
	s.optimizer.Step()
	return nil
}

func trainingStep(name string, o stepOptions) Case {
	var s *stepper
	about := fmt.Sprintf("training step of the %s network on %d grey pictures of %d x %d", o.network, o.n, o.side,
		o.side)
	if o.precision == nn.BFloat16 {
		about += ", in bfloat16"
	}
	if o.unfolded {
		about += ", its two convolutions not computed as one"
	}
	return Case{
		Name:  name,
		About: about,
		Items: o.n,
		Setup: func() (func() error, float64, error) {
			var err error
			if s, err = newStepper(o); err != nil {
				return nil, 0, err
			}
			return s.step, 0, nil
		},
		Layers: func(runs int) ([]nn.LayerTime, error) {
			var p nn.Profile
			s.net.SetProfile(&p)
			defer s.net.SetProfile(nil)
			for range runs {
				if err := s.step(); err != nil {
					return nil, err
				}
			}
			return p.Train, nil
		},
	}
}

// uniformValues returns n values uniform in [0, 1).
func uniformValues(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = rng.Float32()
	}
	return x
}
