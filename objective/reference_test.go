package objective

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// traits say what may be done to a batch without changing a loss.
type traits struct {
	relabel bool // another number for each class
	rotate  bool // an orthogonal map of the space
	scale   bool // all embeddings, as given, times a number, without normalisation
}

// The classes of losses. All keep their value when the batch is permuted, and
// when embeddings are scaled before normalisation.
var (
	ofPairs    = traits{relabel: true, rotate: true}
	ofProxies  = traits{}                           // tied to a class's proxy, and to where it points
	ofClasses  = traits{rotate: true}               // tied to a class's number alone
	ofElements = traits{relabel: true, scale: true} // tied to the axes
	ofScale    = traits{relabel: true}              // tied to the axes, and to their scale
)

// lossTraits must name every loss.
var lossTraits = map[string]traits{
	"triplet": ofPairs, "soft-triplet": ofPairs, "contrastive": ofPairs, "nca": ofPairs, "nca2": ofPairs,
	"multisimilarity": ofPairs, "npair": ofPairs, "ntxent": ofPairs, "supcon": ofPairs, "maskcon": ofPairs,
	"circle": ofPairs, "lifted": ofPairs, "generalized-lifted": ofPairs, "angular": ofPairs, "fastap": ofPairs,
	"ranked-list": ofPairs, "tuplet-margin": ofPairs, "intra-pair-variance": ofPairs,
	"margin":          ofClasses,
	"snr-contrastive": ofElements,
	"proxynca":        ofProxies, "proxy-anchor": ofProxies, "softtriple": ofProxies, "normsoftmax": ofProxies,
	"cosface": ofProxies, "arcface": ofProxies, "subcenter-arcface": ofProxies, "curricularface": ofProxies,
	"smooth-ap": ofPairs, "recall-at-k": ofPairs, "histogram": ofPairs, "dynamic-soft-margin": ofPairs,
	"spread": ofPairs, "vicreg": ofScale, "decorrelate": ofElements,
}

// reference is a batch as the definitions see it: double precision, explicit
// loops over tuples that were chosen beforehand.
type reference struct {
	x      [][]float64 // embeddings as given
	labels []int64
	unit   bool

	pos, neg [][]int // chosen for each anchor
	paired   bool    // pos[i][k] goes with neg[i][k]

	proxies [][]float64 // as given, one or more for each class
	perC    int
	betas   []float64
	running []float64   // what a loss keeps of the batches
	layers  [][]float64 // weights and biases of a loss's own layers

	e, p, base [][]float64 // rows and proxies as compared; base: rows at the start
}

func toRows(m *matrix.Dense) [][]float64 {
	rows := make([][]float64, m.Rows)
	for i := range rows {
		rows[i] = make([]float64, m.Cols)
		for k, v := range m.Row(i) {
			rows[i][k] = float64(v)
		}
	}
	return rows
}

func unitRows(x [][]float64) [][]float64 {
	out := make([][]float64, len(x))
	for i, r := range x {
		n := math.Sqrt(dot64(r, r))
		out[i] = make([]float64, len(r))
		for k, v := range r {
			if n > 0 {
				out[i][k] = v / n
			}
		}
	}
	return out
}

func dot64(a, b []float64) (s float64) {
	for k, v := range a {
		s += v * b[k]
	}
	return s
}

// prepare computes what is compared from what is given.
func (r *reference) prepare() {
	r.e = r.x
	if r.unit {
		r.e = unitRows(r.x)
	}
	r.p = unitRows(r.proxies)
	if r.base == nil {
		for _, row := range r.e {
			r.base = append(r.base, append([]float64(nil), row...))
		}
	}
}

func (r *reference) S(i, j int) float64  { return dot64(r.e[i], r.e[j]) }
func (r *reference) S0(i, j int) float64 { return dot64(r.base[i], r.base[j]) }

