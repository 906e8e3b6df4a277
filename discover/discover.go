package discover

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// Method is a way to divide a class.
type Method int

const (
	// Ward joins the rows by Ward's criterion. It cuts the tree where a mixture of equal
	// clouds explains the rows best (BIC) or, in fewer than four effective dimensions,
	// where the silhouette most exceeds that of one cloud.
	Ward Method = iota
	// Density takes the groups that persist over the longest range of density thresholds
	// (HDBSCAN).
	Density
)

var methodNames = enum.New[Method]("Method", "method", "ward", "density")

// ParseMethod returns the method with a name.
func ParseMethod(name string) (Method, error) { return methodNames.Parse(name) }

// String returns the method's name.
func (m Method) String() string { return methodNames.Name(m) }

// Options are the options of Find and Judge. The zero value is the default.
type Options struct {
	Method Method
	// Level is the accepted share of classes without sub-classes that are divided by mistake; default
	// 0.05. 1 divides every class.
	Level float64
	// Draws is the number of normal samples with which the divisions of a class are compared to choose
	// the number of its sub-classes; default 39. It is used if the class has fewer than four effective
	// dimensions and the set has too few classes to learn from.
	Draws int
	// MinRows is the smallest number of rows of a sub-class: of every one for Density, on average for
	// Ward. The default is 4 or, for Density, a fiftieth of the class and at least 5.
	MinRows int
	// MaxSubClasses is the largest number of sub-classes of a class; default 150.
	MaxSubClasses int
	// MaxRows is the largest number of rows of a class that are divided, drawn at random; default 1000.
	// Each other row gets the sub-class of the nearest drawn row. Time and memory grow with the square
	// of Rows.
	MaxRows int
	// Resamples is the number of times that a random four fifths of the rows are divided again, to
	// measure stability; default 10, -1 for never.
	Resamples int
	// NumShown is the number of the most different members of a sub-class to list; default 4.
	NumShown int
	Seed     uint64
	// Progress, if set, is called after every class.
	Progress func(done, total int)
}

// Result is the result of Find.
type Result struct {
	// Verdict is the verdict of Judge on the classes.
	Verdict Verdict
	// Classes are in the order of their labels.
	Classes []Class
	// SubClassOf is a finer label for each row: the number of its sub-class, counted over all classes in
	// their order.
	SubClassOf []int64
}

// Class is a class with its sub-classes.
type Class struct {
	Label int64
	// SubClasses are the sub-classes, the largest first. A class that is not divided has one.
	SubClasses []SubClass
	// P is Judged.P. The class is divided if P is at most Level.
	P float64
	// Silhouette is the silhouette of the division, between -1 and 1; 0 for one sub-class.
	Silhouette float64
	// Stability is the mean stability of the sub-classes, weighted by their sizes.
	Stability float64
}

// SubClass is a sub-class: a group of rows of a class.
type SubClass struct {
	// Rows are its members in ascending order.
	Rows []int
	// Exemplar is the member with the least sum of distances to the others.
	Exemplar int
	// MostDifferent are the members that differ most. Each is the farthest from the exemplar and the ones
	// before it.
	MostDifferent []int
	// Stability shows how well the sub-class is found again without a fifth of the rows: it is the
	// mean of the largest Jaccard coefficients with a sub-class of the new division (Hennig 2007).
	// Below 0.6 a sub-class is unreliable. It is 1 for a class that is not divided, and 0 if it was not
	// measured.
	Stability float64
}

// minClassRows is the least number of rows for judging a class. With two sub-classes of four rows each the gap
// test cannot reach the level of 5 %.
const minClassRows = 10

