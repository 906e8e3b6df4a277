package bench

import (
	"errors"
	"slices"
	"time"

	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
)

// Layer is what one layer of a network took in one run.
type Layer struct {
	Name           string  `json:"name"`
	Output         string  `json:"output"` // height x width x channels of one image
	ForwardMS      float64 `json:"forward_ms"`
	BackwardMS     float64 `json:"backward_ms"`
	ForwardGFLOPS  float64 `json:"forward_gflops,omitempty"`
	BackwardGFLOPS float64 `json:"backward_gflops,omitempty"`
	// Share of the rate that a large matrix product reaches in the same
	// process, for forward and backward together; 0 for layers without products.
	Share float64 `json:"share_of_product,omitempty"`
}

// ErrNoLayers says that a case is not a network's.
var ErrNoLayers = errors.New("this case has no layers")

// RunLayers repeats a case that Run has set up and tells its time apart by
// layer: the mean over runs.
func RunLayers(c Case, runs int) ([]Layer, error) {
	if c.Layers == nil {
		return nil, ErrNoLayers
	}
	peak := productRate()
	times, err := c.Layers(runs)
	if err != nil {
		return nil, err
	}
	layers := make([]Layer, len(times))
	for i, t := range times {
		layers[i] = perRun(t, runs, peak)
	}
	return layers, nil
}

func perRun(t nn.LayerTime, runs int, peak float64) Layer {
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(runs) }
	l := Layer{Name: t.Layer, Output: t.Out.String(), ForwardMS: ms(t.Forward), BackwardMS: ms(t.Backward)}
	l.ForwardGFLOPS, l.BackwardGFLOPS = t.GFLOPS()
	if both := t.Forward + t.Backward; both > 0 {
		l.Share = 2 * float64(t.ForwardMACs+t.BackwardMACs) / float64(both) / peak
	}
	return l
}

// productRate is the best of a few products of large matrices, in GFLOP/s.
func productRate() float64 {
	const n = 1024
	a, b, c := normal(n, n, 1), normal(n, n, 2), mat.New(n, n)
	times := make([]float64, 7)
	for i := range times {
		start := time.Now()
		mat.Gemm(false, false, 1, a, b, 0, c)
		times[i] = float64(time.Since(start))
	}
	return 2 * n * n * n / slices.Min(times)
}
