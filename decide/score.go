package decide

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// Score is the log-odds that a photo shows the nearest class of a gallery. It is learned from the classes of a
// calibration. The squared distance of a photo to a class of n items is
//
//	D = Mix (m - Shrink Scatter / n) + (1 - Mix) d
//
// where m is the squared distance to the mean of the items, and d that to the nearest item. It does not fall with the
// number of items alone. Let D1 and D2 be the least two of them, and R the mean squared distance of the photo to the
// nearer half of the means of the cohort, which are classes of the calibration. Dividing by R is the normalisation of
// scores by a cohort in the recognition of speakers (Auckenthaler, Carey and Lloyd-Thomas, Digital Signal Processing
// 10, 2000). The log-odds are linear in ln(D1 / R), ln(min(D2, R) / D1), ln(R / Scatter), the logarithm of the class's
// own scatter, 1 / n and the logarithm of the number of classes.
type Score struct {
	Mix    float64 `json:"mix"`
	Shrink float64 `json:"shrink"`
	// Scatter is the mean squared distance of a photo to the mean of its class.
	Scatter float64 `json:"scatter"`
	// Weights are those of the log-odds, and Folds those that were learned without the classes of one fold.
	Weights weights   `json:"weights"`
	Folds   []weights `json:"folds"`
	// Cohort has the means of classes of the calibration, one after the other, and CohortClass their numbers.
	Cohort      packedRows `json:"cohort"`
	CohortClass []int      `json:"cohort_class"`
	// Sample has photos of the calibration, SampleClass the number of the class of each, and SampleFold its fold. They
	// are strangers to every gallery of other classes.
	Sample      packedRows `json:"sample"`
	SampleClass []int      `json:"sample_class"`
	SampleFold  []int      `json:"sample_fold"`
	// SampleGroup has the group of each, and Groups the number of
	// groups of two classes or more.
	SampleGroup []int `json:"sample_group"`
	Groups      int   `json:"groups,omitzero"`
	// StrangerScores has the scores of the sample as strangers to galleries that were drawn from the other
	// classes of the calibration, with look-alikes of their own class.
	StrangerScores []StrangerScores `json:"drawn"`
	// Names has the name of each class that Sample has photos of, if names are known. A class of a gallery with this
	// name is not a stranger to it.
	Names map[int]string `json:"names,omitempty"`
	// KnownQuantiles has quantiles of the scores of photos whose class is in the gallery, by the number of its classes.
	KnownQuantiles []KnownQuantiles `json:"known"`
	// Reliability is that of the probabilities on classes to which they were not fitted. See Vote.
	Reliability Reliability `json:"reliability"`

	id string // see Calibration.ScoreID
}

// KnownQuantiles has quantiles of scores in galleries of Classes classes, ascending.
type KnownQuantiles struct {
	Classes int       `json:"classes"`
	Scores  []float64 `json:"scores"`
}

// StrangerScores has, for each photo of a sample, its scores in galleries of about Classes classes, without the term of
// their number.
type StrangerScores struct {
	Classes int         `json:"classes"`
	Scores  [][]float64 `json:"scores"`
}

const (
	// maxCohort is the largest number of classes of a cohort, and maxSample that of photos of a sample, if their
	// numbers fit into so many bytes.
	maxCohort, cohortBytes = 500, 1 << 20
	maxSample, photoBytes  = 1000, 2 << 20
	// maxRivals is the number of classes by their means that are compared with each photo.
	maxRivals = 8
)

// weights are those of the terms of a Score.
type weights [7]float64

// logOdds returns the log-odds of terms.
func (w *weights) logOdds(terms *weights) (sum float64) {
	for k, v := range w {
		sum += v * terms[k]
	}
	return sum
}

// rival is a class near a photo, by squared distances.
type rival struct {
	class int
	mean  float64 // to the mean of its items
	near  float64 // to the nearest item
	count float64 // number of items
	wide  float64 // scatter of its items
	d     float64 // distance to the class, see Score
}

