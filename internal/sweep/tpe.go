package sweep

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The constants of TPE.
const (
	startTrials  = 10   // first trials, drawn at random
	goodShare    = 0.25 // share of the known trials that counts as good
	candidates   = 24   // candidates per trial; the likeliest to be good is tried
	uniformShare = 4    // one of this many later trials is drawn at random
)

// drawer draws the settings of trials. Each trial has its own random generator, so that the n-th random trial does
// not depend on earlier trials.
type drawer struct {
	search Search
	seed   uint64
	ranges []Range
	start  []Setting // fixed settings of the first trial
}

func (d *drawer) generator(number int) *rand.Rand {
	return rand.New(rand.NewPCG(d.seed, uint64(number)))
}

// draw returns the settings of a trial from those whose scores are known by now.
func (d *drawer) draw(number int, known []*Trial) []Setting {
	rng := d.generator(number)
	var good, bad []*Trial
	if d.search == TPE && len(known) >= startTrials && number%uniformShare != 0 {
		ranked := slices.Clone(known)
		slices.SortStableFunc(ranked, compareTrials)
		n := max(1, int(math.Ceil(goodShare*float64(len(ranked)))))
		good, bad = ranked[:n], ranked[n:]
	}
	out := make([]Setting, len(d.ranges))
	for i := range d.ranges {
		r := &d.ranges[i]
		if good == nil {
			out[i] = r.settingAt(rng.Float64())
			for _, s := range d.start {
				if number == 1 && s.Key == r.Key {
					out[i].Value = s.Value
				}
			}
			continue
		}
		l := newDensity(r, i, good)
		if r.Values != nil { // draw; otherwise only the likeliest value would be tried
			out[i] = r.settingAt(l.draw(rng))
			continue
		}
		g := newDensity(r, i, bad)
		best, ratio := 0.0, math.Inf(-1)
		for range candidates {
			u := l.draw(rng)
			if q := math.Log(l.valueAt(u)) - math.Log(g.valueAt(u)); q > ratio {
				best, ratio = u, q
			}
		}
		out[i] = r.settingAt(best)
	}
	return out
}

// compareTrials orders trials from the best: more rungs first, then higher scores.
// Trials that failed are last.
func compareTrials(a, b *Trial) int {
	if a.hasFailed() != b.hasFailed() {
		return map[bool]int{true: 1, false: -1}[a.hasFailed()]
	}
	return cmp.Or(-cmp.Compare(a.Epochs, b.Epochs), -cmp.Compare(a.Score, b.Score), cmp.Compare(a.Number, b.Number))
}

// density is a Parzen estimate over the places of a range: a bell around each trial's place, and one as wide as
// the range around its middle, each cut off at 0 and 1. For listed values it has their counts, plus one
// each.
type density struct {
	counts []float64 // counts of listed values
	mean   []float64
	width  []float64
}

func newDensity(r *Range, column int, trials []*Trial) *density {
	d := &density{}
	if r.Values != nil {
		d.counts = make([]float64, len(r.Values))
		for i := range d.counts {
			d.counts[i] = 1
		}
		for _, t := range trials {
			if k := slices.Index(r.Values, t.Set[column].Value); k >= 0 {
				d.counts[k]++
			}
		}
		return d
	}
	d.mean = []float64{0.5}
	for _, t := range trials {
		d.mean = append(d.mean, r.PlaceOf(t.Set[column].Value))
	}
	slices.Sort(d.mean)
	// The width is the distance to the farther neighbour, but at least a minimum.
	least := 1 / min(100, 1+float64(len(d.mean)))
	for i, m := range d.mean {
		left, right := m, 1-m
		if i > 0 {
			left = m - d.mean[i-1]
		}
		if i+1 < len(d.mean) {
			right = d.mean[i+1] - m
		}
		d.width = append(d.width, min(max(left, right, least), 1))
	}
	d.width[slices.Index(d.mean, 0.5)] = 1
	return d
}

// draw returns a place.
func (d *density) draw(rng *rand.Rand) float64 {
	if d.counts != nil {
		// At is below their sum, and as counts are whole numbers no difference is rounded.
		at, k := rng.Float64()*sum(d.counts), 0
		for ; at >= d.counts[k]; k++ {
			at -= d.counts[k]
		}
		return (float64(k) + 0.5) / float64(len(d.counts))
	}
	k := rng.IntN(len(d.mean))
	for range 100 {
		if u := d.mean[k] + d.width[k]*rng.NormFloat64(); u >= 0 && u <= 1 {
			return u
		}
	}
	return d.mean[k]
}

// valueAt is the density at a place of an interval.
func (d *density) valueAt(u float64) float64 {
	p := 0.0
	for k, m := range d.mean {
		w := d.width[k]
		z := (u - m) / w
		inside := (math.Erf((1-m)/w/math.Sqrt2) - math.Erf((0-m)/w/math.Sqrt2)) / 2
		p += math.Exp(-z*z/2) / (w * math.Sqrt(2*math.Pi)) / inside
	}
	return p / float64(len(d.mean))
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}
