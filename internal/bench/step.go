package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/objective"
)

// stepCases time whole training steps: forward, easy positives with random
// negatives, triplet loss, backward, Adam. And the networks' passes alone.
func stepCases() []Case {
	cases := []Case{
		trainingStep("mnist-step-b128", "mnist", 28, 128, 2, 2),
		trainingStep("conv4-40px-step-b112", "conv4", 40, 112, 128, 4),
	}
	for _, depth := range []int{18, 50} {
		cases = append(cases, resnetPass(depth, false), resnetPass(depth, true))
	}
	return cases
}

// stepper is a training step that can be profiled layer by layer.
type stepper struct {
	net       *nn.Net
	objective *objective.Objective
	optimizer *optim.Optimizer
	pixels    []float32
	labels    []int64
	grad      *mat.Dense
}

// newStepper prepares a step on n random grey pictures of the given side.
func newStepper(network string, side, n, dim, classes int) (*stepper, error) {
	spec, err := nn.Network(network, nn.NetworkOptions{Input: nn.Shape{H: side, W: side, C: 1}, Dim: dim, Normalize: true})
	if err != nil {
		return nil, err
	}
	s := &stepper{labels: make([]int64, n), grad: mat.New(n, dim), pixels: uniform(n*side*side, 1)}
	if s.net, err = nn.New(spec, nn.Options{Seed: 1}); err != nil {
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
	if s.optimizer, err = optim.New(optim.Config{Method: optim.Adam, Rate: 1e-3}, s.net.Params()); err != nil {
		return nil, err
	}
	for i := range s.labels {
		s.labels[i] = int64(i % classes)
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

func trainingStep(name, network string, side, n, dim, classes int) Case {
	var s *stepper
	return Case{
		Name:  name,
		About: fmt.Sprintf("training step of the %s network on %d grey pictures of %d x %d", network, n, side, side),
		Runs:  15, Warm: 3, Items: n,
		Setup: func() (func() error, float64, error) {
			var err error
			if s, err = newStepper(network, side, n, dim, classes); err != nil {
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

func resnetPass(depth int, training bool) Case {
	const n, side, classes = 16, 224, 1000
	mode, what := "infer", "evaluation"
	if training {
		mode, what = "train", "forward and backward pass in training"
	}
	var net *nn.Net
	pixels, grad := []float32(nil), mat.New(n, classes)
	for i := range grad.Data {
		grad.Data[i] = 1
	}
	pass := func() error {
		if !training {
			net.Infer(pixels, n)
			return nil
		}
		net.Forward(pixels, n)
		net.Backward(grad)
		return nil
	}
	return Case{
		Name:  fmt.Sprintf("resnet%d-224-%s-b16", depth, mode),
		About: fmt.Sprintf("%s of ResNet-%d on %d colour pictures of %d x %d", what, depth, n, side, side),
		Runs:  5, Warm: 1, Items: n,
		Setup: func() (func() error, float64, error) {
			spec, err := nn.Network(fmt.Sprintf("resnet%d", depth), nn.NetworkOptions{
				Input: nn.Shape{H: side, W: side, C: 3}, Dim: classes, Stem: nn.StemLarge,
			})
			if err != nil {
				return nil, 0, err
			}
			if net, err = nn.New(spec, nn.Options{Seed: 1}); err != nil {
				return nil, 0, err
			}
			pixels = uniform(n*side*side*3, 1)
			return pass, 0, nil
		},
		Layers: func(runs int) ([]nn.LayerTime, error) {
			var p nn.Profile
			net.SetProfile(&p)
			defer net.SetProfile(nil)
			for range runs {
				if err := pass(); err != nil {
					return nil, err
				}
			}
			if training {
				return p.Train, nil
			}
			return p.Infer, nil
		},
	}
}

// uniform returns n values uniform in [0, 1).
func uniform(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = rng.Float32()
	}
	return x
}
