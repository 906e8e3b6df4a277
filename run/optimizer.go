package run

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/train"
)

// newOptimizer makes one optimizer for the parameters of the network and of the loss. Those
// of the loss have a learning rate of their own and no weight decay. device, if it is not
// nil, updates the parameters that it holds.
func newOptimizer(cfg *TrainConfig, batches int, net train.Network, obj train.Objective, device optim.Device) (
	*optim.Optimizer, error) {
	o := optim.Config{
		Method: optim.Method(cfg.Optimizer), Rate: cfg.LR, WeightDecay: cfg.WeightDecay, ClipNorm: cfg.Clip,
		Schedule: optim.Schedule{
			Kind:   optim.ScheduleKind(cfg.Schedule),
			Warmup: int(math.Round(cfg.Warmup * float64(batches))),
			Gamma:  cfg.Gamma,
		},
	}
	if o.Method == optim.SGD {
		o.Momentum = cfg.Momentum
	}
	if o.WeightDecay == 0 {
		o.WeightDecay = -1 // none, also for AdamW
	}
	if o.Schedule.Kind == optim.Cosine {
		o.Schedule.Total = cfg.Epochs * batches
	}
	for _, e := range cfg.Steps {
		o.Schedule.Milestones = append(o.Schedule.Milestones, e*batches-o.Schedule.Warmup)
	}
	for _, g := range cfg.Groups {
		o.Groups = append(o.Groups, optim.Group{Prefix: g.Prefix, Scale: g.Scale, NoDecay: g.NoDecay})
	}
	o.Groups = append(o.Groups, byDepth(cfg.Depth, net.Params())...)
	all, own := train.Params(net, obj), obj.Params()
	for i, p := range own {
		rate := cfg.LR
		if p.Rate > 0 {
			rate = p.Rate
		}
		if cfg.LossLR > 0 {
			rate = cfg.LossLR
		}
		name := all[len(all)-len(own)+i].Name
		o.Groups = append(o.Groups, optim.Group{Prefix: name, Scale: rate / cfg.LR, NoDecay: true})
	}
	opt, err := optim.NewOn(o, all, device)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return opt, nil
}

// byDepth scales rates from first at the first layer to 1 at the last, in equal
// ratios. A layer's weight and bias, and a norm behind it, are steps of their own:
// there are enough of them for that to make no difference.
func byDepth(first float64, params []*nn.Param) []optim.Group {
	if first == 0 || first == 1 || len(params) < 2 {
		return nil
	}
	var out []optim.Group
	for i, p := range params {
		out = append(out, optim.Group{Prefix: p.Name, Scale: math.Pow(first, 1-float64(i)/float64(len(params)-1))})
	}
	return out
}
