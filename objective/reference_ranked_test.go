package objective

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/loss"
)

// ranked is value for the losses that are made of soft comparisons, and for those
// that compare pairs with the distribution of others.
//
// Long: one case for each loss, its formula.
func (r *reference) ranked(l loss.Loss, s *sum) bool {
	above := func(t, x float64) float64 { return 1 / (1 + math.Exp(-x/t)) }
	switch l := l.(type) {
	case loss.SmoothAP:
		t := option.OrDefault(l.Temperature, 0.01)
		for a := range r.x {
			if len(r.pos[a]) == 0 {
				continue
			}
			var ap float64
			for _, p := range r.pos[a] {
				own, other := 1.0, 0.0
				for _, q := range r.pos[a] {
					if q != p {
						own += above(t, r.S(a, q)-r.S(a, p))
					}
				}
				for _, n := range r.neg[a] {
					other += above(t, r.S(a, n)-r.S(a, p))
				}
				ap += own / (own + other) / float64(len(r.pos[a]))
			}
			s.add(hinge(1 - ap))
		}
	case loss.RecallAtK:
		most := l.K
		if most == 0 {
			most = 16
		}
		for a := range r.x {
			if len(r.pos[a]) == 0 {
				continue
			}
			var recall, ks float64
			for k := 1; k <= most; k *= 2 {
				var hits float64
				for _, p := range r.pos[a] {
					rank := 1.0
					for _, z := range append(append([]int(nil), r.pos[a]...), r.neg[a]...) {
						if z != p {
							rank += above(option.OrDefault(l.Temperature, 0.01), r.S(a, z)-r.S(a, p))
						}
					}
					hits += above(option.OrDefault(l.RankTemperature, 1), float64(k)-rank)
				}
				recall += math.Min(hits, float64(k)) / math.Min(float64(k), float64(len(r.pos[a])))
				ks++
			}
			s.add(hinge(1 - recall/ks))
		}
	case loss.Histogram:
		bins := l.Bins
		if bins == 0 {
			bins = 100
		}
		width := 2 / float64(bins)
		at := func(x float64, node int) float64 {
			return hinge(1 - math.Abs(clamp1(x)-(float64(node)*width-1))/width)
		}
		pos, n := make([]float64, bins+1), 0.0
		for a := range r.x {
			for _, p := range r.pos[a] {
				for b := range pos {
					pos[b] += at(r.S(a, p), b)
				}
				n++
			}
		}
		for a := range r.x {
			for _, j := range r.neg[a] {
				var v, below float64
				for b := range pos {
					below += pos[b] / math.Max(n, 1)
					v += at(r.S(a, j), b) * below
				}
				s.add(v)
			}
		}
	case *loss.DynamicSoftMargin:
		for a := range r.x {
			for _, p := range r.pos[a] {
				for _, n := range r.neg[a] {
					s.add(r.exceeded(r.D0(a, p)-r.D0(a, n)) * (r.D(a, p) - r.D(a, n)))
				}
			}
		}
	case loss.Spread:
		r.ratio(s, 1/option.OrDefault(l.Temperature, 0.1))
	case *loss.VICReg:
		for a := range r.x {
			for _, p := range r.pos[a] {
				s.add(option.OrDefault(l.Lambda, 25) * r.D2(a, p))
			}
		}
	case *loss.Decorrelate: // no terms of pairs
	default:
		return false
	}
	return true
}

// whole is the term of a loss in the embeddings themselves.
func (r *reference) whole(l loss.Loss) float64 {
	if l, ok := l.(*loss.Decorrelate); ok {
		return r.decorrelate(l)
	}
	v, ok := l.(*loss.VICReg)
	if !ok || len(r.e) < 2 {
		return 0
	}
	d := len(r.e[0])
	mean := make([]float64, d)
	for _, e := range r.e {
		for k, x := range e {
			mean[k] += x / float64(len(r.e))
		}
	}
	var value float64
	for k := range d {
		for j := range d {
			var c float64
			for _, e := range r.e {
				c += (e[k] - mean[k]) * (e[j] - mean[j]) / float64(len(r.e)-1)
			}
			if j == k {
				value += option.OrDefault(v.Mu, 25) / float64(d) * hinge(option.OrDefault(v.Gamma, 1)-math.Sqrt(c+1e-4))
			} else {
				value += option.OrDefault(v.Nu, 1) / float64(d) * c * c
			}
		}
	}
	return value
}

// D0 is the Euclidean distance at the start.
func (r *reference) D0(i, j int) float64 { return math.Sqrt(dist0(r.base[i], r.base[j])) }

// exceeded is the share of the running histogram up to v, linear between nodes.
func (r *reference) exceeded(v float64) float64 {
	at := math.Max(0, math.Min(4, v+2)) / 4 * float64(len(r.running)-1)
	var up, all float64
	for k, h := range r.running {
		all += h
		up += h * math.Min(1, math.Max(0, at-float64(k)+1))
	}
	return up / math.Max(all, 1e-300)
}

// decorrelate is C of loss.Decorrelate, whose layers r.layers holds.
func (r *reference) decorrelate(l *loss.Decorrelate) float64 {
	d := len(r.e[0])
	lengths := []int{d - d/2, d / 2}
	if l.Parts != nil {
		sum := 0
		for _, p := range l.Parts {
			sum += p
		}
		lengths = nil
		for _, p := range l.Parts {
			lengths = append(lengths, d/sum*p)
		}
	}
	part := func(from, n int) [][]float64 {
		var out [][]float64
		for _, e := range r.e {
			out = append(out, e[from:from+n])
		}
		return unitRows(out)
	}
	// affine applies layer k to a vector.
	affine := func(k int, x []float64) []float64 {
		w, b := r.layers[k], r.layers[k+1]
		out := make([]float64, len(b))
		for i := range out {
			out[i] = b[i] + dot64(w[i*len(x):(i+1)*len(x)], x)
		}
		return out
	}
	first := part(0, lengths[0])
	at, value := lengths[0], 0.0
	for k, n := range lengths[1:] {
		if n == 0 {
			continue
		}
		for i, p := range part(at, n) {
			h := affine(4*k, p)
			for j := range h {
				h[j] = hinge(h[j])
			}
			u := unitRows([][]float64{affine(4*k+2, h)})[0]
			for j, a := range first[i] {
				value += a * a * u[j] * u[j] / float64(len(r.e))
			}
		}
		at += n
	}
	return value
}
