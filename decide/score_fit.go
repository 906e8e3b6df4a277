package decide

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	gonum "gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

const (
	// maxPhotosPerClass is the largest number of photos of a class in the galleries that a score is learned from.
	maxPhotosPerClass = 32
	// voteTile is the number of photos that are looked up at a time.
	voteTile = 128
)

// galleryParts are the shares of the classes in the galleries that a score is learned from.
var galleryParts = [...]float64{1, 1. / 4, 1. / 16}

// probeKind says whether a gallery had a probe's class.
type probeKind int

const (
	knownProbe probeKind = iota
	strangerProbe
	// outsideProbe means that the gallery had no class of the probe's group of look-alikes either.
	outsideProbe
)

// trialGallery is a gallery of classes of the calibration, in which photos are looked up.
type trialGallery struct {
	part         int
	plain        bool  // classes are drawn one by one, with all photos
	rows         []int // rows of the set
	classOfRow   []int // the class of each row, as a number among those of the gallery
	class        []int // the class in the set of each of the gallery's
	means        *Means
	galleryClass []int // of each class of the set among those of the gallery, or -1
	isMember     []bool
}

// lookupResult is a photo that was looked up in a gallery of the calibration.
type lookupResult struct {
	photo  int // number in the sample
	kind   probeKind
	part   int
	plain  bool
	rivals []rival // classes as numbers of the set
	size   int     // number of classes
	class  int     // class of the photo
	right  bool
	weight float64 // known photos and each kind of strangers weigh the same in galleries of a part
	terms  *weights
}

// fitScore learns a score from the classes of a set.
func fitScore(ctx context.Context, s *set, u *units, opt *Options) (*Score, error) {
	out := &Score{Names: make(map[int]string)}
	rng := rand.New(rand.NewPCG(opt.Seed, 5))
	all := NewMeans(s.x.Cols, eval.Euclidean) // rows are normalised
	for q := range s.x.Rows {
		if err := all.Add(fmt.Sprint(s.identityOf[q]), s.x.Row(q)); err != nil {
			return nil, err
		}
	}
	several := 0.0
	for i := range s.numIdentities() {
		if n := all.count[i]; n > 1 {
			several++
			out.Scatter += all.sumSquares[i] / (n - 1)
		}
	}
	if out.Scatter /= several; out.Scatter == 0 {
		return nil, fmt.Errorf("all photos of a class have the same embedding, so nothing can be learned from them")
	}
	order := rng.Perm(s.numIdentities())
	most := max(2, min(maxCohort, cohortBytes/(4*s.x.Cols)))
	for _, i := range order[:min(most, len(order))] {
		out.Cohort = append(out.Cohort, all.rows[i*s.x.Cols:][:s.x.Cols]...)
		out.CohortClass = append(out.CohortClass, i)
	}
	parts := assignFolds(u.numUnits, opt.Seed)
	sample := s.drawSample(rng, order)
	for _, q := range sample {
		i := int(s.identityOf[q])
		out.Sample = append(out.Sample, s.x.Row(q)...)
		out.SampleClass, out.SampleFold = append(out.SampleClass, i), append(out.SampleFold, parts[u.unitOf[i]])
		out.SampleGroup = append(out.SampleGroup, u.unitOf[i])
		if name, ok := opt.Names[s.label[i]]; ok {
			out.Names[i] = name
		}
	}
	cohort := out.cohortDistances(out.Sample.matrix(s.x.Cols), out.SampleClass)
	var tries []lookupResult
	for nth, t := range s.drawTrialGalleries(rng, u) {
		found, err := s.lookUpSample(ctx, t, u, sample, out.Scatter)
		if err != nil {
			return nil, fmt.Errorf("gallery %d: %w", nth+1, err)
		}
		tries = append(tries, found...)
	}
	out.chooseMix(tries, s.distance != eval.Dot)
	for k := range tries {
		t := &tries[k]
		out.sortRivals(t.rivals)
		t.right = t.kind == knownProbe && t.rivals[0].class == t.class
		t.terms = out.computeTerms(t.rivals, 0, cohort[t.photo], t.size)
	}
	out.Groups = u.numGroups
	out.fit(tries, s.numIdentities())
	return out, out.setID()
}