// Find divides the classes of x (n x d, with a label for each row) into sub-classes. Distances are Euclidean
// between the given rows. For cosine distances give rows of length 1 (eval.NormalizeRows).
//
// Judge first judges each class. A class is divided if its P is at most Level. The number of groups is
// chosen so that each group scatters like the set's classes without sub-classes, and Ward gives less weight
// to directions along which all classes scatter. If that scatter cannot be learned from the set
// (Verdict.Calibrated), Method decides the number.
//
// It is an error if the numbers of labels and rows differ, if a row is not finite, or if an option is out of
// range. Classes of fewer than ten rows and classes of equal rows are not divided. The seed determines every
// bit of the result. Find checks ctx between steps of milliseconds.
func Find(ctx context.Context, x *matrix.Dense, labels []int64, opt Options) (*Result, error) {
	s, err := newClassSet(ctx, x, labels, &opt)
	if err != nil {
		return nil, err
	}
	even := x
	if s.usual != nil && s.verdict.NumDivided > 0 && opt.Method == Ward {
		even = s.even
	}
	res := &Result{Verdict: s.verdict, SubClassOf: make([]int64, x.Rows)}
	var next int64
	for k, j := range s.classes {
		c, err := divideClass(ctx, x, even, j, s.usual, opt, rand.New(rand.NewPCG(opt.Seed, uint64(k))))
		if err != nil {
			return nil, fmt.Errorf("sub-classes of class %d: %w", j.label, err)
		}
		c.Label = j.label
		for _, kind := range c.SubClasses {
			for _, i := range kind.Rows {
				res.SubClassOf[i] = next
			}
			next++
		}
		res.Classes = append(res.Classes, *c)
		if opt.Progress != nil {
			opt.Progress(k+1, len(s.classes))
		}
	}
	return res, nil
}

// setDefaults fills in defaults.
func (o *Options) setDefaults() error {
	if o.Level < 0 || o.Level > 1 || o.Draws < 0 || o.MinRows < 0 || o.MaxSubClasses < 0 || o.Resamples < -1 ||
		o.NumShown < 0 ||
		o.MaxRows < 0 || o.MaxRows > 0 && o.MaxRows < minClassRows || o.Method != Ward && o.Method != Density {
		return fmt.Errorf("options out of range: level %g, draws %d, least %d, most %d, rows %d, "+
			"resamples %d, shown %d, method %d", o.Level, o.Draws, o.MinRows, o.MaxSubClasses, o.MaxRows,
			o.Resamples, o.NumShown, int(o.Method))
	}
	for _, d := range []struct {
		of    *int
		usual int
	}{{&o.Draws, 39}, {&o.MaxSubClasses, 150}, {&o.MaxRows, 1000}, {&o.Resamples, 10}, {&o.NumShown, 4}} {
		if *d.of == 0 {
			*d.of = d.usual
		}
	}
	o.Level = cmp.Or(o.Level, 0.05)
	return nil
}

// divideClass divides a class. It uses the distances of the rows of even, but chooses the number of sub-classes by
// the rows of x.
func divideClass(ctx context.Context, x, even *matrix.Dense, j *measuredClass, u *usualScatter, opt Options,
	rng *rand.Rand) (*Class, error) {
	rows, sample := j.rows, j.sample
	y := even.RowsAt(sample)
	c := &Class{P: j.p}
	group := make([]int, len(sample))
	var err error
	if j.p <= opt.Level && len(sample) >= 2 {
		if group, err = opt.chooseGroups(ctx, x.RowsAt(sample), y, u, rng); err != nil {
			return nil, err
		}
	}
	d := distances(y)
	n := 1 + slices.Max(group)
	stability := slices.Repeat([]float64{1}, n)
	if n > 1 {
		c.Silhouette = meanSilhouette(d, group, n)
		if stability, err = opt.measureStability(ctx, y, group, n, rng); err != nil {
			return nil, err
		}
	}
	members := assignToNearestRow(even, rows, sample, group, n)
	for g := range n {
		k := SubClass{Rows: members[g], Stability: stability[g]}
		k.Exemplar, k.MostDifferent = chooseShown(d, sample, group, g, opt.NumShown)
		c.SubClasses = append(c.SubClasses, k)
		c.Stability += stability[g] * float64(len(k.Rows)) / float64(len(rows))
	}
	slices.SortStableFunc(c.SubClasses, func(a, b SubClass) int { return len(b.Rows) - len(a.Rows) })
	return c, nil
}