func (r *reference) D2(i, j int) (s float64) {
	for k, v := range r.e[i] {
		s += (v - r.e[j][k]) * (v - r.e[j][k])
	}
	return s
}

func (r *reference) D(i, j int) float64 { return math.Sqrt(r.D2(i, j)) }

func (r *reference) distance(squared bool, i, j int) float64 {
	if squared {
		return r.D2(i, j)
	}
	return r.D(i, j)
}

// sum collects the terms of a loss.
type sum struct {
	value         float64
	terms, active int
}

func (s *sum) add(v float64) {
	s.value += v
	s.terms++
	if v != 0 {
		s.active++
	}
}

func (s *sum) reduce(r loss.Reduction) float64 {
	switch r {
	case loss.Sum:
		return s.value
	case loss.MeanActive:
		return s.value / math.Max(1, float64(s.active))
	}
	return s.value / math.Max(1, float64(s.terms))
}

// triplets calls f for each chosen triplet.
func (r *reference) triplets(f func(a, p, n int)) {
	for a := range r.x {
		for k, p := range r.pos[a] {
			if r.paired {
				if k < len(r.neg[a]) && r.neg[a][k] >= 0 {
					f(a, p, r.neg[a][k])
				}
				continue
			}
			for _, n := range r.neg[a] {
				f(a, p, n)
			}
		}
	}
}

func logSumExp(z ...float64) float64 {
	top := math.Inf(-1)
	at := -1
	for k, x := range z {
		if x > top {
			top, at = x, k
		}
	}
	if at < 0 {
		return top
	}
	var s float64 // of all but the largest, so that the least share of them counts
	for k, x := range z {
		if k != at {
			s += math.Exp(x - top)
		}
	}
	return top + math.Log1p(s)
}

func hinge(x float64) float64 { return math.Max(0, x) }

