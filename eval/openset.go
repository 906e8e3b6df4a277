package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// OpenSet holds the distances at which probes find items in a gallery that may lack their class: open-set
// identification. There is at least one probe with a mate and one without. Open does not change, so it is
// safe for concurrent use.
type OpenSet struct {
	keyScale
	// All lists are ordered by increasing key.
	unmated []probe // the nearest item of each probe without a mate
	mate    []probe // the nearest mate of each mated probe
	rank1   []probe // the nearest item of each mated probe whose nearest item is a mate
}

// probe is the distance at which a probe finds an item, and the probe's label.
type probe struct {
	key   key
	label int64
}

// OpenSetRates are the rates at a threshold.
type OpenSetRates struct {
	// Threshold is the largest distance at which an item is found.
	Threshold float64
	// FPIR is the share of probes without a mate that find any item.
	FPIR float64
	// FNIR is the share of mated probes that do not find a mate, at any rank.
	FNIR float64
	// DIR is the detection and identification rate at rank 1: the share of mated probes whose
	// nearest item is a mate and within the threshold.
	DIR float64
}

// ErrNoUnmated and ErrNoMated mean that there are no probes of a kind.
var (
	ErrNoUnmated = errors.New("no probe without a mate: the gallery has the class of every probe, so none should " +
		"be unknown")
	ErrNoMated = errors.New("no probe with a mate in the gallery")
)

// Identify searches every probe in a gallery. A nil gallery means that each probe is searched among the
// others; then a probe without a mate is the only one of its class. The nearest item is that of
// Nearest, with the lowest index for ties.
//
// It returns the errors of ComparePairs, but ErrNoUnmated and ErrNoMated in place of ErrNoGenuine and
// ErrNoImpostor.
func Identify(ctx context.Context, probes Set, gallery *Set, opt CompareOptions) (*OpenSet, error) {
	p, err := newPairProduct(probes, gallery, opt) // checks
	if err != nil {
		return nil, err
	}
	looked, err := p.lookUp(ctx, probes, gallery, opt)
	if err != nil {
		return nil, err
	}
	o := &OpenSet{keyScale: p.keyScale}
	for i, l := range looked {
		y := p.labels[i]
		switch {
		case !l.hasMate:
			o.unmated = append(o.unmated, probe{l.nearest, y})
			continue
		case l.isRank1:
			o.rank1 = append(o.rank1, probe{l.nearest, y})
		}
		o.mate = append(o.mate, probe{l.mate, y})
	}
	for _, found := range [...][]probe{o.unmated, o.mate, o.rank1} {
		slices.SortFunc(found, func(a, b probe) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.label, b.label))
		})
	}
	switch {
	case len(o.mate) == 0:
		return nil, ErrNoMated
	case len(o.unmated) == 0:
		return nil, ErrNoUnmated
	}
	return o, nil
}

// probeResult is the result of searching a probe.
type probeResult struct {
	nearest, mate    key
	hasMate, isRank1 bool // right: the nearest is a mate
}

func (p *pairProduct) lookUp(ctx context.Context, probes Set, gallery *Set, opt CompareOptions) ([]probeResult, error) {
	var x *matrix.Dense
	if gallery != nil {
		x = gallery.X
		if (exact.Self{Item: opt.SelfRows}).MinOthers(x.Rows) == 0 {
			return nil, ErrNoMated
		}
	} else if probes.X.Rows == 1 {
		return nil, ErrNoMated
	}
	nb, err := Nearest(ctx, probes.X, x, 1, RankOptions{Distance: opt.Distance, SelfRows: opt.SelfRows,
		Progress: opt.Progress})
	if err != nil {
		return nil, err
	}
	out := make([]probeResult, len(p.rows))
	err = par.ForContext(ctx, len(out), 16, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			i := int(p.rows[r])
			l := &out[i]
			first := int(nb.Row[i])
			l.nearest = p.roundUp(p.distance(i, first))
			l.isRank1 = p.galleryLabels[first] == p.labels[i]
			for k, j := range p.cols[p.genuine[r][0]:p.genuine[r][1]] {
				if p.isSymmetric && int(j) == i || p.selfPlace != nil && p.selfPlace[i] == p.genuine[r][0]+int32(k) {
					continue
				}
				if k := p.roundUp(p.distance(i, int(j))); !l.hasMate || k < l.mate {
					l.hasMate, l.mate = true, k
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("the nearest mates of %d probes: %w", len(out), err)
	}
	return out, nil
}

// NumMated returns the number of probes with a mate in the gallery.
func (o *OpenSet) NumMated() int { return len(o.mate) }

// NumUnmated returns the number of probes whose class the gallery lacks.
func (o *OpenSet) NumUnmated() int { return len(o.unmated) }

// Rank1 returns the share of mated probes whose nearest item is a mate at any distance. It is DIR at a
// threshold that accepts all.
func (o *OpenSet) Rank1() float64 { return float64(len(o.rank1)) / float64(len(o.mate)) }

// RatesAt returns the rates of a threshold, which is lowered to a number of 20 significant
// bits. NaN finds nothing.
func (o *OpenSet) RatesAt(threshold float64) OpenSetRates {
	return o.rates(o.roundDown(comparableThreshold(threshold)))
}

// RatesAtFPIR returns the rates of the largest threshold whose FPIR on these probes is at most fpir. As in
// RatesAtFMR, ties are accepted or rejected together, so FPIR is never above fpir. With fpir below
// 1 / Unmated() no probe without a mate finds an item.
func (o *OpenSet) RatesAtFPIR(fpir float64) OpenSetRates {
	n := int(maxCount(fpir, int64(len(o.unmated))))
	if n == len(o.unmated) {
		last := o.unmated[n-1].key
		return o.rates(max(last, o.mate[len(o.mate)-1].key)) // the nearest mate is never nearer than the nearest item
	}
	return o.rates(o.unmated[n].key - 1)
}

func (o *OpenSet) rates(k key) OpenSetRates {
	within := func(found []probe) int64 {
		return int64(sort.Search(len(found), func(i int) bool { return found[i].key > k }))
	}
	mated := int64(len(o.mate))
	return OpenSetRates{Threshold: o.value(k), FPIR: ratio(within(o.unmated), int64(len(o.unmated))),
		FNIR: ratio(mated-within(o.mate), mated), DIR: ratio(within(o.rank1), mated)}
}
