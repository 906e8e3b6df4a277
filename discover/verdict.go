package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// Verdict says which classes of a set hold several sub-classes, and how they were judged.
type Verdict struct {
	// Classes are the classes of the set, in the order of their labels.
	Classes []ClassVerdict `json:"classes"`
	// NumTested is the number of classes with at least 10 rows, with copies counted once. Several is the
	// number of these with several sub-classes at Level.
	NumTested  int     `json:"tested"`
	NumDivided int     `json:"several"`
	Level      float64 `json:"level"`
	// Calibrated says that at least 24 classes were tested and that fewer than half of them hold
	// several sub-classes, so that the scatter of one sub-class was learned from the set.
	Calibrated bool `json:"calibrated"`
	// DetectionRate is the share of classes in which several sub-classes would be found if each class were merged
	// with its nearest class; 0 if not Calibrated.
	DetectionRate float64 `json:"told"`
}

// ClassVerdict is the verdict on one class.
type ClassVerdict struct {
	Label int64 `json:"label"`
	// P is the probability that a class without sub-classes would have gaps as wide; 1 if there are too
	// few rows.
	P float64 `json:"p"`
	// Tested says whether the class has enough rows to be judged.
	Tested bool `json:"told"`
}

// HasCoarseLabels reports whether labels are coarse: at least 24 classes were tested and at least half of these hold
// several sub-classes. It needs half, because a run uses easy positives for all classes or none, and they cost
// classes without sub-classes more than they give the others. It needs 24, because with fewer classes bursts of
// photos cannot be told from sub-classes.
func (v *Verdict) HasCoarseLabels() bool {
	return v.NumTested >= minReferenceClasses && v.IsHalfDivided()
}

// IsHalfDivided reports whether at least half of the tested classes hold several sub-classes or, if the verdict is not
// Calibrated, fall into groups.
func (v *Verdict) IsHalfDivided() bool { return v.NumDivided > 0 && 2*v.NumDivided >= v.NumTested }

// String returns the verdict in words.
func (v *Verdict) String() string {
	if v.NumTested == 0 {
		return fmt.Sprintf("no class has the %d samples that are needed to look for sub-classes", minClassRows)
	}
	of, level := fmt.Sprintf("%d of %d classes", v.NumDivided, v.NumTested), 100*v.Level
	if v.Calibrated {
		return fmt.Sprintf("%s hold several sub-classes (level %.3g %%; most classes have none; of classes merged "+
			"with their nearest, %.0f %% would be found)", of, level, 100*v.DetectionRate)
	}
	if v.NumDivided == 0 {
		return fmt.Sprintf("none of %s falls into groups (level %.3g %%)", enum.Number(v.NumTested, "class", "classes"),
			level)
	}
	return fmt.Sprintf("%s fall into groups (level %.3g %%; such groups may be bursts or backgrounds, not "+
		"sub-classes: look at them)", of, level)
}

// measuredClass is a class with its measurements.
type measuredClass struct {
	label   int64
	rows    []int
	sample  []int // measured rows, one of each group of copies
	mean    []float64
	scatter float64 // variance of the rows, summed over the coordinates
	p       float64
}

// isTestable reports whether a class has enough rows to be judged.
func (c *measuredClass) isTestable() bool { return len(c.sample) >= minClassRows }

// classSet holds what is learned from all classes of a set.
type classSet struct {
	classes []*measuredClass
	verdict Verdict
	even    *matrix.Dense // the rows, levelled if there are enough classes
	usual   *usualScatter // nil if too few classes without sub-classes are known
	// common is the strength of gaps that most classes have, in deviations of a normal distribution.
	common float64
}

// Judge tests which classes of x (n x d, with a label for each row) hold several sub-classes. Distances are as in
// Find. It uses Level, Rows and Seed of the Options. Find divides classes by this verdict.
//
// It tests each class for gaps by its own rows. At a gap, fewer held-out rows are between the groups of a class
// than at the end of the thinner group. A distribution with a single mode, of any shape, does not have fewer rows
// there, and P is the probability of so few. Along the line of the first division P is that of the dip test
// (Hartigan and Hartigan 1985). Across a class that bends, halves can look apart: P is at least that of a gap along
// the class, compared with lines whose density varies by a factor of 1.6. The number of rows and their scatter do
// not count. If most of at least 24 classes
// have gaps that do not reach the level, as with bursts of photos, P is raised by the common strength of gaps.
//
// With at least 24 classes, fewer than half of them with gaps, the scatter of a class without sub-classes is
// learned from the set. Find divides a class into as many sub-classes as scatter like that.
//
// Copies of a row count once. It returns the errors of Find.
func Judge(ctx context.Context, x *matrix.Dense, labels []int64, opt Options) (*Verdict, error) {
	s, err := newClassSet(ctx, x, labels, &opt)
	if err != nil {
		return nil, err
	}
	return &s.verdict, nil
}