// value is the loss by its definition.
//
// Long: one case for each loss.
func (r *reference) value(l loss.Loss) float64 {
	r.prepare()
	var s sum
	switch l := l.(type) {
	case loss.Triplet:
		r.triplets(func(a, p, n int) {
			s.add(hinge(r.distance(!l.Euclidean, a, p) - r.distance(!l.Euclidean, a, n) +
				option.OrDefault(l.Margin, 0.2)))
		})
	case loss.SoftTriplet:
		r.triplets(func(a, p, n int) {
			s.add(logSumExp(0, r.distance(l.Squared, a, p)-r.distance(l.Squared, a, n)))
		})
	case loss.NCA:
		r.triplets(func(a, p, n int) { s.add(logSumExp(0, r.S(a, n)-r.S(a, p))) })
	case loss.NCA2:
		r.triplets(func(a, p, n int) {
			s.add(logSumExp(0, r.S(a, n)*r.S(a, n)/2-r.S(a, p)+r.S(a, p)*r.S(a, p)/2))
		})
	case loss.Contrastive:
		for a := range r.x {
			for _, p := range r.pos[a] {
				s.add(r.distance(l.Squared, a, p))
			}
			for _, n := range r.neg[a] {
				s.add(hinge(option.OrDefault(l.Margin, 0.5) - r.distance(l.Squared, a, n)))
			}
		}
	case *loss.Margin:
		for a := range r.x {
			beta := r.betas[0]
			if len(r.betas) > 1 {
				beta = r.betas[r.labels[a]]
			}
			for _, p := range r.pos[a] {
				s.add(hinge(r.distance(l.Squared, a, p) - beta + option.OrDefault(l.Alpha, 0.2)))
			}
			for _, n := range r.neg[a] {
				s.add(hinge(beta - r.distance(l.Squared, a, n) + option.OrDefault(l.Alpha, 0.2)))
			}
		}
	case loss.MultiSimilarity:
		alpha, beta, lambda := option.OrDefault(l.Alpha, 2), option.OrDefault(l.Beta, 50),
			option.OrDefault(l.Lambda, 0.5)
		for a := range r.x {
			if len(r.pos[a]) == 0 || len(r.neg[a]) == 0 {
				s.add(0)
				continue
			}
			p, n := []float64{0}, []float64{0}
			for _, j := range r.pos[a] {
				p = append(p, -alpha*(r.S(a, j)-lambda))
			}
			for _, j := range r.neg[a] {
				n = append(n, beta*(r.S(a, j)-lambda))
			}
			s.add(logSumExp(p...)/alpha + logSumExp(n...)/beta)
		}
	case loss.NPair:
		r.ratio(&s, 1)
	case loss.NTXent:
		r.ratio(&s, 1/option.OrDefault(l.Temperature, 0.07))
	case loss.SupCon:
		t := option.OrDefault(l.Temperature, 0.1)
		for a := range r.x {
			if len(r.pos[a]) == 0 {
				continue
			}
			var all []float64
			for _, j := range append(append([]int(nil), r.pos[a]...), r.neg[a]...) {
				all = append(all, r.S(a, j)/t)
			}
			var v float64
			for _, p := range r.pos[a] {
				v += logSumExp(all...) - r.S(a, p)/t
			}
			s.add(v / float64(len(r.pos[a])))
		}
	case loss.MaskCon:
		t, soft := option.OrDefault(l.Temperature, 0.1), option.OrDefault(l.Soft, 0.05)
		for a := range r.x {
			var all, near []float64
			for _, j := range r.pos[a] {
				all, near = append(all, r.S(a, j)/t), append(near, r.S0(a, j)/soft)
			}
			for _, j := range r.neg[a] {
				all = append(all, r.S(a, j)/t)
			}
			var v float64
			for k := range near {
				v += math.Exp(near[k]-logSumExp(near...)) * (logSumExp(all...) - all[k])
			}
			if len(near) > 0 {
				s.add(v)
			}
		}
	case loss.Circle:
		m, gamma := option.OrDefault(l.Margin, 0.4), option.OrDefault(l.Gamma, 80)
		for a := range r.x {
			if len(r.pos[a]) == 0 || len(r.neg[a]) == 0 {
				continue
			}
			var p, n []float64
			for _, j := range r.pos[a] {
				p = append(p, -gamma*hinge(1+m-r.S0(a, j))*(r.S(a, j)-(1-m)))
			}
			for _, j := range r.neg[a] {
				n = append(n, gamma*hinge(r.S0(a, j)+m)*(r.S(a, j)-m))
			}
			s.add(logSumExp(0, logSumExp(p...)+logSumExp(n...)))
		}
	case loss.GeneralizedLifted:
		for a := range r.x {
			if len(r.pos[a]) == 0 || len(r.neg[a]) == 0 {
				continue
			}
			var p, n []float64
			for _, j := range r.pos[a] {
				p = append(p, r.D(a, j))
			}
			for _, j := range r.neg[a] {
				n = append(n, option.OrDefault(l.Margin, 1)-r.D(a, j))
			}
			s.add(hinge(logSumExp(p...) + logSumExp(n...)))
		}
	case loss.Lifted:
		for i := range r.x {
			for _, j := range r.pos[i] {
				var z []float64
				for _, n := range r.neg[i] {
					z = append(z, option.OrDefault(l.Margin, 1)-r.D(i, n))
				}
				for _, n := range r.neg[j] {
					z = append(z, option.OrDefault(l.Margin, 1)-r.D(j, n))
				}
				if len(z) > 0 {
					v := hinge(logSumExp(z...) + r.D(i, j))
					s.add(v * v / 2)
				}
			}
		}
	case loss.Angular:
		t := math.Pow(math.Tan(option.OrDefault(l.Degrees, 40)*math.Pi/180), 2)
		for a := range r.x {
			for _, p := range r.pos[a] {
				if len(r.neg[a]) == 0 {
					continue
				}
				z := []float64{0}
				for _, n := range r.neg[a] {
					z = append(z, 4*t*(r.S(a, n)+r.S(p, n))-2*(1+t)*r.S(a, p))
				}
				s.add(logSumExp(z...))
			}
		}
	case loss.FastAP:
		r.fastAP(&s, l)
	case loss.RankedList:
		alpha, m, share := option.OrDefault(l.Alpha, 1.2), option.OrDefault(l.Margin, 0.4),
			option.OrDefault(l.Imbalance, 0.5)
		for a := range r.x {
			if len(r.pos[a])+len(r.neg[a]) == 0 {
				continue
			}
			mean := func(idx []int, t float64, over func(d float64) float64) float64 {
				var top, bottom float64
				for _, j := range idx {
					d0 := math.Sqrt(dist0(r.base[a], r.base[j]))
					if over(d0) > 0 {
						w := math.Exp(t * over(d0))
						top += w * over(r.D(a, j))
						bottom += w
					}
				}
				if bottom == 0 {
					return 0
				}
				return top / bottom
			}
			tp := option.OrDefault(l.PosWeight, 0)
			s.add((1-share)*mean(r.pos[a], tp, func(d float64) float64 { return d - (alpha - m) }) +
				share*mean(r.neg[a], option.OrDefault(l.NegWeight, 10), func(d float64) float64 { return alpha - d }))
		}
	case loss.TupletMargin:
		for a := range r.x {
			if len(r.neg[a]) == 0 {
				continue
			}
			for _, p := range r.pos[a] {
				z := []float64{0}
				for _, n := range r.neg[a] {
					near := math.Cos(math.Acos(clamp1(r.S(a, p))) - option.OrDefault(l.Slack, 0.1))
					z = append(z, option.OrDefault(l.Scale, 64)*(r.S(a, n)-near))
				}
				s.add(logSumExp(z...))
			}
		}
	case loss.IntraPairVariance:
		var mp, np, mn, nn float64
		for a := range r.x {
			for _, p := range r.pos[a] {
				mp += r.S(a, p)
				np++
			}
			for _, n := range r.neg[a] {
				mn += r.S(a, n)
				nn++
			}
		}
		mp, mn = mp/math.Max(np, 1), mn/math.Max(nn, 1)
		for a := range r.x {
			for _, p := range r.pos[a] {
				s.add(math.Pow(hinge((1-option.OrDefault(l.PosEpsilon, 0.01))*mp-r.S(a, p)), 2) / np)
			}
			for _, n := range r.neg[a] {
				s.add(math.Pow(hinge(r.S(a, n)-(1+option.OrDefault(l.NegEpsilon, 0.01))*mn), 2) / nn)
			}
		}
	case loss.SNRContrastive:
		for a := range r.x {
			va := variance(r.e[a], nil)
			if va == 0 {
				continue
			}
			for _, p := range r.pos[a] {
				s.add(variance(r.e[a], r.e[p]) / va)
			}
			for _, n := range r.neg[a] {
				s.add(hinge(option.OrDefault(l.Margin, 1) - variance(r.e[a], r.e[n])/va))
			}
		}
	default:
		if !r.ranked(l, &s) {
			r.proxyValue(l, &s)
		}
	}
	return s.reduce(l.Traits().Reduction) + r.whole(l)
}

