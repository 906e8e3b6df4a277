package train

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// chunkLen is how many values one chunk of work covers.
const chunkLen = 1 << 14

// update is the work of one step, cut into chunks of parameters.
type update struct {
	params []paramState
	chunks []span
	sums   []float64 // squared norm of each chunk's gradients
	norms  bool      // compute sums, change nothing

	cfg          *OptimizerConfig
	rate         float64
	bias1, bias2 float64
	clip         float32
}

type span struct{ param, lo, hi int }

func (u *update) init(params []paramState) {
	u.params = params
	for i, p := range params {
		for lo := 0; lo < len(p.Value); lo += chunkLen {
			u.chunks = append(u.chunks, span{i, lo, min(lo+chunkLen, len(p.Value))})
		}
	}
	u.sums = make([]float64, len(u.chunks))
}

// Run implements par.Task.
func (u *update) Run(chunk int) {
	c := u.chunks[chunk]
	p := &u.params[c.param]
	if u.norms {
		u.sums[chunk] = sumSquares(p.Grad[c.lo:c.hi])
		return
	}
	decay := u.cfg.WeightDecay
	if p.noDecay {
		decay = 0
	}
	rate := u.rate * p.scale
	w, g := p.Value[c.lo:c.hi], p.Grad[c.lo:c.hi]
	switch {
	case u.cfg.Method == SGD && p.m == nil:
		sgd(w, g, float32(rate), float32(decay), u.clip)
	case u.cfg.Method == SGD:
		u.momentum(w, g, p.m[c.lo:c.hi], float32(rate), float32(decay))
	default:
		u.adam(w, g, p.m[c.lo:c.hi], p.v[c.lo:c.hi], rate, decay)
	}
}

// sumSquares adds up in four float64 lanes.
func sumSquares(g []float32) float64 {
	var s [4]float64
	for len(g) >= 4 {
		for i := range s {
			v := float64(g[i])
			s[i] += v * v
		}
		g = g[4:]
	}
	for _, v := range g {
		s[0] += float64(v) * float64(v)
	}
	return s[0] + s[1] + (s[2] + s[3])
}

func sgd(w, g []float32, rate, decay, clip float32) {
	for i, d := range g {
		w[i] -= rate * (clip*d + decay*w[i])
	}
}

func (u *update) momentum(w, g, b []float32, rate, decay float32) {
	mu := float32(u.cfg.Momentum)
	for i, d := range g {
		d = u.clip*d + decay*w[i]
		b[i] = mu*b[i] + d
		if u.cfg.Nesterov {
			d += mu * b[i]
		} else {
			d = b[i]
		}
		w[i] -= rate * d
	}
}

func (u *update) adam(w, g, m, v []float32, rate, decay float64) {
	c := simd.Adam{
		Decay: float32(decay), Shrink: 1,
		B1: float32(1 - u.cfg.Beta1), B2: float32(1 - u.cfg.Beta2),
		Root: float32(1 / math.Sqrt(u.bias2)), Eps: float32(u.cfg.Eps), Step: float32(rate / u.bias1),
	}
	if u.cfg.Method == AdamW {
		c.Decay, c.Shrink = 0, float32(1-rate*decay)
	}
	if u.clip != 1 {
		simd.Scale(g, u.clip, g)
	}
	simd.AdamStep(w, g, m, v, c)
}
