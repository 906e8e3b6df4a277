package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Gallery describes the items among which a photo is searched.
type Gallery struct {
	Classes, Items int
	// MinItems is the least number of items of a class, or 0 if it is unknown.
	MinItems int
	// Photos returns the number of items of a class. Nil means Items / Classes for every class.
	Photos func(label string) int
	// Share is the share of pairs of items that are of one class, including pairs of an item with
	// itself. 0 means 1 / Classes, as with classes of equal sizes.
	Share float64
	// Spread, if set, is used for sets instead of the spread of the calibration's classes, for
	// classes with enough items.
	Spread Spread
	// Means and Tryout are needed for decisions by a calibration on classes that training did not see. A Sampler
	// measures them.
	Means         *Means
	StrangerTrial *StrangerTrial
}

// NewGallery returns the Gallery of items with the given labels.
func NewGallery(labels []string) Gallery {
	count := make(map[string]int)
	for _, l := range labels {
		count[l]++
	}
	return NewGalleryFromCounts(count)
}

// NewGalleryFromCounts is NewGallery for counted labels. count has the number of items of each label, and is kept.
func NewGalleryFromCounts(count map[string]int) Gallery {
	g := Gallery{Classes: len(count), Photos: func(l string) int { return count[l] }}
	var squares uint64 // integers, whose sum does not depend on the order
	for _, n := range count {
		if g.MinItems == 0 || n < g.MinItems {
			g.MinItems = n
		}
		g.Items += n
		squares += uint64(n) * uint64(n)
	}
	if g.Items > 0 {
		g.Share = float64(squares) / (float64(g.Items) * float64(g.Items))
	}
	return g
}

// Prior returns the share of pairs of a photo and an item that are of one class, for Same. The photo's
// class is in the gallery with probability known, and as common there as elsewhere.
func (g Gallery) Prior(known float64) float64 {
	if g.Share > 0 {
		return known * g.Share
	}
	return known / float64(max(1, g.Classes))
}

func (g Gallery) numPhotos(label string) int {
	if g.Photos != nil {
		return g.Photos(label)
	}
	return max(1, g.Items/max(1, g.Classes))
}

// Unlabelled is the label of an item without a label.
const Unlabelled = "(no label)"

// Neighbour is an item near a photo.
type Neighbour struct {
	Label    string
	Distance float64
}

// IdentifyOptions are the options of decisions. The zero value is the default.
type IdentifyOptions struct {
	// FPIR is the largest share of strangers (photos whose class is not in the gallery) that may get
	// a label; default 0.05.
	FPIR float64
	// Estimate takes FPIR for the expected share of strangers that get a label, not for a bound that holds in 95 of
	// 100 cases: about half of the time more get one.
	Estimate bool
	// Strangers is the expected share of strangers among the photos, which affects probabilities;
	// default 1/2.
	Strangers float64
	// Closed gives every photo a label of the classes of training, by Calibration.Closed. This is also the case if
	// the calibration is closed and has no gate. FPIR and Strangers then do not apply.
	Closed bool
	// Coverage, if positive, requests the set of labels that contains the right label with this
	// probability if its class is in the gallery. The probability holds on average over classes, and
	// for every class with enough items in Gallery.Spread.
	Coverage float64
}

// The defaults of IdentifyOptions.
const (
	DefaultFPIR      = 0.05
	DefaultStrangers = 0.5
)

// Decision is the decision about the photos of one thing.
type Decision struct {
	// Label is the likeliest class, even if Unknown is set, and Probability the probability that it
	// is right. RunnerUp is the second likeliest class.
	Label               string  `json:"label"`
	Probability         float64 `json:"probability"`
	RunnerUp            string  `json:"runner_up,omitempty"`
	RunnerUpProbability float64 `json:"runner_up_probability,omitempty"`
	// Unknown means that a stranger cannot be excluded.
	Unknown bool `json:"unknown"`
	// NeededProbability is the least probability of a label that is not unknown. It is 0 in a closed set,
	// where every photo gets a label, and with a gate. Score is the log-odds of the likeliest class at even
	// odds of a stranger, the median if there are several photos.
	NeededProbability float64 `json:"needed,omitzero"`
	Score             float64 `json:"-"`
	// Nearest is the distance of the nearest item, or for several photos the median of these
	// distances. Within is the threshold of a gate for it, else 0.
	Nearest float64 `json:"nearest"`
	Within  float64 `json:"within,omitzero"`
	// Set holds the right label with the requested coverage, the likeliest first. It may be empty for
	// a stranger. It is nil without coverage.
	Set []string `json:"set,omitzero"`
}