func newClassSet(ctx context.Context, x *matrix.Dense, labels []int64, opt *Options) (*classSet, error) {
	if x == nil || x.Rows != len(labels) {
		return nil, errors.New("the numbers of labels and of rows differ")
	}
	if err := opt.setDefaults(); err != nil {
		return nil, err
	}
	if err := exact.CheckFinite(x, "embeddings"); err != nil {
		return nil, err
	}
	s := &classSet{verdict: Verdict{Level: opt.Level}}
	at := map[int64]*measuredClass{}
	for i, y := range labels {
		if at[y] == nil {
			at[y] = &measuredClass{label: y}
			s.classes = append(s.classes, at[y])
		}
		at[y].rows = append(at[y].rows, i)
	}
	slices.SortFunc(s.classes, func(a, b *measuredClass) int { return cmp.Compare(a.label, b.label) })
	if err := s.forEachClass(ctx, s.classes, func(c *measuredClass,
		rng *rand.Rand) error {
		return c.measure(ctx, x, opt, rng)
	},
		opt.Seed); err != nil {
		return nil, err
	}
	if s.even = x; len(s.classes) >= minReferenceClasses {
		var err error
		if s.even, err = levelScatter(ctx, x, s.classes); err != nil {
			return nil, err
		}
	}
	if err := s.forEachClass(ctx, s.classes, func(c *measuredClass,
		rng *rand.Rand) error {
		return c.followChains(ctx, s.even, opt, rng)
	},
		opt.Seed); err != nil {
		return nil, err
	}
	return s, s.judgeClasses(ctx, x, opt)
}

// forEachClass calls do for classes on all cores, with a separate random generator for each class.
func (s *classSet) forEachClass(ctx context.Context, classes []*measuredClass,
	do func(c *measuredClass, rng *rand.Rand) error,
	seed uint64) error {
	failed := make([]error, len(classes))
	err := par.ForContext(ctx, len(classes), 1, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			if err := do(classes[k], rand.New(rand.NewPCG(seed, uint64(classes[k].label)))); err != nil {
				failed[k] = fmt.Errorf("sub-classes of class %d: %w", classes[k].label, err)
			}
		}
	})
	return errors.Join(append([]error{err}, failed...)...)
}

// measure measures a class.
func (c *measuredClass) measure(ctx context.Context, x *matrix.Dense, opt *Options, rng *rand.Rand) error {
	c.sample = sampleRows(c.rows, opt.MaxRows, rng)
	c.sample = lists.At(c.sample, distinctRows(ward.Squared(x.RowsAt(c.sample))))
	c.mean, c.scatter = meanAndScatter(x.RowsAt(c.sample))
	return c.findGaps(ctx, x, opt, rng)
}

// findGaps searches gaps, and sets P of the class.
func (c *measuredClass) findGaps(ctx context.Context, x *matrix.Dense, opt *Options, rng *rand.Rand) (err error) {
	c.p = 1
	if c.isTestable() {
		var e evidence
		e, err = findGaps(ctx, x.RowsAt(sampleRows(c.sample, opt.MaxRows, rng)), rng)
		c.p = e.pValue()
	}
	return err
}

// followChains follows the class along chains of near rows, and raises P if these join its parts. A P of more than one
// half stays.
func (c *measuredClass) followChains(ctx context.Context, even *matrix.Dense, opt *Options, rng *rand.Rand) error {
	if c.p > 0.5 {
		return nil
	}
	p, err := chainProbability(ctx, even.RowsAt(sampleRows(c.sample, opt.MaxRows, rng)), rng)
	c.p = max(c.p, p)
	return err
}

// judgeClasses judges the classes, and learns the scatter of a class without sub-classes.
func (s *classSet) judgeClasses(ctx context.Context, x *matrix.Dense, opt *Options) (err error) {
	v := &s.verdict
	var told []*measuredClass
	for _, c := range s.classes {
		if c.isTestable() {
			told = append(told, c)
		}
	}
	s.common = commonStrength(told, opt.Level)
	for _, c := range s.classes {
		c.p = probabilityBeyond(c.p, s.common)
		v.Classes = append(v.Classes, ClassVerdict{c.label, c.p, c.isTestable()})
		if c.isTestable() && c.p <= opt.Level {
			v.NumDivided++
		}
	}
	v.NumTested = len(told)
	if 2*v.NumDivided < v.NumTested {
		s.usual = newUsualScatter(told)
	}
	if v.Calibrated = s.usual != nil; v.Calibrated {
		v.DetectionRate, err = s.measureDetectionRate(ctx, x, told, opt)
	}
	return err
}

// commonStrength returns the median of the classes' P as a quantile of the normal distribution, if it is
// below one half. With bursts of photos most classes have gaps without having sub-classes. It returns 0 for
// fewer than 24 classes, and if half of the classes or more reach the level, because then sub-classes are common.
func commonStrength(classes []*measuredClass, level float64) float64 {
	var p []float64
	several := 0
	for _, c := range classes {
		p = append(p, c.p)
		if c.p <= level {
			several++
		}
	}
	if len(p) < minReferenceClasses || 2*several >= len(p) {
		return 0
	}
	return max(0, -distuv.UnitNormal.Quantile(median(p)))
}

// probabilityBeyond returns the probability of gaps relative to the common ones.
func probabilityBeyond(p, common float64) float64 {
	if common == 0 {
		return p
	}
	return distuv.UnitNormal.CDF(distuv.UnitNormal.Quantile(p) + common)
}

// sampleRows returns at most limit random rows in ascending order.
func sampleRows(rows []int, limit int, rng *rand.Rand) []int {
	if len(rows) <= limit {
		return rows
	}
	out := lists.At(rows, rng.Perm(len(rows))[:limit])
	slices.Sort(out)
	return out
}
