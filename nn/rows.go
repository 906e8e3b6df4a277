package nn

import "github.com/kindred-ml/kindred/internal/par"

// rowTask runs a row-wise kernel over all cores. It is kept by the engine and
// passed by pointer, so that a step allocates nothing. Operands are set by the
// caller; which of them a kernel uses is its own affair.
type rowTask struct {
	kernel     func(t *rowTask, chunk, lo, hi int)
	rows, cols int
	grain      int

	y, x, dy, res []float32
	a, b, c, d    []float32 // one value a column
	act, inAct    activation
	part          []float32 // partial sums, 2*cols a chunk
	pool          *poolStep
	positions     int // of a global pool
	channels      int
	seed          uint64
	keep          float64
	scale         float32
	accumulate    bool
}

// activation is what is applied to a layer's result.
type activation uint8

const (
	identity activation = iota
	relu
	relu6
)

// Run implements par.Task.
func (t *rowTask) Run(chunk int) {
	lo := chunk * t.grain
	t.kernel(t, chunk, lo, min(lo+t.grain, t.rows))
}

func (t *rowTask) chunks() int { return (t.rows + t.grain - 1) / t.grain }

// each runs kernel over chunks that fit the first-level cache.
func (t *rowTask) each(rows, cols int, kernel func(t *rowTask, chunk, lo, hi int)) {
	t.rows, t.cols, t.kernel = rows, cols, kernel
	t.grain = max(1, 8192/max(cols, 1))
	par.Do(t.chunks(), t)
}

// maxSumChunks bounds the number of partial sums of a reduction.
const maxSumChunks = 64

// sum runs a kernel that leaves per-column sums (s1, then s2) of its chunk in
// part, and adds them up in chunk order, in float64.
func (t *rowTask) sum(rows, cols int, kernel func(t *rowTask, chunk, lo, hi int), s1, s2 []float32) {
	t.rows, t.cols, t.kernel = rows, cols, kernel
	t.grain = max((rows+maxSumChunks-1)/maxSumChunks, 1024/max(cols, 1), 1)
	n := t.chunks()
	if need := 2 * cols * n; len(t.part) < need {
		t.part = make([]float32, need)
	}
	par.Do(n, t)
	for c := range cols {
		var u, v float64
		for i := range n {
			u += float64(t.part[2*cols*i+c])
			v += float64(t.part[2*cols*i+cols+c])
		}
		s1[c] = float32(u)
		if s2 != nil {
			s2[c] = float32(v)
		}
	}
}

// normKernel: y = act(a*x + b + res), per column a and b.
func normKernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	for i := lo; i < hi; i++ {
		y, x, a, b := t.y[i*n:(i+1)*n], t.x[i*n:(i+1)*n], t.a[:n], t.b[:n]
		for j := range y {
			y[j] = a[j]*x[j] + b[j]
		}
		if t.res != nil {
			res := t.res[i*n : (i+1)*n]
			for j := range y {
				y[j] += res[j]
			}
		}
		t.act.apply(y)
	}
}

func (a activation) apply(y []float32) {
	switch a {
	case relu:
		for j, v := range y {
			y[j] = max(v, 0)
		}
	case relu6:
		for j, v := range y {
			y[j] = min(max(v, 0), 6)
		}
	}
}

// mask clears dy where the activation that made y is flat.
func (a activation) mask(dy, y []float32) {
	switch a {
	case relu:
		for j, v := range y {
			if v <= 0 {
				dy[j] = 0
			}
		}
	case relu6:
		for j, v := range y {
			if v <= 0 || v >= 6 {
				dy[j] = 0
			}
		}
	}
}

// momentsKernel: the sums of x and of x squared, x taken relative to the shift
// in c (the first row), which keeps the variance exact where the mean is large.
func momentsKernel(t *rowTask, chunk, lo, hi int) {
	n := t.cols
	s1, s2, c := t.part[2*n*chunk:][:n], t.part[2*n*chunk+n:][:n], t.c[:n]
	clear(s1)
	clear(s2)
	for i := lo; i < hi; i++ {
		x := t.x[i*n : (i+1)*n]
		for j := range x {
			d := x[j] - c[j]
			s1[j] += d
			s2[j] += d * d
		}
	}
}

// normSumsKernel masks dy by the activation that made y, in place, and sums
// dy and dy*(x - c).
func normSumsKernel(t *rowTask, chunk, lo, hi int) {
	n := t.cols
	s1, s2, c := t.part[2*n*chunk:][:n], t.part[2*n*chunk+n:][:n], t.c[:n]
	clear(s1)
	clear(s2)
	for i := lo; i < hi; i++ {
		dy, x := t.dy[i*n:(i+1)*n], t.x[i*n:(i+1)*n]
		if t.act != identity {
			t.act.mask(dy, t.y[i*n:(i+1)*n])
		}
		for j := range dy {
			s1[j] += dy[j]
			s2[j] += dy[j] * (x[j] - c[j])
		}
	}
}

// normGradKernel: y = a*dy + d*(x - c) + b, and y is cleared where the
// activation inAct that made x is flat. y may be x.
func normGradKernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	a, b, c, d := t.a[:n], t.b[:n], t.c[:n], t.d[:n]
	for i := lo; i < hi; i++ {
		y, x, dy := t.y[i*n:(i+1)*n], t.x[i*n:(i+1)*n], t.dy[i*n:(i+1)*n]
		for j := range y {
			v := x[j]
			g := a[j]*dy[j] + d[j]*(v-c[j]) + b[j]
			if t.inAct == relu && v <= 0 || t.inAct == relu6 && (v <= 0 || v >= 6) {
				g = 0
			}
			y[j] = g
		}
	}
}

// columnSumKernel sums dy.
func columnSumKernel(t *rowTask, chunk, lo, hi int) {
	n := t.cols
	s1, s2 := t.part[2*n*chunk:][:n], t.part[2*n*chunk+n:][:n]
	clear(s1)
	clear(s2)
	for i := lo; i < hi; i++ {
		for j, v := range t.dy[i*n : (i+1)*n] {
			s1[j] += v
		}
	}
}

// biasKernel: y = act(y + b).
func biasKernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	for i := lo; i < hi; i++ {
		y := t.y[i*n : (i+1)*n]
		if t.b != nil {
			b := t.b[:n]
			for j := range y {
				y[j] += b[j]
			}
		}
		t.act.apply(y)
	}
}

// maskKernel clears dy where the activation that made y is flat.
func maskKernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	t.act.mask(t.dy[lo*n:hi*n], t.y[lo*n:hi*n])
}

// actKernel: y = act(x).
func actKernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	y := t.y[lo*n : hi*n]
	copy(y, t.x[lo*n:hi*n])
	t.act.apply(y)
}

// addKernel: y = act(x + res).
func addKernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	y, x, res := t.y[lo*n:hi*n], t.x[lo*n:hi*n], t.res[lo*n:hi*n]
	for j := range y {
		y[j] = x[j] + res[j]
	}
	t.act.apply(y)
}

// addToKernel: y += x.
func addToKernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	y, x := t.y[lo*n:hi*n], t.x[lo*n:hi*n]
	for j := range y {
		y[j] += x[j]
	}
}
