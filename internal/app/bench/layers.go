package bench

import (
	"errors"
	"runtime"
	"time"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/nn"
)

// Layer has the times of one layer of a network in one run.
type Layer struct {
	Name           string  `json:"name"`
	Output         string  `json:"output"` // height x width x channels of one image
	ForwardMS      float64 `json:"forward_ms"`
	BackwardMS     float64 `json:"backward_ms"`
	ForwardGFLOPS  float64 `json:"forward_gflops,omitempty"`
	BackwardGFLOPS float64 `json:"backward_gflops,omitempty"`
	// Share of the rate of multiply-adds on registers alone, on all cores, for
	// forward and backward together; 0 for layers without products. It counts
	// the multiplications of the layer's definition, so a convolution by
	// Winograd's algorithm, which needs fewer, may exceed 1.
	Share float64 `json:"share_of_peak,omitempty"`
}

// ErrNoLayers means that a case does not run a network.
var ErrNoLayers = errors.New("this case has no layers, because it does not run a network")

// RunLayers repeats a case that Run has set up and returns the mean time of each
// layer over the runs.
func RunLayers(c Case, runs int) ([]Layer, error) {
	if c.Layers == nil {
		return nil, ErrNoLayers
	}
	peak := measurePeakRate()
	times, err := c.Layers(runs)
	if err != nil {
		return nil, err
	}
	layers := make([]Layer, len(times))
	for i, t := range times {
		layers[i] = layerPerRun(t, runs, peak)
	}
	return layers, nil
}

func layerPerRun(t nn.LayerTime, runs int, peak float64) Layer {
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(runs) }
	l := Layer{Name: t.Layer, Output: t.Out.String(), ForwardMS: ms(t.Forward), BackwardMS: ms(t.Backward)}
	l.ForwardGFLOPS, l.BackwardGFLOPS = t.GFLOPS()
	if both := t.Forward + t.Backward; both > 0 && peak > 0 {
		l.Share = 2 * float64(t.ForwardMACs+t.BackwardMACs) / float64(both) / peak
	}
	return l
}

// peakTask runs multiply-adds on registers, as many in each chunk.
type peakTask struct{ done []int }

func (p *peakTask) Run(chunk int) { p.done[chunk] = simd.FMAPeak(1 << 27) }

// measurePeakRate returns the best rate of multiply-adds on registers on all cores, in
// GFLOP/s, or 0 with plain Go kernels.
func measurePeakRate() float64 {
	p := &peakTask{make([]int, runtime.GOMAXPROCS(0))}
	var best float64
	for range 9 {
		start := time.Now()
		par.Do(len(p.done), p)
		elapsed := float64(time.Since(start))
		total := 0
		for _, n := range p.done {
			total += n
		}
		best = max(best, 2*float64(total)/elapsed)
	}
	return best
}
