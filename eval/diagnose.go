package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/discover"

	"github.com/kindred-ml/kindred/matrix"
)

// DiagnosisInput is an embedding to diagnose.
type DiagnosisInput struct {
	X *matrix.Dense
	// Labels are the training labels, the coarse ones.
	Labels []int64
	// Fine are finer labels, or nil.
	Fine []int64
	// Names of the classes, optional.
	Names map[int64]string
}

// DiagnosisOptions limit the work. The zero value is the default.
type DiagnosisOptions struct {
	// Distance is Euclidean or Cosine; default Euclidean.
	Distance Distance
	// Margin is the margin of triplets that count as active, in squared distance; default 0.2.
	Margin float64
	// Anchors is the largest number of anchors for the triplet measures, drawn at random if there
	// are more rows; default 5000. Each anchor is compared with all rows.
	Anchors int
	// PerClass is the largest number of rows of a class from which its diameter is computed;
	// default 400, at least 2.
	PerClass int
	// MaxK is the largest number of clusters on the NMI curve; default 2000.
	MaxK int
	Seed uint64
	// Progress, if set, is called at the start of each stage.
	Progress func(stage string)
}

func (o *DiagnosisOptions) setDefaults() {
	o.Margin = cmp.Or(o.Margin, 0.2)
	o.Anchors = cmp.Or(o.Anchors, 5000)
	o.PerClass = cmp.Or(o.PerClass, 400)
	o.MaxK = cmp.Or(o.MaxK, 2000)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
}

// check returns an error for invalid options. Defaults are filled in.
func (o *DiagnosisOptions) check() error {
	switch {
	case o.Distance == Dot:
		return errors.New("the diagnosis needs a distance: euclidean or cosine, not dot")
	case !(o.Margin > 0 && o.Margin <= math.MaxFloat64):
		return fmt.Errorf("a diagnosis with margin %g: must be above 0", o.Margin)
	case o.Anchors < 1 || o.PerClass < 2 || o.MaxK < 1:
		return fmt.Errorf("a diagnosis with %d anchors, %d rows of a class and up to %d clusters: must be at least "+
			"1, 2 "+
			"and 1", o.Anchors, o.PerClass, o.MaxK)
	}
	return o.Distance.Check()
}

// Diagnosis is the diagnosis.
type Diagnosis struct {
	Rows     int      `json:"rows"`
	Dim      int      `json:"dim"`
	Distance Distance `json:"distance"`
	// Spread is the root mean square distance of the rows from their mean.
	Spread  float64         `json:"spread"`
	Verdict CollapseVerdict `json:"verdict"`
	// Classes by increasing label.
	Classes []ClassDiagnosis `json:"classes"`
	// Compactness is the median of the classes' compactness. Near 0 a class is a point. At 1 its
	// rows are as far from each other as from the nearest other class.
	Compactness float64 `json:"compactness"`
	// SubClasses is the verdict of discover.Find on which classes hold several sub-classes. Several is
	// the share of such classes among those that are large enough to test, and MeanSubClasses the mean
	// number of sub-classes of the tested classes.
	SubClasses     discover.Verdict `json:"kinds"`
	DividedShare   float64          `json:"several_kinds"`
	MeanSubClasses float64          `json:"mean_kinds"`
	// Spectrum is the spectrum of all rows. ClassRank is the median effective rank
	// of the classes.
	Spectrum  DiagnosisSpectrum `json:"spectrum"`
	ClassRank float64           `json:"class_rank"`
	// Alignment is the mean squared distance between two rows of a class. Uniformity is log mean
	// exp(-2 d^2) over pairs of rows. Both use distances relative to the spread (Wang and Isola
	// 2020, whose definition this is for centred rows on the sphere).
	Alignment  float64          `json:"alignment"`
	Uniformity float64          `json:"uniformity"`
	Triplets   TripletDiagnosis `json:"triplets"`
	// Recall is Recall@1 by the labels. Chance is its value if the nearest neighbour were a random
	// row. FineRecall is Recall@1 by the fine labels. FineChance is its value if the nearest
	// neighbour were a random row of the query's own class. FineRecall and FineChance are nil
	// without fine labels.
	Recall     float64  `json:"recall"`
	Chance     float64  `json:"chance"`
	FineRecall *float64 `json:"fine_recall,omitempty"`
	FineChance *float64 `json:"fine_chance,omitempty"`
	// FineGain is (p - FineChance) / (1 - FineChance), where p is the share of fine
	// hits among the queries whose nearest neighbour is of their own class. It is 0 if the samples
	// within classes are in random order, and 1 if they are in perfect order.
	FineGain *float64 `json:"fine_gain,omitempty"`
	// Curve is NMI against the number of clusters.
	Curve []ClusteringDiagnosis `json:"nmi_curve"`
	Seed  uint64                `json:"seed"`
	Notes []string              `json:"notes,omitempty"`
}