// Decider decides about photos that are searched in one gallery. It is safe for concurrent use.
type Decider struct {
	c            *Calibration
	g            Gallery
	opt          IdentifyOptions
	unknown      [2]Threshold // for one photo, and for several
	severalErr   error        // error of the threshold for several photos
	coverage     [2]float64   // distance of coverage for one photo, and for several
	within       [2]map[int]float64
	searchRadius float64
	numOwnSpread int // classes of Gallery.Spread with enough items for one photo
	// curve and vote turn distances and shares of the vote into probabilities, among known classes.
	curve             Curve
	vote              Vote
	strangers         float64 // log-odds of no stranger
	strangerRates     *strangerRates
	isKnown, isClosed bool // see Known and Closed
}

// Decider returns a Decider for a gallery. It returns the errors of Unknown and Cover.
func (c *Calibration) Decider(g Gallery, opt IdentifyOptions) (*Decider, error) {
	if c.Basis(g, opt) != OpenSetBasis {
		return c.knownDecider(g, opt)
	}
	opt.FPIR = cmp.Or(opt.FPIR, DefaultFPIR)
	opt.Strangers = cmp.Or(opt.Strangers, DefaultStrangers)
	if !(opt.Strangers > 0 && opt.Strangers < 1) {
		return nil, fmt.Errorf("the share of strangers is %v: must be above 0 and below 1", opt.Strangers)
	}
	if c.Score == nil {
		return nil, fmt.Errorf("the calibration was made by an earlier version, which stored no photos to measure " +
			"galleries with: make it again with kindred calibrate")
	}
	if g.Means == nil || g.StrangerTrial == nil || g.Means.numClasses() == 0 {
		return nil, fmt.Errorf("the gallery of %d items in %d classes has no measures: identification needs them",
			g.Items, g.Classes)
	}
	d := &Decider{c: c, g: g, opt: opt, strangers: -logit(opt.Strangers),
		strangerRates: newStrangerRates(c.Score, g.StrangerTrial, g.Means.numClasses())}
	var err error
	if d.unknown[0], err = d.ThresholdAt(opt.FPIR, 1); err != nil {
		return nil, err
	}
	d.unknown[1], d.severalErr = d.ThresholdAt(opt.FPIR, 2)
	if opt.Coverage == 0 {
		d.searchRadius = math.Inf(-1)
		return d, nil
	}
	d.coverage = [2]float64{opt.Coverage, (1 + opt.Coverage) / 2}
	for k := range d.within {
		d.within[k] = make(map[int]float64)
		if k == 1 && d.severalErr != nil {
			continue
		}
		for _, o := range c.ClassRates {
			v, err := c.CoverageDistance(d.coverage[k], o.Photos)
			if err != nil && o.Photos == 1 && k == 1 {
				d.severalErr = err
			}
			if err != nil {
				break
			}
			d.within[k][o.Photos] = v
		}
	}
	if _, err := c.CoverageDistance(opt.Coverage, 1); err != nil {
		return nil, err
	}
	d.computeSearchRadius()
	return d, nil
}

// NumOwnSpread returns the number of classes for which sets use the class's own items. The others use the calibration.
func (d *Decider) NumOwnSpread() int { return d.numOwnSpread }

// SearchRadius returns the distance up to which Decide needs all neighbours, for sets; -Inf without coverage.
// Beyond it the nearest items of a gallery are enough.
func (d *Decider) SearchRadius() float64 { return d.searchRadius }

func (d *Decider) computeSearchRadius() {
	far := math.Inf(-1)
	for several := range d.within {
		if several == 1 && d.severalErr != nil {
			break
		}
		fewest := 0 // the least number of photos with known distances
		for _, o := range d.c.ClassRates {
			if o.Photos <= max(1, d.g.MinItems) {
				fewest = o.Photos
			}
		}
		for photos, v := range d.within[several] {
			if photos >= fewest {
				far = max(far, v)
			}
		}
		for l := range d.g.Spread {
			if v, ok := d.g.Spread.CoverageDistance(l, d.coverage[several]); ok {
				far = max(far, v)
				if several == 0 {
					d.numOwnSpread++
				}
			}
		}
	}
	d.searchRadius = far
}

