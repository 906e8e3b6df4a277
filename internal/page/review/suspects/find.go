package suspects

import (
	"context"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/internal/app/quality"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/matrix"
)

// Report holds the results of Find.
type Report struct {
	Items int `json:"items"`
	// Wrong is the estimated share of wrong labels. Folds is the number of times the
	// run was trained again, 0 if its own embedding judged.
	Wrong float64 `json:"wrong"`
	// Alone is the number of items whose label no other item has; such labels cannot be judged.
	Alone      int  `json:"alone,omitempty"`
	Folds      int  `json:"folds"`
	Pictures   bool `json:"pictures"` // were compared, for copies
	Labels     int  `json:"labels"`
	Duplicates int  `json:"duplicates"`
	Blank      int  `json:"blank"`
	Outliers   int  `json:"outliers"`
	// Quality is the number of photos with each defect, nil if photos were not examined.
	// Leaks is the number that were taken together with a photo on the other side of the split.
	Quality  map[string]int `json:"quality,omitempty"`
	Leaks    int            `json:"leaks"`
	Suspects []Suspect      `json:"suspects"`
	Overlaps []Overlap      `json:"overlaps"`
	Confused []Confusion    `json:"confused"`
}

// Suspect is an item with the reason why it is suspected.
type Suspect struct {
	ID        string  `json:"id"`
	Row       int     `json:"row"` // its number in the file or data set, from 0
	Path      string  `json:"path"`
	Label     string  `json:"label"`
	Suggested string  `json:"suggested"`
	Score     float64 `json:"score"`
	Reason    string  `json:"reason"`

	item   int
	beside int  // for a copy, the other item; else -1
	wrong  bool // its label is
}

