package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/par"
)

// Open says at which distances probes find something in a gallery that may lack their
// class: open-set identification. It does not change, so any number of goroutines may use
// one. There is at least one probe with a mate and one without.
type Open struct {
	// All are sorted.
	unmated []key // the nearest item of each probe without a mate
	mate    []key // the nearest mate of each mated probe
	right   []key // the nearest item of the mated probes for which that is a mate
}

// OpenRates are what a threshold comes to.
type OpenRates struct {
	// Threshold is the largest distance at which something is found.
	Threshold float64
	// FPIR is the share of probes without a mate that find something.
	FPIR float64
	// FNIR is the share of mated probes that do not find a mate, at any rank.
	FNIR float64
	// DIR is the detection and identification rate at rank 1: the share of mated probes
	// that find something, the nearest of which is a mate.
	DIR float64
}

// ErrNoUnmated and ErrNoMated tell that there is no probe of one kind.
var (
	ErrNoUnmated = errors.New("no probe without a mate: the gallery has the class of each, so that none should " +
		"come out as unknown")
	ErrNoMated = errors.New("no probe with a mate in the gallery")
)

// Identify looks every probe up in a gallery. A nil gallery means that each probe is
// looked up among the others: then those without a mate are the only ones of their class.
// The nearest item is that of rank.Nearest, ties by the lowest index.
//
// It returns the errors of Compare, but ErrNoUnmated and ErrNoMated in place of its last
// two.
func Identify(ctx context.Context, probes Set, gallery *Set, opt Options) (*Open, error) {
	looked, err := lookUp(ctx, probes, gallery, opt)
	if err != nil {
		return nil, err
	}
	o := &Open{}
	for _, l := range looked {
		switch {
		case !l.mated:
			o.unmated = append(o.unmated, l.nearest)
			continue
		case l.right:
			o.right = append(o.right, l.nearest)
		}
		o.mate = append(o.mate, l.mate)
	}
	for _, keys := range [...][]key{o.unmated, o.mate, o.right} {
		slices.Sort(keys)
	}
	switch {
	case len(o.mate) == 0:
		return nil, ErrNoMated
	case len(o.unmated) == 0:
		return nil, ErrNoUnmated
	}
	return o, nil
}

// lookup is what a probe finds.
type lookup struct {
	nearest, mate key
	mated, right  bool // right: the nearest is a mate
}

func lookUp(ctx context.Context, probes Set, gallery *Set, opt Options) ([]lookup, error) {
	p, err := newProduct(probes, gallery, opt) // checks
	if err != nil {
		return nil, err
	}
	g := probes
	if gallery != nil {
		g = *gallery
	} else if probes.X.Rows == 1 {
		return nil, ErrNoMated
	}
	x := g.X
	if gallery == nil {
		x = nil
	}
	nb, err := rank.Nearest(ctx, probes.X, x, 1, rank.Options{Distance: opt.Distance, Progress: opt.Progress})
	if err != nil {
		return nil, err
	}
	out := make([]lookup, len(p.rows))
	err = par.ForContext(ctx, len(out), 16, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			i := int(p.rows[r])
			l := &out[i]
			first := int(nb.Row[i])
			l.nearest = up(p.distance(i, first))
			l.right = g.Labels[first] == probes.Labels[i]
			for _, j := range p.cols[p.genuine[r][0]:p.genuine[r][1]] {
				if p.same && int(j) == i {
					continue
				}
				if k := up(p.distance(i, int(j))); !l.mated || k < l.mate {
					l.mated, l.mate = true, k
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("the nearest mates of %d probes: %w", len(out), err)
	}
	return out, nil
}

// Mated is the number of probes with a mate in the gallery, Unmated that of the others.
func (o *Open) Mated() int { return len(o.mate) }

// Unmated is the number of probes whose class the gallery lacks.
func (o *Open) Unmated() int { return len(o.unmated) }

// Rank1 is the share of mated probes whose nearest item is a mate, however far: DIR at a
// threshold that accepts all.
func (o *Open) Rank1() float64 { return float64(len(o.right)) / float64(len(o.mate)) }

// At returns the rates of a threshold, which is lowered to a number of 20 significant
// bits.
func (o *Open) At(threshold float64) OpenRates { return o.rates(down(threshold)) }

// AtFPIR returns the rates of the largest threshold whose FPIR on these probes is at most
// fpir. As with AtFMR ties are found together, and FPIR is never more than wanted; with
// fpir below 1 / Unmated() no probe without a mate finds anything.
func (o *Open) AtFPIR(fpir float64) OpenRates {
	n := int(allowed(fpir, int64(len(o.unmated))))
	if n == len(o.unmated) {
		last := o.unmated[n-1]
		return o.rates(max(last, o.mate[len(o.mate)-1])) // a mate is no nearer than what is nearest
	}
	return o.rates(o.unmated[n] - 1)
}

func (o *Open) rates(k key) OpenRates {
	within := func(keys []key, all int) float64 {
		return float64(sort.Search(len(keys), func(i int) bool { return keys[i] > k })) / float64(all)
	}
	return OpenRates{Threshold: k.value(), FPIR: within(o.unmated, len(o.unmated)),
		FNIR: 1 - within(o.mate, len(o.mate)), DIR: within(o.right, len(o.mate))}
}
