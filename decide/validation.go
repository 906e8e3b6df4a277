package decide

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
)

// Validate calibrates on half of the classes, drawn by the seed, and validates the calibration on
// the other half: it measures false matches at each FMR, and strangers that get a label at
// each FPIR and size of gallery, as far as there are enough classes.
func Validate(ctx context.Context, x *matrix.Dense, labels []int64, ask ValidationOptions,
	opt Options) (*Validation, error) {
	classes := slices.Compact(slices.Sorted(slices.Values(labels)))
	rng := rand.New(rand.NewPCG(opt.Seed, 4))
	rng.Shuffle(len(classes), func(a, b int) { classes[a], classes[b] = classes[b], classes[a] })
	first := make(map[int64]bool)
	for _, c := range classes[:len(classes)/2] {
		first[c] = true
	}
	half := func(in bool) (*matrix.Dense, []int64) {
		var rows []int
		for i, l := range labels {
			if first[l] == in {
				rows = append(rows, i)
			}
		}
		of := make([]int64, len(rows))
		for k, i := range rows {
			of[k] = labels[i]
		}
		return copyRows(x, rows), of
	}
	ax, al := half(true)
	c, err := Calibrate(ctx, ax, al, opt)
	if err != nil {
		return nil, err
	}
	bx, bl := half(false)
	return c.Validate(ctx, bx, bl, ask)
}

// ValidationOptions lists the rates, gallery sizes and coverages to validate.
type ValidationOptions struct {
	FMR       []float64
	FPIR      []float64
	Galleries []int // numbers of classes
	Coverage  []float64
	// Seen is a calibration on classes that the network was trained on, for comparison; it may be
	// nil.
	Seen *Calibration
}

// Validation compares the promises of a calibration with measurements on other classes.
type Validation struct {
	Classes   int        `json:"classes"` // number of measured classes
	Photos    int        `json:"photos"`
	Matches   []Match    `json:"matches"`
	OpenSets  []OpenSet  `json:"strangers"`
	Coverages []Coverage `json:"coverage"`
	// Reliability is the reliability of the probability "same" on these classes, with both
	// kinds of pairs at equal weight.
	Reliability Reliability `json:"same"`
	// PlattReliability is the reliability of Platt scaling that was fitted to the calibration's classes,
	// SeenPlattReliability of one fitted to the classes of Ask.Seen.
	PlattReliability     Reliability  `json:"platt"`
	SeenPlattReliability *Reliability `json:"seen_platt,omitempty"`
}

// Refusals returns the reasons for promises that were refused.
func (t *Validation) Refusals() (out []string) {
	for _, m := range t.Matches {
		out = append(out, m.RefusalReason)
	}
	for _, o := range t.OpenSets {
		out = append(out, o.RefusalReason)
	}
	return slices.DeleteFunc(out, func(text string) bool { return text == "" })
}

// PooledECE returns the calibration error (ECE) of several trials together: differences between
// trials that are due to their classes cancel out, and common errors remain.
func PooledECE(of []Reliability) float64 {
	all := computeReliability(func(yield func(p, right, wrong float64)) {
		for _, r := range of {
			for _, b := range r.Bins {
				yield(b.Probability, b.Share*b.Weight, (1-b.Share)*b.Weight)
			}
		}
	})
	return all.ECE
}

// Match is a false-match rate, promised and measured. Refused is the reason if it was not measured.
type Match struct {
	Threshold
	FMR           float64 `json:"fmr"`
	TMR           float64 `json:"tmr"`
	RefusalReason string  `json:"refused,omitempty"`
	// UnboundedFMR is the rate at the threshold that has the requested rate on the classes of the
	// calibration, without a bound. Seen is the rate at such a threshold of Ask.Seen.
	UnboundedFMR float64  `json:"plain"`
	SeenFMR      *float64 `json:"seen,omitempty"`
}

// OpenSet is a false-positive identification rate, promised and measured.
type OpenSet struct {
	Threshold
	Gallery       int     `json:"gallery"`
	FPIR          float64 `json:"fpir"`
	TPIR          float64 `json:"tpir"` // share of photos with a photo of their class within the threshold
	RefusalReason string  `json:"refused,omitempty"`
	// ConstantFPIR is the rate at a constant distance for all galleries: the distance that has the
	// requested rate on the calibration's classes in the smallest gallery of Ask.
	ConstantFPIR float64 `json:"constant"`
}

// Coverage is a coverage, promised and measured, with the same weight for every class. Size is
// the mean number of classes in a set.
type Coverage struct {
	Requested float64 `json:"coverage"`
	Measured  float64 `json:"measured"`
	// LowestDecile is the coverage that nine classes in ten have at least.
	LowestDecile  float64 `json:"low"`
	MeanSize      float64 `json:"size"`
	RefusalReason string  `json:"refused,omitempty"`
	// ByClass is the same if classes use their own photos; nil if Refused.
	ByClass *ClassCoverage `json:"by_class,omitempty"`
}

