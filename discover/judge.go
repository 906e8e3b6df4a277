package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/mat"
)

// Verdict says which classes of a set hold several kinds, and how they were judged.
type Verdict struct {
	// Classes are the classes of the set, in the order of their labels.
	Classes []Judged `json:"classes"`
	// Tested is the number of classes with at least 10 rows, copies counted once; Several
	// is the number of those with several kinds, at Level.
	Tested  int     `json:"tested"`
	Several int     `json:"several"`
	Level   float64 `json:"level"`
	// Calibrated says that 24 classes or more were tested and fewer than half of them hold
	// several kinds, so that the scatter of one kind was learned from the classes of the set.
	Calibrated bool `json:"calibrated"`
	// Told is the share of classes in which several kinds would be found if each were
	// merged with its nearest class; 0 if not Calibrated.
	Told float64 `json:"told"`
}

// Judged is the verdict on one class.
type Judged struct {
	Label int64 `json:"label"`
	// P is the probability that a class of one kind would have gaps as wide; 1 if there are
	// too few rows to tell.
	P float64 `json:"p"`
	// Told says that the class has enough rows to be judged.
	Told bool `json:"told"`
}

// Coarse reports whether labels stand for several kinds of things each: whether 24 classes
// or more were tested and at least half of these hold several kinds. It takes half, since
// a run uses easy positives for all classes or none, and they cost classes of one kind
// more than they give the others. It takes 24, since with fewer classes series of
// photographs cannot be told from kinds.
func (v *Verdict) Coarse() bool { return v.Tested >= reference && v.Half() }

// Half reports whether at least half of the tested classes hold several kinds or, if the
// verdict is not Calibrated, fall into groups.
func (v *Verdict) Half() bool { return v.Several > 0 && 2*v.Several >= v.Tested }

// String describes the verdict in words.
func (v *Verdict) String() string {
	if v.Tested == 0 {
		return fmt.Sprintf("no class has the %d samples that it takes to tell whether it holds several kinds", fewest)
	}
	of, level := fmt.Sprintf("%d of %d classes", v.Several, v.Tested), 100*v.Level
	if v.Calibrated {
		return fmt.Sprintf("%s hold several kinds (level %.3g %%; most classes are in one piece; of those put "+
			"together with their nearest, %.0f %% would be found)", of, level, 100*v.Told)
	}
	if v.Several == 0 {
		return fmt.Sprintf("none of %s falls into groups (level %.3g %%)", spell.Number(v.Tested, "class", "classes"),
			level)
	}
	return fmt.Sprintf("%s fall into groups (level %.3g %%; such groups may be bursts or backgrounds, not kinds: "+
		"look at them)", of, level)
}

// judged is a class with what is known of it.
type judged struct {
	label   int64
	rows    []int
	sample  []int // rows that are looked at, one of each group of copies
	mean    []float64
	scatter float64 // variance of the rows, summed over the coordinates
	p       float64
}

// told says that a class has enough rows to be judged.
func (c *judged) told() bool { return len(c.sample) >= fewest }

// set is what the classes of a set are judged by.
type set struct {
	classes []*judged
	verdict Verdict
	usual   *usual // nil if too few classes are of one kind to learn from
	// common is how far most classes have gaps, in deviations of a normal distribution.
	common float64
}

// Judge says which classes of x (n x d, a label for each row) hold several kinds.
// Distances are as in Find, and it uses Level, Rows and Seed of the Options. Find
// divides classes by this verdict.
//
// It tests each class by its own rows, for gaps: of the rows held out, fewer lie between the
// groups of a class than at the end of the thinner one. A distribution with a single mode has
// no fewer there, whatever its shape, and P is the probability of so few. Along the line of the
// first division P is that of the dip test (Hartigan and Hartigan 1985). How many rows a class
// has and how far they scatter does not count. Where most of 24 classes or more have gaps that do
// not reach the level, as series of photographs leave, P is made larger by what is common.
//
// With 24 classes or more, fewer than half of them with gaps, the scatter of a class of one
// kind is learned from the set: Find divides a class into as many kinds as scatter like that.
//
// Copies of a row count once. Errors are those of Find.
func Judge(ctx context.Context, x *mat.Dense, labels []int64, opt Options) (*Verdict, error) {
	s, err := newSet(ctx, x, labels, &opt)
	if err != nil {
		return nil, err
	}
	return &s.verdict, nil
}