// drawSample draws photos, of every class the same number as far as possible, by the order of the classes. Classes with
// several photos come first: a photo without others of its class cannot be known.
func (s *set) drawSample(rng *rand.Rand, order []int) (rows []int) {
	order = slices.Clone(order)
	slices.SortStableFunc(order, func(a, b int) int { return min(2, s.numPhotos(b)) - min(2, s.numPhotos(a)) })
	most := min(maxSample, photoBytes/(4*s.x.Cols))
	each := max(1, most/len(order))
	for _, i := range order[:min(most, len(order))] {
		for _, k := range rng.Perm(s.numPhotos(i))[:min(each, s.numPhotos(i))] {
			rows = append(rows, s.first[i]+k)
		}
	}
	return rows
}

// drawTrialGalleries draws galleries of all classes, of a quarter and of a sixteenth, with all photos of
// every class and with numbers drawn by class. If classes form groups of look-alikes, half of the galleries
// have whole groups.
func (s *set) drawTrialGalleries(rng *rand.Rand, u *units) (out []*trialGallery) {
	for nth, part := range galleryParts {
		if part*float64(s.numIdentities()) < minVoteClasses {
			break
		}
		for again := range 4 + 2*nth { // smaller galleries hold fewer known photos
			t := &trialGallery{part: nth, means: NewMeans(s.x.Cols, eval.Euclidean),
				galleryClass: make([]int, s.numIdentities()),
				isMember:     make([]bool, s.x.Rows)}
			drawn := make([]bool, u.numUnits)
			for unit := range drawn {
				drawn[unit] = rng.Float64() < part
			}
			whole, unequal := u.numGroups > 0 && again/2%2 == 1, again%2 == 1
			t.plain = !whole && !unequal
			for i := range t.galleryClass {
				t.galleryClass[i] = -1
				if in := drawn[u.unitOf[i]]; whole && in || !whole && rng.Float64() < part {
					t.addClass(s, i, rng, unequal)
				}
			}
			if len(t.class) >= 2 {
				out = append(out, t)
			}
		}
	}
	return out
}

// addClass adds photos of a class: all, or a random number of them.
func (t *trialGallery) addClass(s *set, i int, rng *rand.Rand, unequal bool) {
	n := min(s.numPhotos(i), maxPhotosPerClass)
	if unequal {
		n = int(math.Exp(rng.Float64() * math.Log(float64(n)+0.99)))
	}
	t.galleryClass[i] = len(t.class)
	for _, k := range rng.Perm(s.numPhotos(i))[:n] {
		q := s.first[i] + k
		t.rows, t.classOfRow = append(t.rows, q), append(t.classOfRow, len(t.class))
		t.isMember[q] = true
		_ = t.means.Add(fmt.Sprint(i), s.x.Row(q)) // its length is right
	}
	t.class = append(t.class, i)
}

// lookUpSample looks up a sample of photos in a gallery, with and without their class.
func (s *set) lookUpSample(ctx context.Context, t *trialGallery, u *units, sample []int,
	scatter float64) ([]lookupResult, error) {
	kinds := []probeKind{knownProbe, strangerProbe}
	if u.numGroups > 0 {
		kinds = append(kinds, outsideProbe)
	}
	x := copyRows(s.x, t.rows)
	found := make([][]lookupResult, len(sample))
	for lo := 0; lo < len(sample); lo += voteTile {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		hi := min(lo+voteTile, len(sample))
		photos := copyRows(s.x, sample[lo:hi])
		means, values := t.means.squaredDistances(photos), matrix.New(hi-lo, x.Rows)
		if s.distance == eval.Dot {
			matrix.Gemm(false, true, -1, photos, x, 0, values)
		} else {
			matrix.SquaredDistances(photos, x, values)
		}
		par.For(hi-lo, 4, func(a, b int) {
			for k := a; k < b; k++ {
				for _, kind := range kinds {
					e := s.lookUp(t, u, sample[lo+k], kind, means.Row(k), values.Row(k), scatter)
					if e.photo = lo + k; len(e.rivals) > 0 {
						found[lo+k] = append(found[lo+k], e)
					}
				}
			}
		})
	}
	return slices.Concat(found...), nil
}

