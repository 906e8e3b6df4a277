package diagnose

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/eval/cluster"
	"github.com/kindred-ml/kindred/mat"
)

// KindsOptions limit the work of CountKinds. The zero value is the default.
type KindsOptions struct {
	Classes int // the most classes that are tested, drawn at random; default 40
	Rows    int // the most rows of a class, drawn at random; default 150
	Seed    uint64
}

// Kinds says in how many classes the rows fall into several clouds.
type Kinds struct {
	// Tested is the number of classes with at least 8 rows that were looked at,
	// Several that of those with more than one cloud at the level of 5 %
	// (cluster.SigClust).
	Tested  int `json:"tested"`
	Several int `json:"several"`
	// Z is the median over the tested classes of SigClust's Z.
	Z float64 `json:"z"`
	// P is the probability of as many or more if each class were one cloud: that
	// of Several or more of Tested at 5 % each.
	P float64 `json:"p"`
}

// Coarse reports whether there are more classes of several clouds than chance
// explains, at the level of 5 %: the labels then stand for several kinds of things
// each.
func (k *Kinds) Coarse() bool { return k.Tested > 0 && k.P <= 0.05 }

// String says what was found.
func (k *Kinds) String() string {
	if k.Tested == 0 {
		return "no class has the 8 samples that it takes to tell whether it holds several kinds"
	}
	return fmt.Sprintf("%d of %d classes fall into several kinds (p %.2g)", k.Several, k.Tested, k.P)
}

// Tests of a class: its fewest rows, the level, and the draws, of which at most
// one may be below a class that counts.
const (
	kindRows  = 8
	kindLevel = 0.05
	kindDraws = 39
)

// CountKinds tests in embeddings x (n x d) with a label for each row whether the
// classes are of one kind each. It is meant for features that the labels had no
// part in, such as those of a pretrained network: training on the labels removes
// what it looks for.
//
// Work and memory grow with Classes x Rows^2 x d. Rows that are not finite are an
// error, as is a number of labels other than that of rows. It checks ctx as
// cluster.KMeans does.
func CountKinds(ctx context.Context, x *mat.Dense, labels []int64, opt KindsOptions) (*Kinds, error) {
	if x == nil || x.Rows != len(labels) {
		return nil, errors.New("diagnose: as many labels as rows are needed to count the kinds in classes")
	}
	if opt.Classes < 0 || opt.Rows < 0 || opt.Rows > 0 && opt.Rows < kindRows {
		return nil, fmt.Errorf("diagnose: kinds in %d classes of %d rows", opt.Classes, opt.Rows)
	}
	if opt.Classes == 0 {
		opt.Classes = 40
	}
	if opt.Rows == 0 {
		opt.Rows = 150
	}
	rows := map[int64][]int{}
	for i, y := range labels {
		rows[y] = append(rows[y], i)
	}
	var classes []int64
	for y, r := range rows {
		if len(r) >= kindRows {
			classes = append(classes, y)
		}
	}
	slices.Sort(classes)
	rng := rand.New(rand.NewPCG(opt.Seed, 0))
	if len(classes) > opt.Classes {
		rng.Shuffle(len(classes), func(a, b int) { classes[a], classes[b] = classes[b], classes[a] })
		classes = classes[:opt.Classes]
	}
	k := &Kinds{Tested: len(classes), P: 1}
	var z []float64
	for _, y := range classes {
		r := rows[y]
		if len(r) > opt.Rows {
			rng.Shuffle(len(r), func(a, b int) { r[a], r[b] = r[b], r[a] })
			r = r[:opt.Rows]
		}
		class := gather(x, r, make([]float64, x.Cols), 1)
		s, err := cluster.SigClust(ctx, class, cluster.SigClustConfig{Draws: kindDraws, Seed: opt.Seed})
		if err != nil {
			return nil, fmt.Errorf("kinds in class %d: %w", y, err)
		}
		if s.P <= kindLevel {
			k.Several++
		}
		z = append(z, s.Z)
	}
	if len(z) == 0 {
		return k, nil
	}
	slices.Sort(z)
	k.Z = (z[(len(z)-1)/2] + z[len(z)/2]) / 2
	if k.Several > 0 {
		k.P = distuv.Binomial{N: float64(k.Tested), P: kindLevel}.Survival(float64(k.Several - 1))
	}
	return k, nil
}
