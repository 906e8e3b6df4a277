package train

import (
	"context"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

// Interpolation searches for the network that a run ends with on the straight line between the weights at
// the start and those of the best epoch,
//
//	w(a) = (1 - a) start + a best,   a = 1/Parts, 2/Parts, ..., 1
//
// and takes the place a with the highest score of Best.Metric. Of equal scores it takes the one
// nearest to the start (Wortsman et al. 2022, Robust fine-tuning of zero-shot models). With
// Config.Untrained, a = 0 competes too; see Best. The zero value takes the best epoch itself.
type Interpolation struct {
	// Parts is the number of equal parts that the line is cut into. With 0 or 1 it is not cut.
	Parts int
	// Eval scores a place, at least by Best.Metric. If nil, it is Config.Eval with last false.
	Eval func(ctx context.Context) ([]Metric, error)
}

func (l Interpolation) isOn() bool { return l.Parts > 1 }

// interpolate gives the network the best epoch's weights or, with Line, the best weights on the line.
func (t *Trainer) interpolate(ctx context.Context) error {
	net, obj := t.cfg.Network, t.cfg.Objective
	if err := setTensors(&safetensors.File{Tensors: t.best}, bestPrefix, net, obj); err != nil {
		return err
	}
	k := t.state.Best
	if !t.cfg.Interpolation.isOn() || k.Place > 0 {
		return nil
	}
	eval := t.cfg.Interpolation.Eval
	if eval == nil {
		eval = func(ctx context.Context) ([]Metric, error) { return t.cfg.Eval(ctx, k.Epoch, false) }
	}
	found, at := *k, t.best
	found.Place = 1
	for part := t.cfg.Interpolation.Parts - 1; part > 0; part-- {
		a := float64(part) / float64(t.cfg.Interpolation.Parts)
		between, err := t.interpolateWeights(a)
		if err != nil {
			return err
		}
		if err := setTensors(&safetensors.File{Tensors: between}, bestPrefix, net, obj); err != nil {
			return err
		}
		if err := push(net); err != nil {
			return err
		}
		m, err := t.score(ctx, k.Epoch, eval)
		if err != nil {
			return err
		}
		v, err := FindMetric(m, k.Metric)
		if err != nil {
			return fmt.Errorf("searching for the best place on the line from the start: %w", err)
		}
		if v >= found.Value {
			found.Value, found.Place, at = v, a, between
		}
	}
	t.state.Best, t.best = &found, at
	return setTensors(&safetensors.File{Tensors: t.best}, bestPrefix, net, obj)
}

// interpolateWeights returns the best epoch's tensors moved to the place a. The loss's parameters are not
// moved.
func (t *Trainer) interpolateWeights(a float64) ([]safetensors.Tensor, error) {
	start := &safetensors.File{Tensors: t.startTensors}
	var out []safetensors.Tensor
	for _, x := range t.best {
		name, ok := strings.CutPrefix(x.Name, bestPrefix+networkPrefix)
		if !ok {
			out = append(out, x)
			continue
		}
		to, err := x.Float32s()
		if err != nil {
			return nil, err
		}
		from, err := readValues(start, startPrefix+networkPrefix+name, len(to))
		if err != nil {
			return nil, err
		}
		v := make([]float32, len(to))
		for i := range v {
			v[i] = from[i] + float32(a)*(to[i]-from[i])
		}
		out = append(out, safetensors.Float32(x.Name, x.Shape, v))
	}
	return out, nil
}