// Diagnose diagnoses an embedding. It returns an error if an option is out of range, lengths differ, a row
// is not finite (the error names it), there are fewer than two classes, no class has two rows, or all
// rows are equal. It checks ctx every few rows and before each class, and returns ctx.Err(), wrapped,
// once ctx is done.
func Diagnose(ctx context.Context, in DiagnosisInput, opt DiagnosisOptions) (*Diagnosis, error) {
	opt.setDefaults()
	if err := opt.check(); err != nil {
		return nil, err
	}
	set := Set{X: in.X, Labels: [][]int64{in.Labels}}
	if in.Fine != nil {
		set.Labels = append(set.Labels, in.Fine)
	}
	if err := CheckSets(set, nil); err != nil {
		return nil, err
	}
	s, err := newSample(in, opt)
	if err != nil {
		return nil, err
	}
	r := &Diagnosis{Rows: in.X.Rows, Dim: in.X.Cols, Distance: opt.Distance, Spread: s.spread, Seed: opt.Seed}
	for _, stage := range []struct {
		name    string
		measure func() error
	}{
		{"classes", func() error { return r.measureClasses(ctx, s) }},
		{"spectrum", func() error { return r.measureAllRows(ctx, s) }},
		{"triplets", func() (err error) { r.Triplets, err = s.measureTriplets(ctx); return err }},
		{"ranking", func() error { return r.measureRecall(ctx, in, s, opt) }},
		{"clusterings", func() error { return r.measureCurve(ctx, in, s, opt) }},
	} {
		opt.Progress(stage.name)
		if err := stage.measure(); err != nil {
			return nil, fmt.Errorf("%s: %w", stage.name, err)
		}
	}
	if s.numAnchors < in.X.Rows {
		r.Notes = append(r.Notes, fmt.Sprintf("triplets of %d anchors drawn from %d rows", s.numAnchors, in.X.Rows))
	}
	r.Verdict = newVerdict(r)
	return r, nil
}

// measureClasses measures the classes and summarises them.
func (r *Diagnosis) measureClasses(ctx context.Context, s *sample) (err error) {
	if r.Classes, err = s.classes(ctx); err != nil {
		return err
	}
	found, err := discover.Find(ctx, s.x, s.labels, discover.Options{Resamples: -1, Seed: s.opt.Seed})
	if err != nil {
		return err
	}
	r.SubClasses = found.Verdict
	for k, c := range found.Classes { // in the same order
		r.Classes[k].P = c.P
		if found.Verdict.Classes[k].Tested {
			r.Classes[k].SubClasses = len(c.SubClasses)
		}
	}
	r.summarise()
	return nil
}

// measureAllRows measures the rows as a whole.
func (r *Diagnosis) measureAllRows(ctx context.Context, s *sample) (err error) {
	if r.Spectrum, err = spectrum(ctx, s.x); err != nil {
		return err
	}
	r.Alignment = s.alignment()
	r.Uniformity, err = s.uniformity(ctx)
	return err
}

// sample is the embedding, prepared for comparison, with its classes.
type sample struct {
	opt        DiagnosisOptions
	x          *matrix.Dense // rows have length 1 for the cosine distance
	labels     []int64
	fine       []int64
	names      map[int64]string
	mean       []float64
	spread     float64
	order      []int64         // labels in increasing order
	members    map[int64][]int // rows of each label
	numAnchors int             // number of anchors
}

func newSample(in DiagnosisInput, opt DiagnosisOptions) (*sample, error) {
	s := &sample{opt: opt, x: in.X, labels: in.Labels, fine: in.Fine, names: in.Names, members: make(map[int64][]int)}
	if opt.Distance == Cosine {
		s.x = NormalizeRows(in.X)
	}
	paired := false
	for i, y := range in.Labels {
		if s.members[y] == nil {
			s.order = append(s.order, y)
		}
		s.members[y] = append(s.members[y], i)
		paired = paired || len(s.members[y]) == 2
	}
	slices.Sort(s.order)
	if len(s.order) < 2 {
		return nil, fmt.Errorf("all %d rows have the label %d: a diagnosis needs at least two classes", len(in.Labels),
			s.order[0])
	}
	if !paired {
		return nil, fmt.Errorf("%d classes of one row each: a diagnosis needs classes of at least two", len(s.order))
	}
	all := make([]int, s.x.Rows)
	for i := range all {
		all[i] = i
	}
	var variance float64
	s.mean, variance = classMoments(s.x, all)
	if variance == 0 {
		return nil, fmt.Errorf("all %d rows are equal: the embedding has collapsed to a single point", s.x.Rows)
	}
	s.spread = safeSqrt(variance)
	return s, nil
}

// draw returns at most limit random rows in increasing order. Draws for different purposes use
// different streams.
func (s *sample) draw(rows []int, limit int, stream uint64) []int {
	if len(rows) <= limit {
		return rows
	}
	rng := rand.New(rand.NewPCG(s.opt.Seed, stream))
	out := slices.Clone(rows)
	for i := range limit {
		j := i + rng.IntN(len(out)-i)
		out[i], out[j] = out[j], out[i]
	}
	out = out[:limit]
	slices.Sort(out)
	return out
}

// allRows lists the rows 0..n-1.
func (s *sample) allRows() []int {
	rows := make([]int, s.x.Rows)
	for i := range rows {
		rows[i] = i
	}
	return rows
}
