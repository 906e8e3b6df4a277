package nn

import "time"

// Profile collects how long each fused step of a network takes. Attach it with
// [Net.SetProfile].
type Profile struct {
	Train []LayerTime // steps of Forward and Backward, in order
	Infer []LayerTime // steps of Infer

	began time.Time
}

// LayerTime adds up the calls of one step. A step is named after its first
// layer. MACs are the multiply-accumulates of convolutions and dense layers.
type LayerTime struct {
	Layer         string
	Out           Shape
	Calls         int // of Forward or Infer
	Forward       time.Duration
	Backward      time.Duration
	ForwardMACs   int64
	BackwardMACs  int64
	BytesPerImage int64 // of the step's result
}

// GFLOPS returns 2 x MACs per nanosecond of the forward and backward calls, or
// 0 if nothing was timed.
func (l *LayerTime) GFLOPS() (forward, backward float64) {
	rate := func(macs int64, d time.Duration) float64 {
		if d == 0 {
			return 0
		}
		return 2 * float64(macs) / float64(d)
	}
	return rate(l.ForwardMACs, l.Forward), rate(l.BackwardMACs, l.Backward)
}

// SetProfile makes the network add its times to p from now on; nil stops it.
func (e *Net) SetProfile(p *Profile) {
	e.prof = p
	if p == nil {
		return
	}
	p.Train, p.Infer = layerTimes(e.train.steps), layerTimes(e.eval.steps)
}

func layerTimes(steps []step) []LayerTime {
	l := make([]LayerTime, len(steps))
	for i, s := range steps {
		out := s.output().shape
		l[i] = LayerTime{Layer: s.label(), Out: out, BytesPerImage: 4 * int64(out.Len())}
	}
	return l
}

func (p *Profile) start() {
	if p != nil {
		p.began = time.Now()
	}
}

func (p *Profile) stop(pl *plan, i int, s step, n int, backward bool) {
	if p == nil {
		return
	}
	d := time.Since(p.began)
	l := &p.Train[i]
	if pl.eval {
		l = &p.Infer[i]
	}
	f, b := s.cost()
	if backward {
		l.Backward += d
		l.BackwardMACs += b * int64(n)
		return
	}
	l.Calls++
	l.Forward += d
	l.ForwardMACs += f * int64(n)
}