// NumVoters returns the number of nearest items that count.
func (d *Decider) NumVoters() int { return maxVoters }

// VoteWeights returns the shares of neighbours, nearest first, in the vote about a photo among known
// classes. All add up to 1. Neighbours after the first Voters have no share. The share of a label is the sum
// over its neighbours. Decide turns it into a probability by the calibration. It is nil for other classes,
// which do not vote.
func (d *Decider) VoteWeights(near []Neighbour) []float64 {
	if !d.isKnown {
		return nil
	}
	voting := near[:min(maxVoters, len(near))]
	_, odds, items := d.neighbourVotes(voting)
	each, all := likelihoodRatios(odds, items, d.g.Classes, 0)
	weights := make([]float64, len(near))
	for k, v := range each {
		if all > 0 {
			weights[k] = v / all
		}
	}
	return weights
}

// neighbourVotes returns the classes, log-odds and numbers of items of the class of neighbours.
func (d *Decider) neighbourVotes(near []Neighbour) (class []string, odds, items []float64) {
	for _, n := range near {
		class, odds = append(class, n.Label), append(odds, d.curve.LogOddsAt(n.Distance))
		items = append(items, float64(d.g.numPhotos(n.Label)))
	}
	return class, odds, items
}

// UnknownThreshold returns the threshold by which Decide recognises that one photo, or several of one thing, are
// of no class of the gallery. Several photos use half of the rate. The error is that of
// Calibration.UnknownThreshold, and Decide returns the same error.
func (d *Decider) UnknownThreshold(photos int) (Threshold, error) {
	if photos > 1 {
		return d.unknown[1], d.severalErr
	}
	return d.unknown[0], nil
}

// classRadius returns the distance within which a class's own photos are, by its own items or else by the
// classes of the calibration.
func (d *Decider) classRadius(label string, several int) float64 {
	if d.isKnown {
		return d.within[several][1]
	}
	if v, ok := d.g.Spread.CoverageDistance(label, d.coverage[several]); ok {
		return v
	}
	photos := d.g.numPhotos(label)
	for k := len(d.c.ClassRates) - 1; k >= 0; k-- {
		if v, ok := d.within[several][d.c.ClassRates[k].Photos]; ok && d.c.ClassRates[k].Photos <= photos {
			return v
		}
	}
	return d.within[several][1]
}

// Decide decides about one or several photos of one thing, each with its neighbours in the gallery. Probabilities of a
// label are means over photos. Several photos are known if half or more are, each at half of the rate. A class is in
// the set if it is in the sets of more than half of the photos at half of the error. Then the promise holds even if the
// photos are alike (Markov's inequality).
func (d *Decider) Decide(photos []Photo) (Decision, error) {
	var out Decision
	if len(photos) == 0 {
		return out, fmt.Errorf("there is no photo to decide about")
	}
	several := 0
	if len(photos) > 1 {
		if d.severalErr != nil {
			return out, fmt.Errorf("several photos: %w", d.severalErr)
		}
		several = 1
	}
	t := voteTotals{index: make(map[string]int)}
	var nearest []float64
	for i := range photos {
		p := &photos[i]
		if err := p.check(); err != nil {
			return out, err
		}
		nearest = append(nearest, p.Neighbours[0].Distance)
		if err := d.addVotes(p, &t, float64(len(photos))); err != nil {
			return out, err
		}
	}
	all := t.sorted()
	out.Label, out.Probability = all[0].class, all[0].share
	if len(all) > 1 {
		out.RunnerUp, out.RunnerUpProbability = all[1].class, min(all[1].share, 1-out.Probability)
	}
	if d.isKnown {
		out.Probability = d.vote.probability(all[0].share)
		if len(all) > 1 {
			out.RunnerUpProbability = min(d.vote.probability(all[1].share), 1-out.Probability)
		}
	}
	slices.Sort(nearest)
	out.Nearest = nearest[(len(nearest)-1)/2] // half or more are within this distance
	switch at := d.unknown[several]; {
	case d.isClosed:
	case d.isKnown:
		out.Within = at.Distance
		out.Unknown = !d.AcceptsLabel(at, out.Nearest, 0)
	default:
		slices.Sort(t.scores)
		out.Score = t.scores[len(t.scores)/2] // half or more reach it
		out.NeededProbability = d.NeededProbability(at)
		out.Unknown = !d.AcceptsLabel(at, out.Nearest, out.Score)
	}
	if d.opt.Coverage > 0 {
		out.Set = d.labelSet(photos, several, all)
	}
	return out, nil
}

