// Package ward agglomerates rows by Ward's criterion.
package ward

import (
	"cmp"
	"context"
	"slices"

	"github.com/kindred-ml/kindred/matrix"
)

// Merge is a step of an agglomeration: the groups that the rows A and B stand for become one.
type Merge struct {
	A, B   int
	Height float64
}

// Squared returns the squared distances between all rows of x, n x n.
func Squared(x *matrix.Dense) *matrix.Dense {
	d := matrix.New(x.Rows, x.Rows)
	matrix.SquaredDistances(x, x, d)
	for i := range d.Rows {
		d.Row(i)[i] = 0
	}
	return d
}

// Tree agglomerates rows by Ward's criterion, each time the two groups whose union
// adds least to the sum of squared distances from the means, given the squared
// distances of the rows, which it overwrites. The n - 1 merges come in order of
// their height. It follows chains of nearest neighbours (Murtagh 1983), in time
// proportional to n^2; ties go to the lowest index. The error is ctx.Err().
func Tree(ctx context.Context, d *matrix.Dense) ([]Merge, error) {
	n := d.Rows
	size := make([]float64, n)
	alive := make([]int, n) // the rows that stand for a group, ascending
	for i := range alive {
		alive[i], size[i] = i, 1
	}
	var chain []int
	var out []Merge
	for len(alive) > 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(chain) == 0 {
			chain = append(chain, alive[0])
		}
		at := chain[len(chain)-1]
		row, near, least := d.Row(at), -1, float32(0)
		if len(chain) > 1 { // of equals the one before, so that the chain ends
			near = chain[len(chain)-2]
			least = row[near]
		}
		for _, j := range alive {
			if j != at && (row[j] < least || near < 0) {
				near, least = j, row[j]
			}
		}
		if len(chain) < 2 || near != chain[len(chain)-2] {
			chain = append(chain, near)
			continue
		}
		chain = chain[:len(chain)-2]
		a, b := min(at, near), max(at, near)
		out = append(out, Merge{a, b, float64(least)})
		k, _ := slices.BinarySearch(alive, b)
		alive = slices.Delete(alive, k, k+1)
		da, db := d.Row(a), d.Row(b)
		for _, j := range alive {
			if j == a {
				continue
			}
			// Lance and Williams' update.
			t := size[a] + size[b] + size[j]
			v := ((size[a]+size[j])*float64(da[j]) + (size[b]+size[j])*float64(db[j]) - size[j]*float64(least)) / t
			da[j] = float32(max(v, 0))
			d.Row(j)[a] = da[j]
		}
		size[a] += size[b]
	}
	slices.SortStableFunc(out, func(p, q Merge) int { return cmp.Compare(p.Height, q.Height) })
	return out, nil
}

// Cut returns the groups, numbered from 0 in the order of their first rows, after
// all but the last k - 1 merges.
func Cut(merges []Merge, n, k int) []int {
	root := make([]int, n)
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, m := range merges[:max(0, n-k)] {
		a, b := find(m.A), find(m.B)
		root[max(a, b)] = min(a, b)
	}
	out := make([]int, n)
	number := map[int]int{}
	for i := range out {
		r := find(i)
		if _, ok := number[r]; !ok {
			number[r] = len(number)
		}
		out[i] = number[r]
	}
	return out
}
