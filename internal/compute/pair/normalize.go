package pair

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/matrix"
)

// MaxNorm bounds the length of rows that are compared without normalisation.
// Beyond it products of distances leave the range of float32.
const MaxNorm = 1e9

// Rows holds the rows of a matrix as a loss sees them: as given, or each
// divided by its Euclidean norm. The zero value is ready for Set, which reuses
// its storage.
type Rows struct {
	E    *matrix.Dense // as the loss sees them; the given matrix if not normalised
	Sq   []float32     // squared norms of E's rows
	Unit bool          // every row of E has norm 1

	in   *matrix.Dense
	unit matrix.Dense
	norm []float64 // of the rows as given

	set  rowsTask
	back backTask
}

// Set takes x, normalising it if asked to. A row of zeros is left unchanged and
// gets no gradient through the normalisation. It returns an error that names
// the first row that contains a NaN or an infinity or that, without
// normalisation, is longer than MaxNorm. x is kept until the next Set.
func (r *Rows) Set(x *matrix.Dense, normalize bool) error {
	r.in = x
	r.norm = resize(r.norm, x.Rows)
	r.Sq = resize(r.Sq, x.Rows)
	r.E = x
	if normalize {
		r.unit.Rows, r.unit.Cols, r.unit.Stride = x.Rows, x.Cols, rowStride(x.Cols)
		r.unit.Data = resize(r.unit.Data, x.Rows*r.unit.Stride)
		r.E = &r.unit
	}
	r.set.r = r
	par.Do(numChunks(x.Rows), &r.set)
	r.Unit = true
	for i, n := range r.norm {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return badRow(x, i)
		}
		if !normalize && n > MaxNorm {
			return fmt.Errorf("embedding %d has norm %.3g, above %.0g: normalise the embeddings or lower the "+
				"learning rate", i, n, float64(MaxNorm))
		}
		if normalize {
			r.Unit = r.Unit && n > 0
		} else {
			r.Unit = false
		}
	}
	return nil
}

// Center sets r to the rows of from, with its own mean subtracted from each.
func (r *Rows) Center(from *Rows) {
	r.Reserve(from.E.Rows, from.E.Cols)
	r.Unit = false
	for i := range from.E.Rows {
		x, e := from.E.Row(i), r.E.Row(i)
		copy(e, x)
		center(e)
		r.Sq[i] = SquaredNorm(e)
	}
}

// Uncenter turns the gradient with respect to centred rows into the gradient
// with respect to the original rows, in place.
func (r *Rows) Uncenter(de *matrix.Dense) {
	for i := range de.Rows {
		center(de.Row(i))
	}
}

func center(x []float32) {
	var sum float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(max(len(x), 1))
	for k, v := range x {
		x[k] = float32(float64(v) - mean)
	}
}

// Reserve makes E an r x c matrix with its own storage, and Sq of length r,
// both with arbitrary content, for rows that come from elsewhere.
func (r *Rows) Reserve(rows, c int) {
	r.unit.Rows, r.unit.Cols, r.unit.Stride = rows, c, c
	r.unit.Data = resize(r.unit.Data, rows*c)
	r.Sq = resize(r.Sq, rows)
	r.E = &r.unit
}

// SquaredNorm returns |x|².
func SquaredNorm(x []float32) float32 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return float32(s)
}

func badRow(x *matrix.Dense, i int) error {
	for k, v := range x.Row(i) {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("embedding %d is not finite: its element %d is %v", i, k, v)
		}
	}
	return fmt.Errorf("embedding %d is not finite", i)
}

// Backward writes to dx, or adds to it, the gradient with respect to the rows
// as given, from the gradient de with respect to E, times scale: scale (de -
// (de . e) e) / |x| if normalised, scale de otherwise. Values outside the range
// of float32 are clamped to it. dx and de may be the same matrix if nothing is
// added.
func (r *Rows) Backward(de *matrix.Dense, scale float64, dx *matrix.Dense, add bool) {
	r.back = backTask{r: r, de: de, dx: dx, scale: scale, add: add}
	par.Do(numChunks(de.Rows), &r.back)
}

// grain is the number of rows in a chunk of the loops over rows.
const grain = 32

func numChunks(n int) int { return (n + grain - 1) / grain }

type rowsTask struct{ r *Rows }

func (t *rowsTask) Run(chunk int) {
	r := t.r
	for i := chunk * grain; i < min((chunk+1)*grain, r.in.Rows); i++ {
		x := r.in.Row(i)
		s := float64(simd.Dot(x, x))
		if !(s > 1e-20 && s < 1e30) {
			// Out of float32's comfort, or not finite at all.
			s = 0
			for _, v := range x {
				s += float64(v) * float64(v)
			}
		}
		r.norm[i] = math.Sqrt(s)
		r.Sq[i] = float32(s)
		if r.E == r.in {
			continue
		}
		r.Sq[i] = 1
		inv := 1 / r.norm[i]
		if s == 0 {
			inv, r.Sq[i] = 0, 0
		}
		e := r.unit.Row(i)
		if s > 1e-20 && s < 1e30 {
			simd.Scale(e, float32(inv), x)
			continue
		}
		for k, v := range x {
			e[k] = float32(float64(v) * inv)
		}
	}
}

type backTask struct {
	r      *Rows
	de, dx *matrix.Dense
	scale  float64
	add    bool
}

func (t *backTask) Run(chunk int) {
	r := t.r
	for i := chunk * grain; i < min((chunk+1)*grain, t.de.Rows); i++ {
		g, d := t.de.Row(i), t.dx.Row(i)
		if r.E == r.in {
			if t.scale < 1e6 && !t.add {
				// |g| is at most 1e30 or so here, see MaxNorm.
				simd.Scale(d, float32(t.scale), g)
				continue
			}
			for k, v := range g {
				t.put(d, k, float64(v)*t.scale)
			}
			continue
		}
		if r.norm[i] == 0 {
			if !t.add {
				clear(d)
			}
			continue
		}
		e := r.E.Row(i)
		dot := simd.Dot(g, e)
		s := t.scale / r.norm[i]
		if s < 1e6 && !t.add {
			simd.Scale(d, float32(s), g)
			simd.Axpy(float32(-float64(dot)*s), e, d)
			continue
		}
		for k, v := range g {
			t.put(d, k, (float64(v)-float64(dot)*float64(e[k]))*s)
		}
	}
}

func (t *backTask) put(d []float32, k int, x float64) {
	if t.add {
		d[k] += clamp(x)
	} else {
		d[k] = clamp(x)
	}
}

// clamp converts to float32 without overflowing to an infinity, and leaves room
// for adding a few.
func clamp(x float64) float32 {
	const most = math.MaxFloat32 / 16
	return float32(max(-most, min(most, x)))
}
