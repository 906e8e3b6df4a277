package decide

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/mat"
)

const (
	// mostGrouped is the most classes among which groups are looked for, in time and memory that
	// grow with their square. What one group of many more classes weighs is little.
	mostGrouped = 1000
	// groupDraws is how many times directions are drawn anew, and groupLevel the chance of calling
	// classes grouped that are not, which costs matches but breaks no promise.
	groupDraws = 39
	groupLevel = 0.05
)

// units are what classes are drawn by: groups of look-alikes, products of one maker or letters of
// one script, and every other class by itself.
type units struct {
	of     []int     // the unit of a class
	groups int       // units of two classes or more
	count  int       // of units
	size   []int     // classes of a unit
	photos []float64 // and their photos
}

// unitsOf numbers the units that classes are of.
func (s *set) unitsOf(of []int) *units {
	u := &units{of: of, size: sizes(of)}
	u.count = len(u.size)
	u.photos = make([]float64, u.count)
	for i, unit := range of {
		u.photos[unit] += float64(s.photos(i))
	}
	for _, k := range u.size {
		if k > 1 {
			u.groups++
		}
	}
	return u
}

// single takes every class for a unit.
func (s *set) single() *units {
	of := make([]int, s.identities())
	for i := range of {
		of[i] = i
	}
	return s.unitsOf(of)
}

// newUnits tells whether the classes of a set lie in groups, and in which. Ward's tree over the
// means of the classes is cut into several numbers of groups, and every cut has its silhouette.
// The same is done with means at the same distances from the middle of all but in other directions,
// drawn with the covariance of the means: classes near the middle resemble many others, and are no
// group by that. A cut is as good as its silhouette is above those of the drawn sets, in standard
// deviations. The best one is believed if it is better than the best ones of 38 of 39 drawn sets.
func newUnits(ctx context.Context, s *set, seed uint64) (*units, error) {
	n := s.identities()
	if n > mostGrouped || n < fewestClasses {
		return s.single(), nil
	}
	x := s.means()
	cuts := groupCuts(n)
	all := make([][]float64, groupDraws+1) // silhouettes by cut; first those of the set itself
	merges, own, err := silhouettes(ctx, x, cuts)
	if err != nil {
		return nil, err
	}
	all[0] = own
	failed := make([]error, groupDraws)
	err = par.ForContext(ctx, groupDraws, 1, func(lo, hi int) {
		for draw := lo; draw < hi; draw++ {
			_, all[draw+1], failed[draw] = silhouettes(ctx, turned(x, seed, uint64(draw)), cuts)
		}
	})
	if err := errors.Join(append(failed, err)...); err != nil {
		return nil, fmt.Errorf("groups of classes: %w", err)
	}
	best, cut, above := bestCuts(all)
	if float64(above) > groupLevel*(groupDraws+1) || best <= 0 {
		return s.single(), nil
	}
	return s.unitsOf(ward.Cut(merges, n, cuts[cut])), nil
}

// turned draws rows of the same lengths as those of x, in directions with the covariance of x.
func turned(x *mat.Dense, seed, draw uint64) *mat.Dense {
	n := x.Rows
	rng := rand.New(rand.NewPCG(seed, 6<<32|draw))
	mix, out := mat.New(n, n), mat.New(n, x.Cols)
	for k := range mix.Data {
		mix.Data[k] = float32(rng.NormFloat64())
	}
	mat.Gemm(false, false, 1, mix, x, 0, out)
	for i := range n {
		row := out.Row(i)
		scale := length(x.Row(i)) / max(length(row), 1e-30)
		for k := range row {
			row[k] = float32(float64(row[k]) * scale)
		}
	}
	return out
}

// bestCuts compares scores by set and cut, each in standard deviations from the mean of the same
// cut of the other sets: the best of the first set, its cut, and how many sets have one as good,
// itself among them.
func bestCuts(all [][]float64) (best float64, cut, above int) {
	most := make([]float64, len(all))
	for i := range most {
		most[i] = math.Inf(-1)
	}
	others := float64(len(all) - 1)
	for k := range all[0] {
		var sum, squares float64
		for _, of := range all {
			sum, squares = sum+of[k], squares+of[k]*of[k]
		}
		for i, of := range all {
			mean := (sum - of[k]) / others
			variance := (squares-of[k]*of[k])/others - mean*mean
			if variance < 1e-12 {
				continue
			}
			z := (of[k] - mean) / math.Sqrt(variance)
			if i == 0 && z > most[0] {
				cut = k
			}
			most[i] = max(most[i], z)
		}
	}
	for _, v := range most {
		if v >= most[0] {
			above++
		}
	}
	return most[0], cut, above
}

