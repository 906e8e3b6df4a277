package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/eval"
)

// SearchStrangers searches photos among items of other classes than their own, and returns the nearest distance of
// each. Labels of photos and items have the same numbering.
func SearchStrangers(ctx context.Context, photos, items LabelledEmbeddings, by eval.Distance) ([]Stranger, error) {
	if photos.X == nil || photos.X.Rows == 0 || items.X == nil || photos.X.Cols != items.X.Cols {
		return nil,
			errors.New("there are no embeddings of unknown photos, or their length differs from that of the items")
	}
	k := &knownPhotos{distance: by, photos: photos.X, items: items.X}
	if by == eval.Cosine {
		k.photos, k.items = eval.NormalizeRows(photos.X), eval.NormalizeRows(items.X)
	}
	var out []Stranger
	err := k.scan(ctx, func(q int, values []float32) {
		least := float32(math.Inf(1))
		for i, v := range values {
			if items.Labels[i] != photos.Labels[q] {
				least = min(least, v)
			}
		}
		out = append(out, Stranger{photos.Labels[q], toDistance(by, float64(least))})
	})
	return out, err
}

// IsKnownGallery reports whether the gallery has only classes of training. Decisions then use Calibration.Closed: the
// probability of a label is among these classes, and the gate recognises strangers. Otherwise decisions use the
// calibration on classes that training did not see.
func (d *Decider) IsKnownGallery() bool { return d.isKnown }

// IsClosed reports whether every photo gets a label, because strangers cannot be recognised.
func (d *Decider) IsClosed() bool { return d.isClosed }

// ThresholdAt returns what Unknown would return with another rate.
func (d *Decider) ThresholdAt(fpir float64, photos int) (Threshold, error) {
	if photos > 1 {
		fpir /= 2
	}
	switch {
	case d.isClosed:
		return Threshold{}, d.c.closedSetError("an unknown")
	case d.isKnown:
		return d.c.Closed.Gate.UnknownThreshold(fpir, d.g.Items)
	}
	if d.opt.Estimate {
		return d.strangerRates.estimatedThreshold(fpir)
	}
	return d.strangerRates.boundedThreshold(fpir)
}

// EstimatedThreshold returns the threshold at which the measured rate, without a bound, is fpir. It returns
// false if it is unknown.
func (d *Decider) EstimatedThreshold(fpir float64) (Threshold, bool) {
	switch {
	case d.isClosed:
		return Threshold{}, false
	case !d.isKnown:
		t, err := d.strangerRates.estimatedThreshold(fpir)
		return t, err == nil
	}
	return d.c.Closed.Gate.EstimatedThreshold(fpir, d.g.Items)
}

// closedSetError returns the error of a question that does not apply to a closed set.
func (c *Calibration) closedSetError(what string) error { return &ClosedError{what, c.Closed.Classes} }

// Basis names the photos that decisions about a gallery are learned from.
type Basis int

// The bases of decisions.
const (
	OpenSetBasis   Basis = iota // classes that training did not see; the gallery may be of any classes
	GateBasis                   // photos of the gallery's classes, and strangers that were searched in it
	ClosedSetBasis              // only photos of the gallery's classes: every photo gets a label
)

// Basis returns the basis of a Decider for the gallery.
func (c *Calibration) Basis(g Gallery, opt IdentifyOptions) Basis {
	switch k := c.Closed; {
	case opt.Closed || c.IsClosed() && (k.Gate == nil || !k.isGallery(g)):
		return ClosedSetBasis
	case k != nil && k.Gate != nil && k.isGallery(g):
		return GateBasis
	}
	return OpenSetBasis
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
		return nil, fmt.Errorf("the gallery has %d items in %d classes: identification needs items with labels",
			g.Items, g.Classes)
	}
	d := &Decider{c: c, g: g, curve: c.Closed.Curve, vote: c.Closed.Vote, searchRadius: math.Inf(-1), isKnown: true,
		isClosed: c.Basis(g, opt) == ClosedSetBasis}
	switch {
	case opt.Strangers != 0:
		return nil, c.closedSetError("a share of strangers in the probability of a label")
	case d.isClosed && opt.FPIR != 0:
		return nil, c.closedSetError("a rate of strangers")
	case !d.isClosed:
		opt.FPIR = cmp.Or(opt.FPIR, DefaultFPIR)
		var err error
		if d.unknown[0], err = d.ThresholdAt(opt.FPIR, 1); err != nil {
			return nil, err
		}
		d.unknown[1], d.severalErr = d.ThresholdAt(opt.FPIR, 2)
	}
	d.opt = opt
	if opt.Coverage == 0 {
		return d, nil
	}
	d.coverage = [2]float64{opt.Coverage, (1 + opt.Coverage) / 2}
	for k := range d.coverage {
		v, err := c.Closed.coverageDistance(d.coverage[k])
		if err != nil && k == 0 {
			return nil, err
		}
		if err != nil {
			d.severalErr = err
			break
		}
		d.within[k] = map[int]float64{1: v}
		d.searchRadius = max(d.searchRadius, v)
	}
	return d, nil
}
