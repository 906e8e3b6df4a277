package projection

import (
	"context"
	"math"
	"sync"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/fft"
)

// fieldRepulsion computes the repulsion through a grid (Linderman et al.,
// "Fast interpolation-based t-SNE", 2019): charges 1, x and y of all points are
// spread to a grid, convolved with the kernels 1/(1+d^2) and 1/(1+d^2)^2 by
// FFT, and read off at the points. The cost grows with n and with the area of
// the map, not with n^2.
//
// Points are spread with cubic B-splines, whose Fourier transform is divided out of the kernels. This smooth
// interpolation can use a coarser grid than polynomials in boxes.
type fieldRepulsion struct {
	n              int     // nodes along a side that points may use, margins included
	m              int     // side of the padded grid, 2n
	h              float64 // distance of nodes
	k12, k2        []float64
	unitCharge     []complex128 // charge 1
	positionCharge []complex128 // charges x + iy
	plan           *fft.Plan
	buffers        sync.Pool // *[2][]complex128 for the plan
	rows           []int     // first point of each grid row in order
	order          []int32
	positions      []gridPosition
	partial        []float64
}

// gridPosition is a point's position on the grid: the first of its four nodes in each
// direction and the weights of the four.
type gridPosition struct {
	row, col int32
	wy, wx   [4]float64
}

const (
	maxSpacing = 0.5 // the kernels vary on the scale 1
	margin     = 8   // nodes around the points, for the tail of the division
	minNodes   = 64
	maxNodes   = 1200 // a wider map gets a coarser grid: 92 MB for each of two
)

// splineWeights returns the weights of a cubic B-spline at the four nodes around a
// position that is t in [0, 1) beyond the second.
func splineWeights(t float64) [4]float64 {
	u := 1 - t
	return [4]float64{u * u * u / 6, (3*t*t*t - 6*t*t + 4) / 6, (3*u*u*u - 6*u*u + 4) / 6, t * t * t / 6}
}

// chooseGrid chooses the grid for a map of the given width: its number of nodes
// along a side and their distance. Distances are maxSpacing times powers of two
// and sides are products of small primes, so that changes are rare.
func chooseGrid(width float64) (n int, h float64) {
	h = maxSpacing
	for width/h < minNodes-2*margin-4 && h > 1e-12 {
		h /= 2
	}
	for width/h > maxNodes-2*margin-5 {
		h *= 2
	}
	return chooseFFTSide(int(width/h) + 2*margin + 5), h
}

// resize prepares the kernels if the grid changed.
func (r *fieldRepulsion) resize(width float64) {
	n, h := chooseGrid(width)
	if n == r.n && h == r.h {
		return
	}
	sideChanged := n != r.n
	r.n, r.m, r.h = n, 2*n, h
	m := r.m
	if sideChanged {
		r.unitCharge, r.positionCharge = make([]complex128, m*m), make([]complex128, m*m)
		r.k12, r.k2 = make([]float64, m*m), make([]float64, m*m)
		r.rows = make([]int, m+1)
		r.plan = fft.New(m)
		r.buffers = sync.Pool{New: func() any {
			return &[2][]complex128{make([]complex128, m*fft.Lanes), make([]complex128, m*fft.Lanes)}
		}}
	}
	// Both kernels in one transform: they are real and even, so that K1 + iK2
	// has the transform of K1 as real and that of K2 as imaginary part.
	g := r.unitCharge
	par.For(m, fftGrain, func(lo, hi int) {
		for a := lo; a < hi; a++ {
			dy := float64(min(a, m-a)) * h
			for b := range m {
				dx := float64(min(b, m-b)) * h
				q := 1 / (1 + dx*dx + dy*dy)
				g[a*m+b] = complex(q, q*q)
			}
		}
	})
	r.transform(g, m, false)
	// Divide by the effects of spreading and reading, and by the factor of the inverse FFT.
	b := make([]float64, m)
	for i := range b {
		b[i] = (2 + math.Cos(2*math.Pi*float64(i)/float64(m))) / 3
	}
	for a := range m {
		for c := range m {
			w := b[a] * b[c]
			w = 1 / (w * w * float64(m) * float64(m))
			r.k12[a*m+c], r.k2[a*m+c] = real(g[a*m+c])*w, imag(g[a*m+c])*w
		}
	}
}