// sortRivals computes the distances of classes and sorts the classes by them.
func (s *Score) sortRivals(of []rival) {
	for k := range of {
		r := &of[k]
		r.d = max(s.Mix*(r.mean-s.Shrink*s.Scatter/r.count)+(1-s.Mix)*r.near, 1e-4*s.Scatter)
	}
	slices.SortStableFunc(of, func(a, b rival) int { return cmp.Compare(a.d, b.d) })
}

// computeTerms returns the terms of the class of[k] among sorted classes, for a photo with the squared
// distance cohort to the cohort, in a gallery of a number of classes.
func (s *Score) computeTerms(of []rival, k int, cohort float64, classes int) *weights {
	next := cohort
	if i := min(1, k) ^ 1; i < len(of) { // the first other class is the nearest
		next = min(next, of[i].d)
	}
	r := &of[k]
	return &weights{1, math.Log(r.d / cohort), math.Log(next / r.d), math.Log(cohort / s.Scatter),
		math.Log(r.wide / s.Scatter), 1 / r.count, math.Log(float64(classes))}
}

// cohortDistance returns the mean squared distance to the nearer half of the cohort without one class, given
// the squared distances to all. A look-alike of the photo's class in the cohort hardly changes it.
func (s *Score) cohortDistance(distances []float32, without int) float64 {
	near := make([]float32, 0, len(distances))
	for k, v := range distances {
		if s.CohortClass[k] != without {
			near = append(near, v)
		}
	}
	slices.Sort(near)
	near = near[:max(1, len(near)/2)]
	sum := 0.0
	for _, v := range near {
		sum += float64(v) / float64(len(near))
	}
	return max(sum, 1e-3*s.Scatter)
}

// squaredDistance turns a distance of a search into the squared distance between vectors, those of length 1
// for the cosine distance. It is false for the dot product, which has none.
func squaredDistance(by eval.Distance, d float64) (float64, bool) {
	switch by {
	case eval.Euclidean:
		return d * d, true
	case eval.Cosine:
		return 2 * d, true
	}
	return 0, false
}

// nearestRivals returns the classes that a photo may show: those of the neighbours, which are at squared
// distances near by class, and those with the nearest means, at squared distances means by class. far is the
// distance that classes without a neighbour have at least. The class skip, if not below 0, is left out.
func (s *Score) nearestRivals(means []float32, count, square []float64, near map[int]float64, far float64,
	skip int) []rival {
	out := make([]rival, 0, len(near)+maxRivals)
	var top [maxRivals]struct {
		class int
		d     float64
	}
	n := 0
	for i, v := range means {
		if count[i] == 0 || i == skip {
			continue
		}
		if d, ok := near[i]; ok {
			out = append(out, rival{i, float64(v), d, count[i], shrunkScatter(square[i], count[i], s.Scatter), 0})
			continue
		}
		d := float64(v) - s.Scatter/count[i]
		if n == maxRivals && d >= top[n-1].d {
			continue
		}
		n = min(n+1, maxRivals)
		k := n - 1
		for ; k > 0 && top[k-1].d > d; k-- {
			top[k] = top[k-1]
		}
		top[k].class, top[k].d = i, d
	}
	for _, e := range top[:n] {
		i := e.class
		out = append(out, rival{i, float64(means[i]), max(far, 0), count[i],
			shrunkScatter(square[i], count[i], s.Scatter), 0})
	}
	return out
}

// Photo is a photo that is looked up in a gallery.
type Photo struct {
	// Vector is its embedding.
	Vector []float32
	// Neighbours has its neighbours, the nearest first, without the photo itself.
	Neighbours []Neighbour
	// SelfItems has the items of the gallery that are the photo or another photo of the same thing. The means of their
	// classes count without them.
	SelfItems []Member
}

// Member is an item of a class.
type Member struct {
	Label  string
	Vector []float32
}

// candidate is a class that a photo may show.
type candidate struct {
	label string
	odds  float64 // log-odds that the photo shows it
}

