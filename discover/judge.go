package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/mat"
)

// Verdict says which classes of a set hold several kinds, and how they were judged.
type Verdict struct {
	// Classes are the classes of the set, in the order of their labels.
	Classes []Judged `json:"classes"`
	// Tested is the number of classes with at least 8 rows, copies counted once; Several
	// is the number of those with several kinds, at Level.
	Tested  int     `json:"tested"`
	Several int     `json:"several"`
	Level   float64 `json:"level"`
	// Calibrated says that the scatter of a class of one kind was learned from the classes
	// of the set.
	Calibrated bool `json:"calibrated"`
	// Told is the share of classes in which several kinds would be found if each were
	// merged with its nearest class; 0 if not Calibrated.
	Told float64 `json:"told"`
}

// Judged is the verdict on one class.
type Judged struct {
	Label int64 `json:"label"`
	// P is the probability that a class of one kind would look as much like several; 1 if
	// there are too few rows to tell.
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
		return fmt.Sprintf("%s hold several kinds (level %.3g %%, learned from the set's classes; of those put "+
			"together with their nearest, %.0f %% would be found)", of, level, 100*v.Told)
	}
	return fmt.Sprintf("%s fall into groups (level %.3g %%, not learned from the set's classes: of photos taken "+
		"in series, or on several backgrounds, such groups are no kinds; look at them)", of, level)
}

// judged is a class with what is known of it.
type judged struct {
	label   int64
	rows    []int
	sample  []int // rows that are looked at, one of each group of copies
	mean    []float64
	scatter float64
	gaps    gaps
	normal  gaps    // those of normal clouds with its covariance, if they were counted
	dim     float64 // effective dimension
	cloud   *cloud  // what it was compared with, if it was
	p       float64
}

// set is what the classes of a set are judged by.
type set struct {
	classes []*judged
	verdict Verdict
	usual   *usual // nil if too few classes are of one kind to learn from
}

// Judge says which classes of x (n x d, a label for each row) hold several kinds.
// Distances are as in Find, and it uses Level, Draws, Rows and Seed of the Options. Find
// divides classes by this verdict.
//
// It tests two things. One is gaps: held-out rows lie less often between the groups of a
// class than inside them, which no single mode explains, whatever its shape. The other is
// scatter, the sum of squared distances from the class's mean. The scatter of a class of
// one kind is learned from the set, assuming that most of its classes are of one kind. P
// is twice the smaller of the two probabilities. With fewer than 24 classes, or if half of
// the classes have gaps, scatter cannot be learned. P is then the larger of two
// probabilities: of as few rows in the gaps of all classes together, and of as high a
// silhouette among samples of one normal cloud. From four effective dimensions on, a
// single mode is assumed to be no flatter along a line than a normal one.
//
// Copies of a row count once. The last comparison leaves out separate groups of fewer than
// four rows. Errors are those of Find.
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
			at[y] = &judged{label: y, p: 1}
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
func (c *judged) look(ctx context.Context, x *mat.Dense, opt *Options, rng *rand.Rand) (err error) {
	c.sample = drawn(c.rows, opt.Rows, rng)
	c.sample = pick(c.sample, distinct(squared(gather(x, c.sample))))
	y := gather(x, c.sample)
	c.mean, c.scatter = scattered(y)
	c.scatter *= float64(len(c.rows)) / float64(min(len(c.rows), opt.Rows))
	if len(c.sample) >= fewest {
		y = gather(x, drawn(c.sample, compared, rng))
		c.dim = effective(centred(y))
		c.gaps, err = countGaps(ctx, y, rng)
	}
	return err
}

// judge gives the classes their P.
func (s *set) judge(ctx context.Context, x *mat.Dense, opt *Options) error {
	v := &s.verdict
	var told []*judged
	var scatter []float64
	apart := 0
	for _, c := range s.classes {
		if len(c.sample) < fewest {
			continue
		}
		told, scatter = append(told, c), append(scatter, c.scatter)
		if c.gaps.p(unimodal) <= opt.Level {
			apart++
		}
	}
	v.Tested = len(told)
	if 2*apart < len(told) {
		s.usual = newUsual(scatter)
	}
	if s.usual != nil {
		v.Calibrated, v.Told = true, s.usual.told(told, opt.Level/2)
		for _, c := range told {
			c.p = min(1, 2*s.usual.p(c.scatter), 10*c.gaps.p(unimodal))
		}
	} else if err := s.compare(ctx, x, told, opt); err != nil {
		return err
	}
	for _, c := range s.classes {
		told := len(c.sample) >= fewest
		v.Classes = append(v.Classes, Judged{c.label, c.p, told})
		if told && c.p <= opt.Level {
			v.Several++
		}
	}
	return nil
}

// compare computes P for classes if nothing can be learned from the set: first by the gaps
// of all together, then by the silhouettes of each.
func (s *set) compare(ctx context.Context, x *mat.Dense, classes []*judged, opt *Options) error {
	var together, normal gaps
	narrowest := math.Inf(1)
	for _, c := range classes {
		together.add(c.gaps)
		narrowest = min(narrowest, c.dim)
	}
	gap := together.p(unimodal)
	if gap > opt.Level && narrowest >= flat && len(classes) > 0 {
		draws := max(4, 48/len(classes)) // enough of all together
		if err := s.each(ctx, classes, func(c *judged, rng *rand.Rand) (err error) {
			c.normal, err = countNormal(ctx, gather(x, drawn(c.sample, compared, rng)), draws, rng)
			return err
		}, opt.Seed); err != nil {
			return err
		}
		for _, c := range classes {
			normal.add(c.normal)
		}
		gap = together.p(normal.shares())
	}
	for _, c := range classes {
		c.p = gap
	}
	if gap > opt.Level {
		return nil
	}
	return s.each(ctx, classes, func(c *judged, rng *rand.Rand) error {
		y, err := trimmed(ctx, gather(x, c.sample))
		if err != nil {
			return err
		}
		c.p = 1
		if c.cloud, err = newCloud(ctx, y, *opt, rng); c.cloud != nil {
			c.p = max(gap, c.cloud.p)
		}
		return err
	}, opt.Seed)
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