// chooseFFTSide returns the least n' >= n whose prime factors are 2, 3 and 5, in
// steps coarse enough that a growing map rarely changes it.
func chooseFFTSide(n int) int {
	step := 1
	for step*16 < n {
		step *= 2
	}
	for n = (n + step - 1) / step * step; ; n += step {
		rest := n
		for _, p := range []int{2, 3, 5} {
			for rest%p == 0 {
				rest /= p
			}
		}
		if rest == 1 {
			return n
		}
	}
}

const fftGrain = 16 // rows per chunk

// transform is the two-dimensional FFT of g in place, unnormalised. Forward, the
// rows from rows on are known to be zero; backward, only that many rows are
// needed.
func (r *fieldRepulsion) transform(g []complex128, rows int, backward bool) {
	if backward {
		r.transformColumns(g, true)
		r.transformRows(g, rows, true)
	} else {
		r.transformRows(g, rows, false)
		r.transformColumns(g, false)
	}
}

// transformIndex returns the place of number k of a transform in its result: the one backward is the one
// forward in reverse.
func (r *fieldRepulsion) transformIndex(k int, backward bool) int {
	if backward && k > 0 {
		return r.m - k
	}
	return k
}

func (r *fieldRepulsion) transformRows(g []complex128, rows int, backward bool) {
	m := r.m
	par.For(rows, fft.Lanes, func(lo, hi int) {
		t := r.buffers.Get().(*[2][]complex128)
		defer r.buffers.Put(t)
		clear(t[0])
		for l := range hi - lo {
			for k, v := range g[(lo+l)*m : (lo+l+1)*m] {
				t[0][k*fft.Lanes+l] = v
			}
		}
		out := r.plan.Transform(t[0], t[1])
		for l := range hi - lo {
			row := g[(lo+l)*m : (lo+l+1)*m]
			for k := range row {
				row[r.transformIndex(k, backward)] = out[k*fft.Lanes+l]
			}
		}
	})
}

func (r *fieldRepulsion) transformColumns(g []complex128, backward bool) {
	m := r.m
	par.For(m, fft.Lanes, func(lo, hi int) {
		t := r.buffers.Get().(*[2][]complex128)
		defer r.buffers.Put(t)
		for k := range m {
			copy(t[0][k*fft.Lanes:(k+1)*fft.Lanes], g[k*m+lo:k*m+hi])
		}
		out := r.plan.Transform(t[0], t[1])
		for k := range m {
			from := r.transformIndex(k, backward) * fft.Lanes
			copy(g[k*m+lo:k*m+hi], out[from:from+fft.Lanes])
		}
	})
}

// boundingBox returns the middle of the points and the larger side of their box.
func (y points) boundingBox() (cx, cy, width float64) {
	x0, y0 := math.Inf(1), math.Inf(1)
	x1, y1 := math.Inf(-1), math.Inf(-1)
	for i := 0; i < len(y); i += 2 {
		x0, x1 = min(x0, y[i]), max(x1, y[i])
		y0, y1 = min(y0, y[i+1]), max(y1, y[i+1])
	}
	return (x0 + x1) / 2, (y0 + y1) / 2, max(x1-x0, y1-y0)
}