// rankCandidates returns the classes that a photo may show, the likeliest first.
func (s *Score) rankCandidates(m *Means, p *Photo) []candidate {
	x := matrix.FromSlice(1, len(p.Vector), p.Vector)
	if m.distance == eval.Cosine {
		x = eval.NormalizeRows(x)
	}
	means := m.squaredDistances(x).Data
	count, square := m.statsWithout(p.SelfItems, x.Data, means)
	near := make(map[int]float64)
	far := 0.0
	for k, n := range p.Neighbours {
		d, ok := squaredDistance(m.distance, n.Distance)
		if !ok || k == maxVoters {
			break
		}
		if i, ok := m.index[n.Label]; ok {
			if _, nearer := near[i]; !nearer {
				near[i] = d
			}
		}
		far = d
	}
	cohort := s.cohortDistances(x, nil)[0]
	of := s.nearestRivals(means, count, square, near, far, -1)
	s.sortRivals(of)
	out := make([]candidate, len(of))
	for k := range of {
		out[k] = candidate{m.labels[of[k].class], s.Weights.logOdds(s.computeTerms(of, k, cohort, m.numClasses()))}
	}
	return out
}

// cohortDistances returns the distance of each row of x to the cohort, without its own class of the
// calibration if own is not nil.
func (s *Score) cohortDistances(x *matrix.Dense, own []int) []float64 {
	c := s.Cohort.matrix(x.Cols)
	d := matrix.New(x.Rows, c.Rows)
	matrix.SquaredDistances(x, c, d)
	out := make([]float64, x.Rows)
	for k := range out {
		without := -1
		if own != nil {
			without = own[k]
		}
		out[k] = s.cohortDistance(d.Row(k), without)
	}
	return out
}

// knownScores returns the scores of known photos in a gallery of about as many classes, ascending.
func (s *Score) knownScores(classes int) []float64 {
	best := &s.KnownQuantiles[0]
	far := func(k *KnownQuantiles) float64 { return math.Abs(math.Log(float64(k.Classes) / float64(classes))) }
	for i := range s.KnownQuantiles {
		if far(&s.KnownQuantiles[i]) < far(best) {
			best = &s.KnownQuantiles[i]
		}
	}
	return best.Scores
}

// packedRows are rows of numbers, one after the other. A file has their bytes, as little-endian float32, in base64.
type packedRows []float32

