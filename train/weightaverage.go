package train

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// averagePrefix starts the names of the averaged tensors of a checkpoint.
const averagePrefix = "average."

// weightAverage is the running mean over the steps of the network's parameters and running
// statistics (Config.Average). The zero value does not average.
//
// After step k the mean m moves towards the weights w by
//
//	m += max(1/k, 1/h) (w - m)
//
// where h is the horizon in steps. For the first h steps m is their plain mean; after that,
// older steps fade (Polyak and Juditsky 1992; exponential form by Tarvainen and Valpola 2017).
type weightAverage struct {
	params  []*nn.Param
	values  [][]float32 // in the order and layout of params
	horizon float64     // in steps
	inNet   bool        // the network holds the mean, and values hold the weights
}

// averageChunk is the number of values that a core processes at a time.
const averageChunk = 1 << 14

func newAverage(net Network, epochs float64, steps int) (weightAverage, error) {
	if epochs == 0 {
		return weightAverage{}, nil
	}
	if _, far := net.(Remote); far {
		return weightAverage{},
			errors.New("Config.Average does not work with a Remote network, whose parameters " +
				"change on its device")
	}
	a := weightAverage{params: net.Params(), horizon: max(1, epochs*float64(steps))}
	for _, p := range a.params {
		a.values = append(a.values, append([]float32(nil), p.Value...))
	}
	return a, nil
}

func (a *weightAverage) isOn() bool { return a.values != nil }

// add updates the mean with the weights after step k, counted from 1.
func (a *weightAverage) add(k int) {
	share := float32(max(1/float64(k), 1/a.horizon))
	for i, p := range a.params {
		mean, now := a.values[i], p.Value
		par.For(len(mean), averageChunk, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				mean[j] += share * (now[j] - mean[j])
			}
		})
	}
}

// swap exchanges the mean and the network's weights.
func (a *weightAverage) swap() {
	for i, p := range a.params {
		mean, now := a.values[i], p.Value
		for j, v := range now {
			now[j], mean[j] = mean[j], v
		}
	}
	a.inNet = !a.inNet
}

// withMean calls f while the network holds the mean.
func (a *weightAverage) withMean(f func() error) error {
	if !a.isOn() || a.inNet {
		return f()
	}
	a.swap()
	defer a.swap()
	return f()
}

// tensors returns a copy of the mean, for a checkpoint.
func (a *weightAverage) tensors(net Network) (out []safetensors.Tensor) {
	if a.isOn() {
		_ = a.withMean(func() error {
			out = copyNetworkTensors(averagePrefix, net)
			return nil
		})
	}
	return out
}

// restore reads the mean from a checkpoint.
func (a *weightAverage) restore(f *safetensors.File, net Network) error {
	if !a.isOn() {
		return nil
	}
	err := a.withMean(func() error { return setNetwork(f, averagePrefix, net) })
	if err != nil {
		return fmt.Errorf("the average of the weights: %w", err)
	}
	return nil
}
