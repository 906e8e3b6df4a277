package noise

import "math"

// Points is an embedding: N x Dim coordinates, row-major.
type Points struct {
	Dim int
	X   []float64
}

// N returns the number of points.
func (p Points) N() int { return len(p.X) / p.Dim }

// Row returns point i, sharing storage.
func (p Points) Row(i int) []float64 { return p.X[i*p.Dim : (i+1)*p.Dim] }

// Distances returns the n x n matrix of Euclidean distances.
func (p Points) Distances() []float64 {
	n := p.N()
	d := make([]float64, n*n)
	p.distances(d, false)
	return d
}

func (p Points) distances(d []float64, squared bool) {
	n := p.N()
	for i := range n {
		a := p.Row(i)
		for j := range i {
			s := 0.0
			for k, v := range p.Row(j) {
				s += (a[k] - v) * (a[k] - v)
			}
			if !squared {
				s = math.Sqrt(s)
			}
			d[i*n+j], d[j*n+i] = s, s
		}
		d[i*n+i] = 0
	}
}

// Diameters returns the largest distance within each class.
func Diameters(m Model, d []float64) []float64 {
	out := make([]float64, m.T)
	n := m.N()
	for i := range n {
		for j := range i {
			if m.Own[i] == m.Own[j] {
				out[m.Own[i]] = max(out[m.Own[i]], d[i*n+j])
			}
		}
	}
	return out
}

// Modes returns the number of groups into which each class falls when points
// at most gap apart are joined (single linkage).
func Modes(m Model, d []float64, gap float64) []int {
	n := m.N()
	group := make([]int, n)
	for i := range group {
		group[i] = i
	}
	find := func(i int) int {
		for group[i] != i {
			i = group[i]
		}
		return i
	}
	for i := range n {
		for j := range i {
			if m.Own[i] == m.Own[j] && d[i*n+j] <= gap {
				group[find(i)] = find(j)
			}
		}
	}
	out := make([]int, m.T)
	for i := range n {
		if group[i] == i {
			out[m.Own[i]]++
		}
	}
	return out
}