// Overlap is a pair of classes that look like one class.
type Overlap struct {
	A      string  `json:"a"`
	B      string  `json:"b"`
	Mixing float64 `json:"mixing"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Confusion is the number of items with a label that probably belong to another class.
type Confusion struct {
	Label string  `json:"label"`
	Class string  `json:"class"`
	Items int     `json:"items"`
	Wrong float64 `json:"wrong"`
}

// Options are the options of Find.
type Options struct {
	Least      float64 // least score of a suspected label
	Neighbours int     // number of nearest items that vote on a label
	Seed       uint64
	// Folds are embeddings of all items by networks that some items were held out of.
	// Without folds the items are judged in x.
	Folds []clean.Fold
	// Prints are the pictures' prints, with nil for a picture that cannot be read. Without
	// Prints, copies are not searched.
	Prints []*clean.Fingerprint
	// Judged holds the defects of the pictures, nil if they were not examined. Together
	// says which of them were taken together.
	Judged   *quality.Scores
	Together *quality.Bursts
	// Compared, if set, is called with the number of pictures that have been compared.
	Compared func(done, total int)
}

// Find searches for everything that may be wrong with the items s, embedded in the rows of x.
func Find(ctx context.Context, s *review.Subjects, x *matrix.Dense, o Options) (*Report, error) {
	r := &Report{Items: len(s.Labels), Folds: len(o.Folds), Pictures: o.Prints != nil, Suspects: []Suspect{},
		Overlaps: []Overlap{}, Confused: []Confusion{}}
	if err := r.findWrongLabels(ctx, s, x, o); err != nil {
		return nil, err
	}
	if err := r.findCopies(ctx, s, x, o); err != nil {
		return nil, err
	}
	r.findDefects(s, o)
	odd, err := clean.FindOutliers(ctx, x, 0, 0.05)
	if err != nil {
		return nil, err
	}
	of := map[int64]int{}
	for _, l := range s.Labels {
		of[l]++
	}
	for _, found := range odd {
		if of[s.Labels[found.Item]] == 1 {
			continue // the only item of a class is far from all others
		}
		r.Suspects = append(r.Suspects, Suspect{item: found.Item, beside: -1, Score: found.Score,
			Reason: fmt.Sprintf("odd: %.1f times as far from its neighbours as they are from theirs",
				min(found.DistanceRatio, 1e6))})
		r.Outliers++
	}
	for k := range r.Suspects {
		one := &r.Suspects[k]
		one.Row = s.Row(one.item)
		one.ID, one.Path, one.Label = s.ID(one.item), s.Name(one.item), s.Label(one.item)
	}
	pairs, err := clean.FindOverlaps(ctx, x, s.Labels, 0, 0.5)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		r.Overlaps = append(r.Overlaps, Overlap{s.ClassName(p.A), s.ClassName(p.B), p.Mixing, p.Low, p.High})
	}
	return r, nil
}

// findWrongLabels suspects labels that the neighbours contradict.
func (r *Report) findWrongLabels(ctx context.Context, s *review.Subjects, x *matrix.Dense, o Options) error {
	folds := o.Folds
	if len(folds) == 0 {
		folds = []clean.Fold{{X: x}}
	}
	j, err := clean.FindLabelErrors(ctx, s.Labels, clean.Options{Neighbours: o.Neighbours, Seed: o.Seed}, folds...)
	if err != nil {
		return err
	}
	r.Wrong, r.Alone = j.WrongShare, j.NumSingletons
	for _, c := range j.Confusions {
		r.Confused = append(r.Confused, Confusion{s.ClassName(c.Label), s.ClassName(c.Class), c.Items, c.Wrong})
	}
	for _, i := range j.Suspects(o.Least) {
		to := s.ClassName(j.Suggested[i])
		r.Suspects = append(r.Suspects, Suspect{item: i, beside: -1, wrong: true, Suggested: to, Score: j.Score[i],
			Reason: fmt.Sprintf("label: of its %d nearest %d are %s and %d %s", j.Neighbours, j.Votes[i], to,
				j.Agree[i], s.Label(i))})
		r.Labels++
	}
	return nil
}

// findDefects suspects pictures that are blurred, dark and so on, and pictures that were taken
// together with a picture on the other side of the split.
func (r *Report) findDefects(s *review.Subjects, o Options) {
	if o.Judged == nil {
		return
	}
	r.Quality = o.Judged.Counts()
	for i, scores := range o.Judged.Scores {
		for d, score := range scores {
			if d := quality.Defect(d); o.Judged.Has(i, d) {
				r.Suspects = append(r.Suspects, Suspect{item: i, beside: -1, Score: score,
					Reason: o.Judged.Reason(i, d)})
			}
		}
	}
	if o.Together == nil {
		return
	}
	for i, leak := range o.Together.Leak {
		if first := o.Together.First[i]; leak && first != i {
			r.Suspects = append(r.Suspects, Suspect{item: i, beside: first, Score: 1, Reason: fmt.Sprintf(
				"leak: taken together with %s; some photos of this group are for training, some for the test",
				s.Name(first))})
			r.Leaks++
		}
	}
}

// findCopies suspects pictures that are copies, each beside the picture that it resembles most,
// and pictures of one grey.
func (r *Report) findCopies(ctx context.Context, s *review.Subjects, x *matrix.Dense, o Options) error {
	if o.Prints == nil {
		return nil
	}
	found, err := clean.FindDuplicates(ctx, o.Prints, clean.DuplicateOptions{X: x, Progress: o.Compared})
	if err != nil {
		return err
	}
	likeness := map[int]clean.Copy{}
	for _, c := range found {
		if was, ok := likeness[c.B]; !ok || c.Likeness > was.Likeness {
			likeness[c.B] = c
		}
	}
	items := make([]int, 0, len(likeness))
	for i := range likeness {
		items = append(items, i)
	}
	slices.Sort(items)
	for _, i := range items {
		c := likeness[i]
		reason := "copy: the same picture as " + s.Name(c.A)
		suggested := ""
		if s.Labels[c.A] != s.Labels[i] {
			suggested = s.Label(c.A)
			reason += ", which is labelled " + suggested
		}
		if s.Split(c.A) != s.Split(i) {
			reason += fmt.Sprintf(", on the other side of the split (%s, %s)", s.Split(c.A), s.Split(i))
		}
		r.Suspects = append(r.Suspects, Suspect{item: i, beside: c.A, Suggested: suggested, Score: c.Likeness,
			Reason: reason})
		r.Duplicates++
	}
	for i, p := range o.Prints {
		if p != nil && p.IsBlank() {
			r.Suspects = append(r.Suspects, Suspect{item: i, beside: -1, Score: 1,
				Reason: "blank: the picture is of one grey"})
			r.Blank++
		}
	}
	return nil
}