func (r *fieldRepulsion) repel(ctx context.Context, y, out points) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n := y.len()
	// Coordinates relative to the middle keep the charges small.
	cx, cy, width := y.boundingBox()
	r.resize(width)
	if r.partial == nil {
		r.partial = make([]float64, n)
		r.positions = make([]gridPosition, n)
		r.order = make([]int32, n)
	}
	half := float64(r.n-1) / 2
	par.For(n, 1024, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			u, v := (y[2*i]-cx)/r.h+half, (y[2*i+1]-cy)/r.h+half
			fu, fv := math.Floor(u), math.Floor(v)
			r.positions[i] = gridPosition{int32(fv) - 1, int32(fu) - 1, splineWeights(v - fv), splineWeights(u - fu)}
		}
	})
	r.sortByRow()
	r.spreadCharges(y, cx, cy)
	m := r.m
	r.transform(r.unitCharge, r.n, false)
	r.transform(r.positionCharge, r.n, false)
	par.For(m, fftGrain, func(lo, hi int) {
		for i := lo * m; i < hi*m; i++ {
			r.unitCharge[i] *= complex(r.k12[i], r.k2[i])
			r.positionCharge[i] *= complex(r.k2[i], 0)
		}
	})
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	r.transform(r.unitCharge, r.n, true)
	r.transform(r.positionCharge, r.n, true)
	par.For(n, 256, func(lo, hi int) {
		for o := lo; o < hi; o++ {
			i := r.order[o]
			s := &r.positions[i]
			var one, xy complex128
			for a := range 4 {
				at := (int(s.row)+a)*m + int(s.col)
				for b := range 4 {
					w := complex(s.wy[a]*s.wx[b], 0)
					one += w * r.unitCharge[at+b]
					xy += w * r.positionCharge[at+b]
				}
			}
			out[2*i] = (y[2*i]-cx)*imag(one) - real(xy)
			out[2*i+1] = (y[2*i+1]-cy)*imag(one) - imag(xy)
			r.partial[i] = real(one) - 1
		}
	})
	return sum(r.partial), nil
}

// sortByRow orders the points by the first grid row they touch, ties by index.
func (r *fieldRepulsion) sortByRow() {
	clear(r.rows)
	for i := range r.positions {
		r.rows[r.positions[i].row+1]++
	}
	for a := range r.m {
		r.rows[a+1] += r.rows[a]
	}
	next := append([]int(nil), r.rows[:r.m]...)
	for i := range r.positions {
		a := r.positions[i].row
		r.order[next[a]] = int32(i)
		next[a]++
	}
}

// spreadCharges sets the grids to the points' charges. Each chunk fills its own rows
// from the points that touch them, in the same order on any machine.
func (r *fieldRepulsion) spreadCharges(y points, cx, cy float64) {
	m := r.m
	par.For(m, fftGrain, func(lo, hi int) {
		clear(r.unitCharge[lo*m : hi*m])
		clear(r.positionCharge[lo*m : hi*m])
		if lo >= r.n {
			return
		}
		for _, i := range r.order[r.rows[max(0, lo-3)]:r.rows[min(hi, m)]] {
			s := &r.positions[i]
			charge := complex(y[2*i]-cx, y[2*i+1]-cy)
			for a := range 4 {
				row := int(s.row) + a
				if row < lo || row >= hi {
					continue
				}
				at := row*m + int(s.col)
				for b := range 4 {
					w := complex(s.wy[a]*s.wx[b], 0)
					r.unitCharge[at+b] += w
					r.positionCharge[at+b] += w * charge
				}
			}
		}
	})
}

// adaptiveRepulsion goes pair by pair if that costs less than the grid: for few points, or for a map that is wide
// for its number of points.
type adaptiveRepulsion struct {
	pairs exactRepulsion
	field fieldRepulsion
}

// pairsPerNode is the cost of a node of the padded grid in pairs of points.
const pairsPerNode = 8

func (r *adaptiveRepulsion) repel(ctx context.Context, y, out points) (float64, error) {
	_, _, width := y.boundingBox()
	if !(width < 1e9) { // diverging
		return r.pairs.repel(ctx, y, out)
	}
	nodes, _ := chooseGrid(width)
	if n := y.len(); n*n < pairsPerNode*4*nodes*nodes {
		return r.pairs.repel(ctx, y, out)
	}
	return r.field.repel(ctx, y, out)
}