// Validate compares what a calibration promises with labelled embeddings of other classes.
func (c *Calibration) Validate(ctx context.Context, x *matrix.Dense, labels []int64,
	ask ValidationOptions) (*Validation, error) {
	if x != nil {
		if err := c.CheckNetwork(embedding.Network{}, "", x.Cols); err != nil {
			return nil, err
		}
	}
	s, _, err := newSet(x, labels, &Options{Distance: c.Distance, Seed: c.Seed})
	if err != nil {
		return nil, err
	}
	if s.numIdentities() < 2 {
		return nil, fmt.Errorf("one class has no false matches: at least two are needed")
	}
	near, err := s.findNearest(ctx)
	if err != nil {
		return nil, err
	}
	fine, err := s.countPairs(ctx, func() {})
	if err != nil {
		return nil, err
	}
	t := &Validation{Classes: s.numIdentities(), Photos: s.x.Rows}
	for _, rate := range ask.FMR {
		m := Match{}
		if m.Threshold, err = c.Threshold(rate); err != nil {
			m.RefusalReason = err.Error()
		} else {
			m.FMR, m.TMR = fine.sharesWithin(s, m.Distance)
		}
		if d, ok := c.constantThreshold(c.FalseMatch, rate); ok {
			m.UnboundedFMR, _ = fine.sharesWithin(s, d)
		}
		if ask.Seen != nil {
			seen := 0.0
			if d, ok := ask.Seen.constantThreshold(ask.Seen.FalseMatch, rate); ok {
				seen, _ = fine.sharesWithin(s, d)
			}
			m.SeenFMR = &seen
		}
		m.Rate = rate
		t.Matches = append(t.Matches, m)
	}
	for _, g := range ask.Galleries {
		for _, rate := range ask.FPIR {
			o := OpenSet{Gallery: g}
			each := s.totalPhotos() / float64(s.numIdentities())
			gallery := Gallery{Classes: g, Items: int(math.Round(float64(g) * max(1, each)))}
			if g > s.numIdentities()-1 {
				continue
			}
			if o.Threshold, err = c.UnknownThreshold(rate, gallery); err != nil {
				o.RefusalReason = err.Error()
			} else {
				o.FPIR, o.TPIR = near.openSetRates(g, o.Distance)
			}
			if d, ok := c.constantThreshold(c.strangerRates(slices.Min(ask.Galleries)), rate); ok {
				o.ConstantFPIR, _ = near.openSetRates(g, d)
			}
			o.Rate = rate
			t.OpenSets = append(t.OpenSets, o)
		}
	}
	for _, coverage := range ask.Coverage {
		t.Coverages = append(t.Coverages, near.measureCoverage(c, s, coverage))
	}
	if err := near.measureClassCoverage(ctx, c, t.Coverages); err != nil {
		return nil, err
	}
	even := func(d float64) float64 { return c.MatchProbability(d, 0.5) }
	t.Reliability = measureReliability(s, fine, even)
	t.PlattReliability = measureReliability(s, fine, c.fitPlatt())
	all := []distanceProbability{{even, &t.Reliability}, {c.fitPlatt(), &t.PlattReliability}}
	if ask.Seen != nil {
		r := measureReliability(s, fine, ask.Seen.fitPlatt())
		t.SeenPlattReliability = &r
		all = append(all, distanceProbability{ask.Seen.fitPlatt(), t.SeenPlattReliability})
	}
	return t, s.computeChance(ctx, fine, all...)
}

// strangerRates returns the rates by distance in galleries of a number of classes, or of the next
// smaller number that the calibration has.
func (c *Calibration) strangerRates(classes int) []float64 {
	k := sort.Search(len(c.Strangers), func(k int) bool { return c.Strangers[k].Classes > classes })
	return c.Strangers[max(0, k-1)].Rate
}

func lastAtMost(v []float64, most float64) int {
	k := -1
	for i, x := range v {
		if x <= most {
			k = i
		}
	}
	return k
}

// sharesWithin returns the weighted shares of pairs of different classes, and of the same class, up to a distance.
func (f *pairCounts) sharesWithin(s *set, d float64) (different, same float64) {
	var a, b, aa, bb int64
	for k := range f.same {
		aa, bb = aa+f.different[k], bb+f.same[k]
		if f.different[k]+f.same[k] > 0 && toDistance(s.distance, maxValueOf(uint32(k))) <= d {
			a, b = aa, bb
		}
	}
	return float64(a) / float64(max(1, aa)), float64(b) / float64(max(1, bb))
}