// lookUp looks up a photo. Without its class in the gallery, only strangers are looked up.
func (s *set) lookUp(t *trialGallery, u *units, q int, kind probeKind, means, values []float32,
	scatter float64) (e lookupResult) {
	own := int(s.identityOf[q])
	at := t.galleryClass[own]
	e = lookupResult{kind: kind, part: t.part, plain: t.plain, class: own}
	count, square, to := slices.Clone(t.means.count), slices.Clone(t.means.sumSquares), slices.Clone(means)
	switch {
	case kind == knownProbe && (at < 0 || t.isMember[q] && count[at] == 1):
		return e
	case kind == knownProbe && t.isMember[q]: // the mean without the photo
		subtractOne(at, to, count, square)
	case kind == strangerProbe && at >= 0:
		count[at] = 0
	case kind == outsideProbe:
		for k, i := range t.class {
			if u.unitOf[i] == u.unitOf[own] {
				count[k] = 0
			}
		}
	}
	for _, n := range count {
		if n > 0 {
			e.size++
		}
	}
	if e.size == 0 {
		return e
	}
	near, far := t.nearestByClass(q, values, count)
	if s.distance == eval.Dot {
		clear(near)
		far = 0
	}
	of := &Score{Scatter: scatter}
	e.rivals = of.nearestRivals(to, count, square, near, far, -1)
	for k := range e.rivals {
		e.rivals[k].class = t.class[e.rivals[k].class]
	}
	return e
}

// nearestByClass returns the distance of the nearest item of the classes of the voting items, and that of
// the last of these.
func (t *trialGallery) nearestByClass(q int, values []float32, count []float64) (near map[int]float64, far float64) {
	top := make([]nearItem, 0, maxVoters)
	for k, d := range values {
		if t.rows[k] != q && count[t.classOfRow[k]] > 0 {
			top = insertNearest(top, nearItem{t.classOfRow[k], d})
		}
	}
	return nearestByClass(top)
}

// chooseMix sets Mix and Shrink to those with the most right labels. Without distances to items only means count.
func (s *Score) chooseMix(tries []lookupResult, items bool) {
	mixes, best := []float64{1}, -1
	if items {
		mixes = []float64{0.5, 0.75, 0.25, 0.9, 0.1}
	}
	for _, mix := range mixes {
		for _, shrink := range []float64{0.5, 1, 0} {
			of := &Score{Mix: mix, Shrink: shrink, Scatter: s.Scatter}
			right := 0
			for k := range tries {
				if t := &tries[k]; t.kind == knownProbe {
					if of.sortRivals(t.rivals); t.rivals[0].class == t.class {
						right++
					}
				}
			}
			if right > best {
				best, s.Mix, s.Shrink = right, mix, shrink
			}
		}
	}
}

// fit learns the weights and their reliability.
func (s *Score) fit(tries []lookupResult, classes int) {
	kinds := setWeights(tries)
	prior := 0.1 * float64(len(tries)) / float64(kinds*classes)
	s.Weights = fitWeights(tries, prior)
	said := make([]float64, len(tries))
	for part := range foldCount {
		var others []lookupResult
		for k := range tries {
			if s.SampleFold[tries[k].photo] != part {
				others = append(others, tries[k])
			}
		}
		w := fitWeights(others, prior)
		s.Folds = append(s.Folds, w)
		for k := range tries {
			if s.SampleFold[tries[k].photo] == part {
				said[k] = w.logOdds(tries[k].terms)
			}
		}
	}
	for part := range galleryParts {
		s.storeKnownQuantiles(tries, said, part)
		s.storeStrangerScores(tries, said, part)
		for of := strangerProbe; int(of) < kinds; of++ {
			r := computeReliability(func(yield func(p, right, wrong float64)) {
				for k := range tries {
					if e := &tries[k]; e.part == part && (e.kind == knownProbe || e.kind == of) {
						right := 0.0
						if e.right {
							right = 1
						}
						weight := e.weight
						if e.kind == of {
							weight *= float64(kinds - 1)
						}
						yield(logistic(said[k]), weight*right, weight*(1-right))
					}
				}
			})
			if r.ECE >= s.Reliability.ECE {
				s.Reliability = r
			}
		}
	}
}