func (r *reference) ratio(s *sum, a float64) {
	for i := range r.x {
		if len(r.neg[i]) == 0 {
			continue
		}
		for _, p := range r.pos[i] {
			z := []float64{0}
			for _, n := range r.neg[i] {
				z = append(z, a*(r.S(i, n)-r.S(i, p)))
			}
			s.add(logSumExp(z...))
		}
	}
}

func (r *reference) fastAP(s *sum, l loss.FastAP) {
	bins := l.Bins
	if bins == 0 {
		bins = 10
	}
	width := 4 / float64(bins)
	for a := range r.x {
		if len(r.pos[a]) == 0 {
			continue
		}
		var v, cp, ca float64
		for b := range bins + 1 {
			var hp, hn float64
			for _, j := range r.pos[a] {
				hp += hinge(1 - math.Abs(r.D2(a, j)-float64(b)*width)/width)
			}
			for _, j := range r.neg[a] {
				hn += hinge(1 - math.Abs(r.D2(a, j)-float64(b)*width)/width)
			}
			cp += hp
			ca += hp + hn
			if ca > 0 {
				v += hp * cp / ca
			}
		}
		s.add(hinge(1 - v/float64(len(r.pos[a]))))
	}
}

// proxyValue is value for the losses with proxies.
//
// Long: one case for each loss.
func (r *reference) proxyValue(l loss.Loss, s *sum) {
	sim := func(i, c int) float64 { return dot64(r.e[i], r.p[c]) }
	softmaxTerm := func(i int, own float64, scale float64) {
		z := []float64{scale * own}
		for c := range r.p {
			if int64(c) != r.labels[i] {
				z = append(z, scale*sim(i, c))
			}
		}
		s.add(logSumExp(z...) - scale*own)
	}
	switch l := l.(type) {
	case *loss.ProxyNCA:
		sq := option.OrDefault(l.Scale, 3) * option.OrDefault(l.Scale, 3)
		for i, y := range r.labels {
			var own float64
			var z []float64
			for c, p := range r.p {
				var d float64
				for k, v := range p {
					d += (v - r.e[i][k]) * (v - r.e[i][k])
				}
				if int64(c) == y {
					own = sq * d
				} else {
					z = append(z, -sq*d)
				}
			}
			if len(z) > 0 {
				s.add(own + logSumExp(z...))
			}
		}
	case *loss.ProxyAnchor:
		alpha, delta := option.OrDefault(l.Alpha, 32), option.OrDefault(l.Delta, 0.1)
		with := map[int64]bool{}
		for _, y := range r.labels {
			with[y] = true
		}
		for c := range r.p {
			p, n := []float64{0}, []float64{0}
			for i, y := range r.labels {
				if y == int64(c) {
					p = append(p, -alpha*(sim(i, c)-delta))
				} else {
					n = append(n, alpha*(sim(i, c)+delta))
				}
			}
			s.add(logSumExp(p...)*float64(len(r.p))/math.Max(1, float64(len(with))) + logSumExp(n...))
		}
	case *loss.SoftTriple:
		la, gamma := option.OrDefault(l.La, 20), option.OrDefault(l.Gamma, 0.1)
		for i, y := range r.labels {
			var z []float64
			var own float64
			for c := 0; c < len(r.p)/r.perC; c++ {
				var w []float64
				for k := range r.perC {
					w = append(w, sim(i, c*r.perC+k)/gamma)
				}
				var v float64
				for k := range r.perC {
					v += math.Exp(w[k]-logSumExp(w...)) * sim(i, c*r.perC+k)
				}
				if int64(c) == y {
					v -= option.OrDefault(l.Delta, 0.01)
					own = la * v
				}
				z = append(z, la*v)
			}
			s.add(logSumExp(z...) - own)
		}
	case *loss.NormSoftmax:
		for i, y := range r.labels {
			softmaxTerm(i, sim(i, int(y)), 1/option.OrDefault(l.Temperature, 0.05))
		}
	case *loss.CosFace:
		for i, y := range r.labels {
			softmaxTerm(i, sim(i, int(y))-option.OrDefault(l.Margin, 0.35), option.OrDefault(l.Scale, 64))
		}
	case *loss.ArcFace:
		m := option.OrDefault(l.Margin, 0.5)
		for i, y := range r.labels {
			softmaxTerm(i, widened(sim(i, int(y)), m), option.OrDefault(l.Scale, 64))
		}
	case *loss.SubcenterArcFace:
		for i, y := range r.labels {
			var z []float64
			var own float64
			for c := 0; c < len(r.p)/r.perC; c++ {
				v := math.Inf(-1)
				for k := range r.perC {
					v = math.Max(v, sim(i, c*r.perC+k))
				}
				if int64(c) == y {
					v = widened(v, option.OrDefault(l.Margin, 0.5))
					own = option.OrDefault(l.Scale, 64) * v
				}
				z = append(z, option.OrDefault(l.Scale, 64)*v)
			}
			s.add(logSumExp(z...) - own)
		}
	case *loss.CurricularFace:
		scale, m := option.OrDefault(l.Scale, 64), option.OrDefault(l.Margin, 0.5)
		for i, y := range r.labels {
			own := sim(i, int(y))
			z := []float64{scale * widened(own, m)}
			for c := range r.p {
				if v := sim(i, c); int64(c) != y {
					if v > math.Cos(math.Acos(clamp1(own))+m) {
						v *= r.running[0] + v
					}
					z = append(z, scale*v)
				}
			}
			s.add(logSumExp(z...) - z[0])
		}
	default:
		panic("no reference for this loss")
	}
}