// means are those of the classes, less the mean of these.
func (s *set) means() *mat.Dense {
	n := s.identities()
	x, middle := mat.New(n, s.x.Cols), make([]float64, s.x.Cols)
	for i := range n {
		sum := make([]float64, s.x.Cols)
		for q := s.first[i]; q < s.first[i+1]; q++ {
			for k, v := range s.x.Row(q) {
				sum[k] += float64(v)
			}
		}
		for k, v := range sum {
			v /= float64(s.photos(i))
			x.Row(i)[k] = float32(v)
			middle[k] += v / float64(n)
		}
	}
	for i := range n {
		for k, v := range x.Row(i) {
			x.Row(i)[k] = float32(float64(v) - middle[k])
		}
	}
	return x
}

func length(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

func sizes(of []int) []int {
	out := make([]int, slices.Max(of)+1)
	for _, u := range of {
		out[u]++
	}
	return out
}

// groupCuts are the numbers of groups that n classes are cut into: 14 from four to three quarters
// of n, by equal factors.
func groupCuts(n int) []int {
	const cuts = 14
	lo, hi := 4.0, 0.75*float64(n)
	var out []int
	for c := range cuts {
		out = append(out, int(math.Round(lo*math.Pow(hi/lo, float64(c)/(cuts-1)))))
	}
	return slices.Compact(out)
}

// silhouettes returns the tree of the rows, and the silhouettes of its cuts.
func silhouettes(ctx context.Context, x *mat.Dense, cuts []int) (tree []ward.Merge, scores []float64, err error) {
	d := ward.Squared(x)
	far := mat.New(d.Rows, d.Cols)
	for k, v := range d.Data {
		far.Data[k] = float32(math.Sqrt(float64(v)))
	}
	if tree, err = ward.Tree(ctx, d); err != nil {
		return nil, nil, err
	}
	for _, k := range cuts {
		scores = append(scores, silhouette(far, ward.Cut(tree, x.Rows, k)))
	}
	return tree, scores, nil
}

// silhouette is the mean over rows of (b - a) / max(a, b), a being the mean distance to the
// others of its group and b to the rows of the nearest other group (Rousseeuw 1987); 0 for a row
// alone, and in a group of more than a third of all rows.
func silhouette(d *mat.Dense, of []int) float64 {
	size := sizes(of)
	sums := make([]float64, len(size))
	var total float64
	for i, u := range of {
		if size[u] == 1 || size[u] > max(2, len(of)/3) {
			continue
		}
		clear(sums)
		for j, v := range d.Row(i) {
			sums[of[j]] += float64(v)
		}
		a, b := sums[u]/float64(size[u]-1), math.Inf(1)
		for w, sum := range sums {
			if w != u {
				b = min(b, sum/float64(size[w]))
			}
		}
		if most := max(a, b); most > 0 {
			total += (b - a) / most
		}
	}
	return total / float64(len(of))
}

// unitSum has sums over units of what each comes to, by level, for the bound of their total.
type unitSum struct {
	sum, square, product []float64 // of v, v^2, v times the unit's weight
	most                 []float64
	weight, weights      float64 // sums of the weights and of their squares
}

func newUnitSum(levels int) *unitSum {
	return &unitSum{sum: make([]float64, levels), square: make([]float64, levels), product: make([]float64, levels),
		most: make([]float64, levels)}
}

// add takes a unit, which were all units alike would have a share of all in proportion to its weight.
func (s *unitSum) add(values []float64, weight float64) {
	for k, v := range values {
		s.sum[k] += v
		s.square[k] += v * v
		s.product[k] += v * weight
		s.most[k] = max(s.most[k], v)
	}
	s.weight += weight
	s.weights += weight * weight
}

// relative returns, of the total at a level and as shares of it, the variance by leaving out one
// unit after the other, and what the unit with the most adds; 0 of nothing.
func (s *unitSum) relative(k int) (variance, most float64) {
	sum := s.sum[k]
	if sum == 0 {
		return 0, 0
	}
	v := s.square[k]/(sum*sum) - 2*s.product[k]/(sum*s.weight) + s.weights/(s.weight*s.weight)
	return max(0, v), s.most[k] / sum
}

// bound is how many times the total of new units may be that of these, where one more may be like
// the one with the most.
func (s *unitSum) bound(k int) float64 {
	variance, most := s.relative(k)
	return upperBound(1+most, newClasses*(variance+most*most))
}