// measureReliability returns the reliability of a probability "same" on counted pairs.
func measureReliability(s *set, f *pairCounts, p func(distance float64) float64) Reliability {
	var same, different float64
	for k := range f.same {
		same, different = same+float64(f.same[k]), different+float64(f.different[k])
	}
	return computeReliability(func(yield func(p, right, wrong float64)) {
		for k := range f.same {
			if f.same[k]+f.different[k] > 0 {
				yield(p(toDistance(s.distance, maxValueOf(uint32(k)))), float64(f.same[k])/max(1, same),
					float64(f.different[k])/max(1, different))
			}
		}
	})
}

// nearestDistances has, for every row, the distance to the nearest row of each class: of its own class
// in own (+Inf if the class has no other row), and of the others in ascending order. items has the
// distances to the nearest items of the others, see set.setWeights. Row next is the nearest row of its
// own class, and second the distance to the second nearest.
type nearestDistances struct {
	s      *set
	same   []float64
	next   []int
	second []float64
	others [][]float32
	items  [][]float32
}

func (s *set) findNearest(ctx context.Context) (*nearestDistances, error) {
	out := &nearestDistances{s: s, same: make([]float64, s.x.Rows), next: make([]int, s.x.Rows),
		second: make([]float64, s.x.Rows), others: make([][]float32, s.x.Rows),
		items: make([][]float32, s.x.Rows)}
	var mu sync.Mutex
	err := s.scan(ctx, func(i, lo int, of [][]float32) {
		for r, v := range of {
			q := lo + r
			own, second, next := float32(math.Inf(1)), float32(math.Inf(1)), -1
			for p := s.first[i]; p < s.first[i+1]; p++ {
				switch d := v[p]; {
				case p == q:
				case d < own:
					own, second, next = d, own, p
				default:
					second = min(second, d)
				}
			}
			others := s.nearestOthers(i, v, func(int) bool { return true })
			items := s.nearestOthers(i, v, func(p int) bool { return s.isItem[p] })
			mu.Lock()
			out.same[q], out.second[q] = toDistance(s.distance, float64(own)), toDistance(s.distance, float64(second))
			out.next[q], out.others[q], out.items[q] = next, others, items
			mu.Unlock()
		}
	}, func() {})
	return out, err
}

// nearestOthers returns the distances of the nearest of some rows of every other class, ascending.
func (s *set) nearestOthers(i int, v []float32, in func(p int) bool) (out []float32) {
	for j := range s.numIdentities() {
		if j == i {
			continue
		}
		least := float32(math.Inf(1))
		for p := s.first[j]; p < s.first[j+1]; p++ {
			if in(p) {
				least = min(least, v[p])
			}
		}
		out = append(out, float32(toDistance(s.distance, float64(least))))
	}
	slices.Sort(out)
	return out
}

// openSetRates returns the share of rows that have an item of one of g other classes, drawn at random, within d,
// and the share of rows that have an item of their own class.
func (n *nearestDistances) openSetRates(g int, d float64) (fpir, tpir float64) {
	classes := n.s.numIdentities()
	table := make([]float64, classes)
	for k := range table {
		table[k] = drawProbability(classes-1, k, g)
	}
	several, photos := 0.0, n.s.totalPhotos()
	for q, others := range n.items {
		k := 0
		for k < len(others) && float64(others[k]) <= d {
			k++
		}
		i := int(n.s.identityOf[q])
		w := n.s.weight[i]
		fpir += w * table[k] / photos
		if n.s.numPhotos(i) > 1 {
			several += w
			if n.same[q] <= d {
				tpir += w
			}
		}
	}
	return fpir, tpir / max(1, several)
}

// measureCoverage measures a coverage by searching every row among all others.
func (n *nearestDistances) measureCoverage(c *Calibration, s *set, coverage float64) Coverage {
	out := Coverage{Requested: coverage}
	var each []float64
	for i := range s.numIdentities() {
		if s.numPhotos(i) < 2 {
			continue
		}
		reach, err := c.CoverageDistance(coverage, s.numPhotos(i)-1)
		if err != nil {
			out.RefusalReason = err.Error()
			return out
		}
		weight, covered := 1/float64(s.numPhotos(i)), 0.0
		for q := s.first[i]; q < s.first[i+1]; q++ {
			if n.same[q] <= reach {
				covered += weight
				out.MeanSize += weight
			}
			for _, d := range n.others[q] {
				if float64(d) > reach {
					break
				}
				out.MeanSize += weight
			}
		}
		each = append(each, covered)
		out.Measured += covered
	}
	classes := float64(max(1, len(each)))
	out.Measured, out.MeanSize, out.LowestDecile = out.Measured/classes, out.MeanSize/classes, lowestDecile(each)
	return out
}