// NeededProbability returns the probability that a label needs at a threshold; 0 for known classes.
func (d *Decider) NeededProbability(t Threshold) float64 {
	if d.isKnown {
		return 0
	}
	return logistic(t.Score + d.strangers)
}

// AcceptsLabel reports whether a decision with a distance of the nearest item and a score is a label at a threshold.
func (d *Decider) AcceptsLabel(t Threshold, nearest, score float64) bool {
	if d.isKnown {
		return nearest <= t.Distance
	}
	return score >= t.Score
}

// voteTotals sums the probabilities of classes, or among known classes the shares of the vote, over photos.
type voteTotals struct {
	classes []classVote[string]
	index   map[string]int
	scores  []float64 // of the likeliest class of each photo
}

func (t *voteTotals) add(class string, share float64) {
	i, ok := t.index[class]
	if !ok {
		i = len(t.classes)
		t.index[class] = i
		t.classes = append(t.classes, classVote[string]{class: class})
	}
	t.classes[i].share += share
}

func (t *voteTotals) sorted() []classVote[string] {
	slices.SortStableFunc(t.classes, func(a, b classVote[string]) int { return cmp.Compare(b.share, a.share) })
	return t.classes
}

// check returns an error for a photo without neighbours in order.
func (p *Photo) check() error {
	if len(p.Neighbours) == 0 {
		return fmt.Errorf("the photo has no neighbours: the gallery has no other items")
	}
	for k, n := range p.Neighbours {
		if math.IsNaN(n.Distance) || k > 0 && n.Distance < p.Neighbours[k-1].Distance {
			return fmt.Errorf("the neighbours are not in the order of their distances")
		}
	}
	return nil
}

// addVotes adds what one of n photos says.
func (d *Decider) addVotes(p *Photo, t *voteTotals, n float64) error {
	if d.isKnown {
		class, odds, items := d.neighbourVotes(p.Neighbours[:min(maxVoters, len(p.Neighbours))])
		for _, v := range countVotes(class, odds, items, d.g.Classes, 0) {
			t.add(v.class, v.share/n)
		}
		return nil
	}
	if len(p.Vector) != d.g.Means.dim {
		return fmt.Errorf("the embedding of the photo has %d numbers, but the gallery's have %d", len(p.Vector),
			d.g.Means.dim)
	}
	of := d.c.Score.rankCandidates(d.g.Means, p)
	if len(of) == 0 {
		return fmt.Errorf("the gallery has no items with a label besides the photo")
	}
	t.scores = append(t.scores, of[0].odds)
	left := 1.0
	for _, c := range of {
		p := min(logistic(c.odds+d.strangers), left)
		left -= p
		t.add(c.label, p/n)
	}
	return nil
}

// labelSet returns the classes that are near enough to be the right one.
func (d *Decider) labelSet(photos []Photo, several int, all []classVote[string]) []string {
	count := make(map[string]int)
	var labels []string
	for i := range photos {
		seen := make(map[string]bool)
		for _, n := range photos[i].Neighbours {
			if seen[n.Label] || n.Distance > d.classRadius(n.Label, several) {
				continue
			}
			seen[n.Label] = true
			if count[n.Label] == 0 {
				labels = append(labels, n.Label)
			}
			count[n.Label]++
		}
	}
	share := make(map[string]float64)
	for _, v := range all {
		share[v.class] = v.share
	}
	out := []string{}
	for _, l := range labels {
		if 2*count[l] > len(photos) {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		if share[a] > share[b] {
			return -1
		} else if share[a] < share[b] {
			return 1
		}
		return 0
	})
	return out
}
