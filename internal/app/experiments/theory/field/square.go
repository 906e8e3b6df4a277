package field

import (
	"context"
	"fmt"
)

// Grid holds the total changes of S_ap and S_an at the centres of N x N cells
// of the square [Lo, 1]². Row r belongs to the r-th lowest S_an, column c to
// the c-th lowest S_ap.
type Grid struct {
	Lo     float64
	N      int
	AP, AN [][]float64
}

// Map computes a Grid; lo is in [-1, 1), and n is at least 1. It looks at ctx in
// every row and returns ctx.Err(), wrapped, once that is done.
func Map(ctx context.Context, l Loss, c Config, lo float64, n int) (Grid, error) {
	if n < 1 || !(lo >= -1 && lo < 1) {
		panic("field: a map needs a cell and a square within [-1, 1]")
	}
	g := Grid{Lo: lo, N: n, AP: make([][]float64, n), AN: make([][]float64, n)}
	for r := range n {
		if err := ctx.Err(); err != nil {
			return Grid{}, fmt.Errorf("row %d of a map of %d x %d cells: %w", r+1, n, n, err)
		}
		g.AP[r], g.AN[r] = make([]float64, n), make([]float64, n)
		for k := range n {
			g.AP[r][k], g.AN[r][k] = Change(l, c, g.Centre(k), g.Centre(r))
		}
	}
	return g, nil
}

// Centre returns the similarity at the centre of row or column k.
func (g Grid) Centre(k int) float64 { return g.Lo + (1-g.Lo)*(float64(k)+0.5)/float64(g.N) }

// Shares are the shares of a square's area in which a step moves the wrong
// way. A change of at most 1e-12 is no movement.
type Shares struct {
	// PositiveAway: S_ap falls. NegativeNear: S_an rises.
	PositiveAway float64 `json:"positive_away"`
	NegativeNear float64 `json:"negative_near"`
	// Both: S_ap falls and S_an rises.
	Both float64 `json:"both"`
	// ToCorner: both rise, towards (1, 1) where all points are one.
	ToCorner float64 `json:"to_corner"`
	// Worse: S_ap - S_an falls, so that the triplet gets less right.
	Worse float64 `json:"worse"`
}

// Shares measures the part of the grid with S_ap >= from and S_an >= from, by
// cell centres. The whole grid has from = Lo.
func (g Grid) Shares(from float64) Shares {
	const still = 1e-12
	var s Shares
	cells := 0
	for r := range g.N {
		for k := range g.N {
			if g.Centre(k) < from || g.Centre(r) < from {
				continue
			}
			cells++
			ap, an := g.AP[r][k], g.AN[r][k]
			count(&s.PositiveAway, ap < -still)
			count(&s.NegativeNear, an > still)
			count(&s.Both, ap < -still && an > still)
			count(&s.ToCorner, ap > still && an > still)
			count(&s.Worse, ap-an < -still)
		}
	}
	for _, x := range []*float64{&s.PositiveAway, &s.NegativeNear, &s.Both, &s.ToCorner, &s.Worse} {
		*x /= float64(max(cells, 1))
	}
	return s
}

func count(x *float64, yes bool) {
	if yes {
		*x++
	}
}
