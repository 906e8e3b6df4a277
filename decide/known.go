package decide

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/eval/rank"
)

// LookUpStrangers looks photos up among items of other classes than their own, and returns the nearest of each. Labels
// of photos and items are of one numbering.
func LookUpStrangers(ctx context.Context, photos, items Labelled, by rank.Distance) ([]Stranger, error) {
	if photos.X == nil || photos.X.Rows == 0 || items.X == nil || photos.X.Cols != items.X.Cols {
		return nil, errors.New("no embeddings of strangers, or other ones than those of the items")
	}
	k := &known{by: by, photos: photos.X, items: items.X}
	if by == rank.Cosine {
		k.photos, k.items = rank.Normalized(photos.X), rank.Normalized(items.X)
	}
	var out []Stranger
	err := k.scan(ctx, func(q int, values []float32) {
		least := float32(math.Inf(1))
		for i, v := range values {
			if items.Labels[i] != photos.Labels[q] {
				least = min(least, v)
			}
		}
		out = append(out, Stranger{photos.Labels[q], outward(by, float64(least))})
	})
	return out, err
}

// Known reports whether the gallery has only classes that training saw. Decisions are then by Calibration.Closed: the
// probability of a label is that among these classes, and strangers are told by the gate. Else they are by classes that
// training did not see.
func (d *Decider) Known() bool { return d.known }

// Closed reports whether every photo gets a label, as nothing is known of strangers.
func (d *Decider) Closed() bool { return d.closed }

// At is what Unknown would be with another rate.
func (d *Decider) At(fpir float64, photos int) (Threshold, error) {
	if photos > 1 {
		fpir /= 2
	}
	switch {
	case d.closed:
		return Threshold{}, d.c.asClosed("an unknown")
	case d.known:
		return d.c.Closed.Gate.Unknown(fpir, d.g.Items)
	}
	t, err := d.c.Unknown(fpir, d.g)
	return d.g.Apart.drifted(t), err
}

// Allows is what the distances themselves allow, without a bound: see Gate.Allows. False where it is not known.
func (d *Decider) Allows(fpir float64) (Threshold, bool) {
	if d.closed || !d.known {
		return Threshold{}, false
	}
	return d.c.Closed.Gate.Allows(fpir, d.g.Items)
}

// asClosed is the error about what does not apply to a closed set.
func (c *Calibration) asClosed(what string) error { return &ClosedError{what, c.Closed.Classes} }

// Basis is what decisions about a gallery are learned from.
type Basis int

// The bases of decisions.
const (
	ByNew    Basis = iota // classes that training did not see; the gallery may be of any classes
	ByGate                // photos of the classes of the gallery, and strangers that were looked up in it
	ByClosed              // photos of the classes of the gallery alone: every photo gets a label
)

// Basis is that of Decider.
func (c *Calibration) Basis(g Gallery, opt IdentifyOptions) Basis {
	switch k := c.Closed; {
	case opt.Closed || c.IsClosed() && (k.Gate == nil || !k.holds(g)):
		return ByClosed
	case k != nil && k.Gate != nil && k.holds(g):
		return ByGate
	}
	return ByNew
}

// knownDecider is Decider for a gallery of known classes. Sets are by the calibration's photos of all known classes:
// items that were trained on lie closer to each other than photos to them, so that no class can use its own.
func (c *Calibration) knownDecider(g Gallery, opt IdentifyOptions) (*Decider, error) {
	if c.Closed == nil {
		return nil, errors.New("the calibration has no closed set: kindred calibrate of a run that kept photos of " +
			"its classes for validation makes one")
	}
	if g.Classes < 1 || g.Items < g.Classes {
		return nil, fmt.Errorf("a gallery of %d items in %d classes: nobody can be known from it", g.Items, g.Classes)
	}
	d := &Decider{c: c, g: g, curve: c.Closed.Curve, vote: c.Closed.Vote, reach: math.Inf(-1), known: true,
		closed: c.Basis(g, opt) == ByClosed}
	switch {
	case opt.Strangers != 0:
		return nil, c.asClosed("a share of strangers in the probability of a label")
	case d.closed && opt.FPIR != 0:
		return nil, c.asClosed("a rate of strangers")
	case !d.closed:
		if opt.FPIR == 0 {
			opt.FPIR = defaultFPIR
		}
		var err error
		if d.unknown[0], err = d.At(opt.FPIR, 1); err != nil {
			return nil, err
		}
		d.unknown[1], d.several = d.At(opt.FPIR, 2)
	}
	d.opt = opt
	if opt.Coverage == 0 {
		return d, nil
	}
	d.cover = [2]float64{opt.Coverage, (1 + opt.Coverage) / 2}
	for k := range d.cover {
		v, err := c.Closed.within(d.cover[k])
		if err != nil && k == 0 {
			return nil, err
		}
		if err != nil {
			d.several = err
			break
		}
		d.within[k] = map[int]float64{1: v}
		d.reach = max(d.reach, v)
	}
	return d, nil
}