// chooseGroups divides rows that have several sub-classes. It chooses the number by y.
func (o *Options) chooseGroups(ctx context.Context, y, even *matrix.Dense, u *usualScatter, rng *rand.Rand) ([]int,
	error) {
	if o.Method == Density {
		return o.divideInto(ctx, y, 0)
	}
	merges, err := ward.Tree(ctx, ward.Squared(y))
	if err != nil {
		return nil, err
	}
	most := o.maxGroups(y.Rows)
	if u != nil {
		return o.divideInto(ctx, even, u.chooseNumGroups(merges, y.Rows, most))
	}
	cloud, err := newCloud(ctx, y, *o, rng)
	if err != nil || cloud == nil {
		return make([]int, y.Rows), err
	}
	k, err := cloud.chooseNumGroups(ctx, y, merges, most)
	if err != nil {
		return nil, err
	}
	return ward.Cut(merges, y.Rows, k), nil
}

// divideInto divides rows into k groups in the same way as groups.
func (o *Options) divideInto(ctx context.Context, y *matrix.Dense, k int) ([]int, error) {
	if o.Method == Density {
		least := cmp.Or(o.MinRows, max(5, y.Rows/50))
		return hdbscan(ctx, distances(y), max(3, least/2), least)
	}
	merges, err := ward.Tree(ctx, ward.Squared(y))
	if err != nil {
		return nil, err
	}
	return ward.Cut(merges, y.Rows, k), nil
}

// maxGroups returns the largest number of groups of n rows.
func (o *Options) maxGroups(n int) int {
	return max(2, min(o.MaxSubClasses, n/cmp.Or(o.MinRows, 4)))
}

// measureStability returns Kind.Stability of every group.
func (o *Options) measureStability(ctx context.Context, y *matrix.Dense, group []int, n int, rng *rand.Rand) ([]float64,
	error) {
	out := make([]float64, n)
	seen := make([]float64, n)
	for range o.Resamples {
		at := rng.Perm(y.Rows)[:y.Rows*4/5]
		slices.Sort(at)
		now, err := o.divideInto(ctx, y.RowsAt(at), n)
		if err != nil {
			return nil, err
		}
		m := 1 + slices.Max(now)
		both := make([]float64, n*m)
		was, is := make([]float64, n), make([]float64, m)
		for k, i := range at {
			both[group[i]*m+now[k]]++
			was[group[i]]++
			is[now[k]]++
		}
		for g := range n {
			if was[g] == 0 {
				continue
			}
			best := 0.0
			for h := range m {
				best = max(best, both[g*m+h]/(was[g]+is[h]-both[g*m+h]))
			}
			out[g] += best
			seen[g]++
		}
	}
	for g := range out {
		out[g] /= max(seen[g], 1)
	}
	return out, nil
}

// assignToNearestRow assigns every row to the group of the nearest row of the sample, and returns the members of each
// group.
func assignToNearestRow(x *matrix.Dense, rows, sample, group []int, n int) [][]int {
	out := make([][]int, n)
	if len(rows) == len(sample) {
		for k, i := range rows {
			out[group[k]] = append(out[group[k]], i)
		}
		return out
	}
	const block = 256
	s := x.RowsAt(sample)
	for lo := 0; lo < len(rows); lo += block {
		some := rows[lo:min(lo+block, len(rows))]
		d := matrix.New(len(some), s.Rows)
		matrix.SquaredDistances(x.RowsAt(some), s, d)
		for k, i := range some {
			near := 0
			for j, v := range d.Row(k) {
				if v < d.Row(k)[near] {
					near = j
				}
			}
			out[group[near]] = append(out[group[near]], i)
		}
	}
	return out
}

// chooseShown finds the exemplar of group g and its most different members.
func chooseShown(d *matrix.Dense, sample, group []int, g, most int) (exemplar int, different []int) {
	in := slices.DeleteFunc(lists.Indices(len(group)), func(k int) bool { return group[k] != g })
	best, least := in[0], -1.0
	for _, k := range in {
		var sum float64
		for _, j := range in {
			sum += float64(d.Row(k)[j])
		}
		if least < 0 || sum < least {
			best, least = k, sum
		}
	}
	far := make([]float32, len(in)) // distance from the nearest member taken
	for j, k := range in {
		far[j] = d.Row(best)[k]
	}
	for range most {
		at := 0
		for j := range far {
			if far[j] > far[at] {
				at = j
			}
		}
		if far[at] == 0 {
			break // only copies are left
		}
		different = append(different, sample[in[at]])
		for j, k := range in {
			far[j] = min(far[j], d.Row(in[at])[k])
		}
	}
	return sample[best], different
}