// MarshalJSON writes the bytes.
func (p packedRows) MarshalJSON() ([]byte, error) {
	out := make([]byte, 4*len(p))
	for k, v := range p {
		binary.LittleEndian.PutUint32(out[4*k:], math.Float32bits(v))
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the bytes.
func (p *packedRows) UnmarshalJSON(text []byte) error {
	var in []byte
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	if len(in)%4 != 0 {
		return fmt.Errorf("%d bytes are not rows of float32", len(in))
	}
	*p = make(packedRows, len(in)/4)
	for k := range *p {
		(*p)[k] = math.Float32frombits(binary.LittleEndian.Uint32(in[4*k:]))
	}
	return nil
}

// matrix returns the rows of dim numbers.
func (p packedRows) matrix(dim int) *matrix.Dense { return matrix.FromSlice(len(p)/dim, dim, p) }

// check returns an error for a score that Calibrate cannot have made, of photos of dim numbers.
func (s *Score) check(dim int) error {
	cohort, sample := len(s.Cohort)/dim, len(s.Sample)/dim
	err := cmp.Or(
		checkNumber("score.mix", s.Mix, 0, 1), checkNumber("score.shrink", s.Shrink, 0, 1),
		checkNumber("score.scatter", s.Scatter, math.SmallestNonzeroFloat64, 1e80),
		checkCount("the numbers of score.cohort", len(s.Cohort), cohort*dim, cohort*dim),
		checkCount("the number of score.cohort", cohort, 1, maxCount),
		checkCount("the number of score.cohort_class", len(s.CohortClass), cohort, cohort),
		checkCount("the numbers of score.sample", len(s.Sample), sample*dim, sample*dim),
		checkCount("the number of score.sample", sample, 1, maxCount),
		checkCount("the number of score.sample_class", len(s.SampleClass), sample, sample),
		checkCount("the number of score.sample_fold", len(s.SampleFold), sample, sample),
		checkCount("the number of score.sample_group", len(s.SampleGroup), sample, sample),
		checkCount("score.groups", s.Groups, 0, maxCount),
		checkCount("the number of score.drawn", len(s.StrangerScores), 1, len(galleryParts)),
		checkCount("the number of score.folds", len(s.Folds), foldCount, foldCount),
		checkCount("the number of score.known", len(s.KnownQuantiles), 1, len(galleryParts)),
		s.Reliability.check("score.reliability"))
	for k := 0; err == nil && k < sample; k++ {
		err = cmp.Or(checkCount(fmt.Sprintf("score.sample_class[%d]", k), s.SampleClass[k], 0, maxCount),
			checkCount(fmt.Sprintf("score.sample_fold[%d]", k), s.SampleFold[k], 0, foldCount-1),
			checkCount(fmt.Sprintf("score.sample_group[%d]", k), s.SampleGroup[k], 0, maxCount))
	}
	for k := 0; err == nil && k < len(s.StrangerScores); k++ {
		d, name := &s.StrangerScores[k], fmt.Sprintf("score.drawn[%d]", k)
		err = cmp.Or(checkCount(name+".classes", d.Classes, 1, maxCount),
			checkCount("the number of "+name+".scores", len(d.Scores), sample, sample))
		for i, v := range d.Scores {
			for j := 0; err == nil && j < len(v); j++ {
				err = checkNumber(fmt.Sprintf("%s.scores[%d][%d]", name, i, j), v[j], -maxScore, maxScore)
			}
		}
	}
	for k := 0; err == nil && k < len(s.KnownQuantiles); k++ {
		name := fmt.Sprintf("score.known[%d]", k)
		err = cmp.Or(checkCount(name+".classes", s.KnownQuantiles[k].Classes, 1, maxCount),
			checkCount("the number of "+name+".scores", len(s.KnownQuantiles[k].Scores), knownQuantiles,
				knownQuantiles),
			checkAscending(name+".scores", s.KnownQuantiles[k].Scores, interval{-maxScore, maxScore}, false))
	}
	for k := 0; err == nil && k < cohort; k++ {
		err = checkCount(fmt.Sprintf("score.cohort_class[%d]", k), s.CohortClass[k], 0, maxCount)
	}
	if err == nil {
		err = s.Weights.check("score.weights")
	}
	for k := 0; err == nil && k < len(s.Folds); k++ {
		err = s.Folds[k].check(fmt.Sprintf("score.folds[%d]", k))
	}
	for _, v := range slices.Concat(s.Cohort, s.Sample) {
		if err == nil && !(math.Abs(float64(v)) <= math.MaxFloat32) {
			err = fmt.Errorf("a photo of the score has the number %v", v)
		}
	}
	return err
}

func (w *weights) check(name string) (err error) {
	for i := 0; err == nil && i < len(w); i++ {
		err = checkNumber(fmt.Sprintf("%s[%d]", name, i), w[i], -maxFitted, maxFitted)
	}
	return err
}

// ScoreID identifies the photos and weights by which galleries are measured; "" without a Score.
func (c *Calibration) ScoreID() string {
	if c.Score == nil {
		return ""
	}
	return c.Score.id
}

// setID sets the id.
func (s *Score) setID() error {
	text, err := json.Marshal(s)
	s.id = fmt.Sprintf("%x", sha256.Sum256(text))
	return err
}

// LabelECE is the calibration error of the probabilities of labels, or of those of known classes without a Score.
func (c *Calibration) LabelECE() float64 {
	if c.Score != nil {
		return c.Score.Reliability.ECE
	}
	return c.Closed.Vote.Reliability.ECE
}

// ExpectedThreshold is what a calibration promises about galleries that are drawn from its classes.
type ExpectedThreshold struct {
	Threshold
	Classes int // number of classes of the gallery
}

// ExpectedThresholds returns the thresholds for the share fpir of strangers in galleries of several sizes.
// TrueMatch is 0 where nothing can be promised.
func (c *Calibration) ExpectedThresholds(fpir float64) (out []ExpectedThreshold) {
	if c.Score == nil {
		return nil
	}
	for _, d := range c.Score.StrangerScores {
		of, _ := c.Score.strangerScores(d.Classes)
		t, err := newStrangerRates(c.Score, &StrangerTrial{Strangers: of[1]}, d.Classes).boundedThreshold(fpir)
		if err != nil {
			t = Threshold{Rate: fpir}
		}
		out = append(out, ExpectedThreshold{t, d.Classes})
	}
	return out
}
