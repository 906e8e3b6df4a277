package noise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// Observed returns the loss of one labelling y, divided as Expected is. It is
// the definition, by plain loops.
func Observed(l Loss, y []int, d, beta []float64) float64 {
	n, a := len(y), l.alpha()
	sum := 0.0
	for i := range n {
		row := d[i*n : (i+1)*n]
		nearest := -1
		for j := range n {
			if j != i && y[j] == y[i] && (nearest < 0 || row[j] < row[nearest]) {
				nearest = j
			}
		}
		for j := range n {
			pos := y[j] == y[i] && (j != i || (l.Self && l.Kind == Triplet))
			if l.Easy {
				pos = j == nearest
			}
			switch l.Kind {
			case Triplet:
				if !pos {
					continue
				}
				for k := range n {
					if y[k] != y[i] {
						sum += max(0, row[j]-row[k]+a)
					}
				}
			case Margin:
				if pos {
					sum += max(0, row[j]-beta[i]+a)
				} else if y[j] != y[i] {
					sum += max(0, beta[i]-row[j]+a)
				}
			case Contrastive:
				if pos {
					sum += row[j]
				} else if y[j] != y[i] {
					sum += max(0, a-row[j])
				}
			}
		}
	}
	return sum / l.norm(n)
}

// Draw returns a labelling of the model.
func (m Model) Draw(rng *rand.Rand, y []int) {
	for i, c := range m.Own {
		y[i] = c
		if rng.Float64() >= m.P {
			if y[i] = rng.IntN(m.T - 1); y[i] >= c {
				y[i]++
			}
		}
	}
}

// MonteCarlo estimates Expected from draws labellings and returns the mean and
// its standard error. It looks at ctx before each few draws and returns ctx.Err(),
// wrapped, once that is done.
func MonteCarlo(ctx context.Context, m Model, l Loss, d, beta []float64, draws int, seed uint64) (mean, stderr float64,
	err error) {
	const grain = 500
	chunks := (draws + grain - 1) / grain
	type part struct{ sum, squares float64 }
	parts := make([]part, chunks)
	err = par.ForContext(ctx, draws, grain, func(lo, hi int) {
		rng := rand.New(rand.NewPCG(seed, uint64(lo/grain)))
		y := make([]int, m.N())
		p := &parts[lo/grain]
		for range hi - lo {
			m.Draw(rng, y)
			v := Observed(l, y, d, beta)
			p.sum += v
			p.squares += v * v
		}
	})
	if err != nil {
		return 0, 0, fmt.Errorf("the mean loss of %d labellings: %w", draws, err)
	}
	var t part
	for _, p := range parts {
		t.sum += p.sum
		t.squares += p.squares
	}
	f := float64(draws)
	mean = t.sum / f
	if draws < 2 {
		return mean, math.NaN(), nil
	}
	return mean, math.Sqrt(max(0, t.squares/f-mean*mean) / (f - 1)), nil
}
