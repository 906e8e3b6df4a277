// Package groups finds groups of classes that lie together, such as products of one maker or letters of one
// script. In: rows, with the class of each. Out: the group of each class, or that there are none.
package groups

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

const (
	// MinClasses is the fewest classes among which groups are looked for, and Most the most, in time and memory
	// that grow with their square. What one group of many more classes weighs is little.
	MinClasses = 10
	MaxClasses = 1000
	// numDraws is how many times directions are drawn anew, and level the chance of calling classes grouped
	// that are not.
	numDraws     = 39
	significance = 0.05
)

// Find numbers the groups of n classes, those of one class among them; nil if the classes lie in no groups,
// or are fewer than Fewest or more than Most. rows is called unless they are, and adds every row of d values
// with its class, from 0; each class has a row.
//
// Ward's tree over the means of the classes is cut into several numbers of groups, and every cut has its silhouette.
// The same is done with means at the same distances from the middle of all but in other directions,
// drawn with the covariance of the means: classes near the middle resemble many others, and are no
// group by that. A cut is as good as its silhouette is above those of the drawn sets, in standard
// deviations. The best one is believed if it is better than the best ones of 38 of 39 drawn sets.
func Find(ctx context.Context, n, d int, rows func(add func(class int, row []float32)), seed uint64) ([]int, error) {
	if n > MaxClasses || n < MinClasses {
		return nil, nil
	}
	x := means(n, d, rows)
	cuts := groupCuts(n)
	all := make([][]float64, numDraws+1) // silhouettes by cut; first those of the set itself
	merges, own, err := silhouettes(ctx, x, cuts)
	if err != nil {
		return nil, err
	}
	all[0] = own
	failed := make([]error, numDraws)
	err = par.ForContext(ctx, numDraws, 1, func(lo, hi int) {
		for draw := lo; draw < hi; draw++ {
			_, all[draw+1], failed[draw] = silhouettes(ctx, drawReference(x, seed, uint64(draw)), cuts)
		}
	})
	if err := errors.Join(append(failed, err)...); err != nil {
		return nil, fmt.Errorf("groups of classes: %w", err)
	}
	best, cut, above := bestCuts(all)
	if float64(above) > significance*(numDraws+1) || best <= 0 {
		return nil, nil
	}
	return ward.Cut(merges, n, cuts[cut]), nil
}

// means returns the means of the classes, less the mean of these means.
func means(n, d int, rows func(add func(class int, row []float32))) *matrix.Dense {
	sum, count := make([]float64, n*d), make([]float64, n)
	rows(func(class int, row []float32) {
		of := sum[class*d:][:d]
		for k, v := range row {
			of[k] += float64(v)
		}
		count[class]++
	})
	x, middle := matrix.New(n, d), make([]float64, d)
	for i := range n {
		for k, v := range sum[i*d:][:d] {
			v /= count[i]
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

// drawReference draws rows of the same lengths as those of x, in directions with the covariance of x.
func drawReference(x *matrix.Dense, seed, draw uint64) *matrix.Dense {
	n := x.Rows
	rng := rand.New(rand.NewPCG(seed, 6<<32|draw))
	mix, out := matrix.New(n, n), matrix.New(n, x.Cols)
	for k := range mix.Data {
		mix.Data[k] = float32(rng.NormFloat64())
	}
	matrix.Gemm(false, false, 1, mix, x, 0, out)
	for i := range n {
		row := out.Row(i)
		scale := norm(x.Row(i)) / max(norm(row), 1e-30)
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

// Sizes counts the classes of each group.
func Sizes(of []int) []int {
	out := make([]int, slices.Max(of)+1)
	for _, u := range of {
		out[u]++
	}
	return out
}

func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
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
func silhouettes(ctx context.Context, x *matrix.Dense, cuts []int) (tree []ward.Merge, scores []float64, err error) {
	d := ward.Squared(x)
	far := matrix.New(d.Rows, d.Cols)
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
func silhouette(d *matrix.Dense, of []int) float64 {
	size := Sizes(of)
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