func newSet(ctx context.Context, x *mat.Dense, labels []int64, opt *Options) (*set, error) {
	if x == nil || x.Rows != len(labels) {
		return nil, errors.New("discover: the numbers of labels and of rows differ")
	}
	if err := opt.settle(); err != nil {
		return nil, err
	}
	if err := rank.Finite(x, "embeddings"); err != nil {
		return nil, err
	}
	s := &set{verdict: Verdict{Level: opt.Level}}
	at := map[int64]*judged{}
	for i, y := range labels {
		if at[y] == nil {
			at[y] = &judged{label: y}
			s.classes = append(s.classes, at[y])
		}
		at[y].rows = append(at[y].rows, i)
	}
	slices.SortFunc(s.classes, func(a, b *judged) int { return cmp.Compare(a.label, b.label) })
	if err := s.each(ctx, s.classes, func(c *judged, rng *rand.Rand) error { return c.look(ctx, x, opt, rng) },
		opt.Seed); err != nil {
		return nil, err
	}
	return s, s.judge(ctx, x, opt)
}

// each does something with classes on all cores, with random numbers of their own.
func (s *set) each(ctx context.Context, classes []*judged, do func(c *judged, rng *rand.Rand) error,
	seed uint64) error {
	failed := make([]error, len(classes))
	err := par.ForContext(ctx, len(classes), 1, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			if err := do(classes[k], rand.New(rand.NewPCG(seed, uint64(classes[k].label)))); err != nil {
				failed[k] = fmt.Errorf("kinds in class %d: %w", classes[k].label, err)
			}
		}
	})
	return errors.Join(append([]error{err}, failed...)...)
}

// look measures a class.
func (c *judged) look(ctx context.Context, x *mat.Dense, opt *Options, rng *rand.Rand) error {
	c.sample = drawn(c.rows, opt.Rows, rng)
	c.sample = pick(c.sample, distinct(ward.Squared(gather(x, c.sample))))
	c.mean, c.scatter = scattered(gather(x, c.sample))
	return c.seek(ctx, x, opt, rng)
}

// seek looks for gaps, and gives the class its P.
func (c *judged) seek(ctx context.Context, x *mat.Dense, opt *Options, rng *rand.Rand) (err error) {
	c.p = 1
	if c.told() {
		var e evidence
		e, err = seek(ctx, gather(x, drawn(c.sample, opt.Rows, rng)), rng)
		c.p = e.p()
	}
	return err
}

// judge says what the classes come to, and learns from them how much one kind scatters.
func (s *set) judge(ctx context.Context, x *mat.Dense, opt *Options) (err error) {
	v := &s.verdict
	var told []*judged
	for _, c := range s.classes {
		if c.told() {
			told = append(told, c)
		}
	}
	s.common = common(told, opt.Level)
	for _, c := range s.classes {
		c.p = beyond(c.p, s.common)
		v.Classes = append(v.Classes, Judged{c.label, c.p, c.told()})
		if c.told() && c.p <= opt.Level {
			v.Several++
		}
	}
	v.Tested = len(told)
	if 2*v.Several < v.Tested {
		s.usual = newUsual(told)
	}
	if v.Calibrated = s.usual != nil; v.Calibrated {
		v.Told, err = s.told(ctx, x, told, opt)
	}
	return err
}

// common is the median of the classes' P, as a quantile of the normal distribution, where that
// is below one half: of series of photographs most classes have gaps, though each be of one
// kind. It is 0 of fewer classes than 24, and where half of them or more are at the level
// themselves: then it is kinds that are common.
func common(classes []*judged, level float64) float64 {
	var p []float64
	several := 0
	for _, c := range classes {
		p = append(p, c.p)
		if c.p <= level {
			several++
		}
	}
	if len(p) < reference || 2*several >= len(p) {
		return 0
	}
	return max(0, -distuv.UnitNormal.Quantile(median(p)))
}

// beyond is the probability of gaps that are so much wider than the common ones.
func beyond(p, common float64) float64 {
	if common == 0 {
		return p
	}
	return distuv.UnitNormal.CDF(distuv.UnitNormal.Quantile(p) + common)
}

// drawn returns at most limit of the rows, drawn at random, in ascending order.
func drawn(rows []int, limit int, rng *rand.Rand) []int {
	if len(rows) <= limit {
		return rows
	}
	out := pick(rows, rng.Perm(len(rows))[:limit])
	slices.Sort(out)
	return out
}

// pick returns some of the rows.
func pick(rows, at []int) []int {
	out := make([]int, len(at))
	for k, i := range at {
		out[k] = rows[i]
	}
	return out
}