// setWeights sets the weights of photos, and returns the number of their kinds.
func setWeights(tries []lookupResult) (kinds int) {
	var of [len(galleryParts)][outsideProbe + 1]float64
	for k := range tries {
		of[tries[k].part][tries[k].kind]++
		kinds = max(kinds, int(tries[k].kind)+1)
	}
	for k := range tries {
		t := &tries[k]
		n := &of[t.part]
		if t.weight = 1; t.kind != knownProbe {
			t.weight = n[knownProbe] / n[t.kind] / float64(kinds-1)
		}
	}
	return kinds
}

// knownQuantiles is the number of quantiles of the scores of known photos.
const knownQuantiles = 100

// storeKnownQuantiles keeps the scores of known photos in galleries of a part of the classes.
func (s *Score) storeKnownQuantiles(tries []lookupResult, said []float64, part int) {
	var scores []float64
	size := 0.0
	for k := range tries {
		if t := &tries[k]; t.part == part && t.kind == knownProbe {
			scores = append(scores, said[k])
			size += math.Log(float64(t.size))
		}
	}
	if len(scores) == 0 {
		return
	}
	slices.Sort(scores)
	out := KnownQuantiles{Classes: int(math.Round(math.Exp(size / float64(len(scores)))))}
	for k := range knownQuantiles {
		out.Scores = append(out.Scores, scores[k*len(scores)/knownQuantiles])
	}
	s.KnownQuantiles = append(s.KnownQuantiles, out)
}

// sizeTerm is the term of the number of classes.
const sizeTerm = len(weights{}) - 1

// storeStrangerScores keeps the scores of strangers in galleries of a part of the classes.
func (s *Score) storeStrangerScores(tries []lookupResult, said []float64, part int) {
	out := StrangerScores{Scores: make([][]float64, len(s.SampleClass))}
	size, n := 0.0, 0.0
	for k := range tries {
		t := &tries[k]
		if t.part != part || t.kind != strangerProbe || !t.plain {
			continue
		}
		about := said[k] - s.Folds[s.SampleFold[t.photo]][sizeTerm]*t.terms[sizeTerm]
		out.Scores[t.photo] = append(out.Scores[t.photo], math.Round(1e4*about)/1e4)
		size, n = size+t.terms[sizeTerm], n+1
	}
	if n > 0 {
		out.Classes = int(math.Round(math.Exp(size / n)))
		s.StrangerScores = append(s.StrangerScores, out)
	}
}

// fitWeights fits a logistic regression by Newton's method, with a penalty on the squares of the weights of terms of
// standard deviation 1.
func fitWeights(tries []lookupResult, penalty float64) (w weights) {
	const n = len(w)
	penalties := [n]float64{1e-3}
	for a := 1; a < n; a++ {
		var mass, mean, square float64
		for k := range tries {
			e := &tries[k]
			mass, mean, square = mass+e.weight, mean+e.weight*e.terms[a], square+e.weight*e.terms[a]*e.terms[a]
		}
		mean /= mass
		penalties[a] = penalty*max(0, square/mass-mean*mean) + 1e-3
	}
	for range 50 {
		var g [n]float64
		h := gonum.NewSymDense(n, nil)
		for a := range n {
			g[a] = -penalties[a] * w[a]
			h.SetSym(a, a, penalties[a])
		}
		for k := range tries {
			e := &tries[k]
			p := logistic(w.logOdds(e.terms))
			r, v := -p, e.weight*p*(1-p)
			if e.right {
				r = 1 - p
			}
			for a, x := range e.terms {
				g[a] += e.weight * r * x
				for b := a; b < n; b++ {
					h.SetSym(a, b, h.At(a, b)+v*x*e.terms[b])
				}
			}
		}
		var factor gonum.Cholesky
		var d [n]float64
		if !factor.Factorize(h) || factor.SolveVecTo(gonum.NewVecDense(n, d[:]), gonum.NewVecDense(n, g[:])) != nil {
			break // not finite
		}
		var size float64
		for _, v := range d {
			size += v * v
		}
		size = math.Sqrt(size)
		step := 1 / max(1, size/4)
		for a := range w {
			w[a] += step * d[a]
		}
		if size < 1e-9 {
			break
		}
	}
	return w
}
