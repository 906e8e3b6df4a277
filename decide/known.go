package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/eval/rank"
)

// LookUpStrangers searches photos among items of other classes than their own, and returns the nearest distance of
// each. Labels of photos and items have the same numbering.
func LookUpStrangers(ctx context.Context, photos, items Labelled, by rank.Distance) ([]Stranger, error) {
	if photos.X == nil || photos.X.Rows == 0 || items.X == nil || photos.X.Cols != items.X.Cols {
		return nil, errors.New("no embeddings of unknown photos, or their length differs from that of the items")
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

// Known reports whether the gallery has only classes of training. Decisions then use Calibration.Closed: the
// probability of a label is among these classes, and the gate recognises strangers. Otherwise decisions use the
// calibration on classes that training did not see.
func (d *Decider) Known() bool { return d.known }

// Closed reports whether every photo gets a label, because strangers cannot be recognised.
func (d *Decider) Closed() bool { return d.closed }

// At returns what Unknown would return with another rate.
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
	if d.opt.Estimate {
		return d.standing.estimate(fpir)
	}
	return d.standing.threshold(fpir)
}

// Allows returns the threshold at which the measured rate, without a bound, is fpir. It returns false if it is unknown.
func (d *Decider) Allows(fpir float64) (Threshold, bool) {
	switch {
	case d.closed:
		return Threshold{}, false
	case !d.known:
		t, err := d.standing.estimate(fpir)
		return t, err == nil
	}
	return d.c.Closed.Gate.Allows(fpir, d.g.Items)
}

// asClosed returns the error of a question that does not apply to a closed set.
func (c *Calibration) asClosed(what string) error { return &ClosedError{what, c.Closed.Classes} }

// Basis names the photos that decisions about a gallery are learned from.
type Basis int

// The bases of decisions.
const (
	ByNew    Basis = iota // classes that training did not see; the gallery may be of any classes
	ByGate                // photos of the gallery's classes, and strangers that were searched in it
	ByClosed              // only photos of the gallery's classes: every photo gets a label
)

// Basis returns the basis of a Decider for the gallery.
func (c *Calibration) Basis(g Gallery, opt IdentifyOptions) Basis {
	switch k := c.Closed; {
	case opt.Closed || c.IsClosed() && (k.Gate == nil || !k.holds(g)):
		return ByClosed
	case k != nil && k.Gate != nil && k.holds(g):
		return ByGate
	}
	return ByNew
}

// knownDecider is Decider for a gallery of known classes. Sets use the calibration's photos of all known classes. No
// class can use its own items, because items of training are closer to each other than new photos are to them.
func (c *Calibration) knownDecider(g Gallery, opt IdentifyOptions) (*Decider, error) {
	if c.Closed == nil {
		return nil, errors.New("the calibration has no closed set: run kindred calibrate on a run that kept photos " +
			"of " +
			"its classes for validation")
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
		opt.FPIR = cmp.Or(opt.FPIR, DefaultFPIR)
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