// widened is the cosine of an angle that is larger by m, as ArcFace continues it.
func widened(c, m float64) float64 {
	angle := math.Acos(clamp1(c))
	if angle+m > math.Pi {
		return math.Cos(angle) - m*math.Sin(m)
	}
	return math.Cos(angle + m)
}

func clamp1(x float64) float64 { return math.Max(-1, math.Min(1, x)) }

func dist0(a, b []float64) (s float64) {
	for k, v := range a {
		s += (v - b[k]) * (v - b[k])
	}
	return s
}

// variance of a, or of a - b.
func variance(a, b []float64) float64 {
	x := append([]float64(nil), a...)
	for k := range b {
		x[k] -= b[k]
	}
	var mean, v float64
	for _, y := range x {
		mean += y / float64(len(x))
	}
	for _, y := range x {
		v += (y - mean) * (y - mean) / float64(len(x))
	}
	return v
}

// choose fills in what a miner chooses on the batch in a step. Samples of equal
// ids are no pair, unless the loss compares views.
func (r *reference) choose(e *matrix.Dense, ids []int64, cfg MiningConfig, l loss.Loss, step uint64) {
	tuples := l.Terms().Tuples() != nil
	sets, traits := !tuples, l.Traits()
	var rows, less pair.Rows
	if err := rows.Set(e, r.unit); err != nil {
		panic(err)
	}
	t := &pair.Table{A: &rows, R: &rows}
	if traits.Centered {
		less.Center(&rows)
		t.A, t.R = &less, &less
	}
	t.Groups.BuildBy(e.Rows, e.Rows, true, func(i, j int) pair.Relation {
		switch {
		case traits.Views && ids[i] == ids[j]:
			return pair.Positive
		case traits.Views && r.labels[i] == r.labels[j]:
			return pair.Negative
		case traits.OtherViews && ids != nil && ids[i] == ids[j] && r.labels[i] == r.labels[j]:
			return pair.Positive
		case traits.Views || ids != nil && ids[i] == ids[j]:
			return pair.Ignored
		case r.labels[i] == r.labels[j]:
			return pair.Positive
		}
		return pair.Negative
	})
	t.Load(0, e.Rows)
	m := newMiner(cfg)
	m.Begin(t, step)
	var s minerScratch
	r.pos, r.neg = make([][]int, e.Rows), make([][]int, e.Rows)
	for i := range e.Rows {
		sel := m.Mine(i, &s)
		neg := sel.Neg
		if sel.All {
			neg = t.NegativeIndices(i, nil)
		}
		seen := map[int32]bool{}
		for _, j := range neg {
			if sets && (j < 0 || seen[j]) {
				continue // a set of pairs has each but once
			}
			seen[j] = true
			r.neg[i] = append(r.neg[i], int(j))
		}
		for _, j := range sel.Pos {
			r.pos[i] = append(r.pos[i], int(j))
		}
		r.paired = r.paired || sel.Paired && !sets
	}
}
