package sweep

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// Trial is one choice of settings and its result.
type Trial struct {
	Number int       `json:"number"` // from 1
	Set    []Setting `json:"set"`    // a setting for each range, in the order of ranges
	Epochs int       `json:"epochs"` // epochs trained on every fold
	// Scores has the means over the folds by epoch. Score is the last of them, and Folds
	// has its values on the folds.
	Scores []Score   `json:"scores"`
	Score  float64   `json:"score"`
	Folds  []float64 `json:"folds"`
	// Seconds is the time that training and scoring took, all folds together.
	Seconds float64 `json:"seconds"`
	// Failed is the reason why the settings could not be trained.
	Failed string `json:"failed,omitempty"`

	rungs []float64 // scores at the rungs reached
}

func (t *Trial) hasFailed() bool { return t.Failed != "" }

// study searches the settings of one arm. It has its own clock, on which an epoch takes one unit. It processes
// results in the order of that clock, not in the order of their arrival.
type study struct {
	drawer  drawer
	rungs   []int
	eta     int
	trials  int // most trials
	budget  int // most epochs
	atOnce  int
	train   func(ctx context.Context, t *Trial, until int) error // fills in t
	started func(t *Trial, until int)
	ended   func(t *Trial)

	all   []*Trial
	spent int
}

// flight is a trial being trained to a rung.
type flight struct {
	trial *Trial // its own copy, which the study sees when the flight has ended
	until int
	end   int // time of its end on the study's clock
	seq   int
	done  chan error
}

// run returns when the budget is spent or nothing is left to try.
func (s *study) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var flights []*flight
	defer func() {
		cancel()
		for _, f := range flights { // wait until all have ended
			<-f.done
		}
	}()
	now, seq := 0, 0
	for {
		for len(flights) < s.atOnce && ctx.Err() == nil {
			t, rung := s.nextTrial(flights)
			if t == nil {
				break
			}
			cost := s.rungs[rung] - t.Epochs
			f := &flight{&Trial{Number: t.Number, Set: t.Set}, s.rungs[rung], now + cost, seq, make(chan error, 1)}
			seq++
			s.spent += cost
			flights = append(flights, f)
			s.started(t, f.until)
			go func() { f.done <- s.train(ctx, f.trial, f.until) }()
		}
		if len(flights) == 0 {
			return ctx.Err()
		}
		k := 0
		for i, f := range flights {
			if cmp.Or(cmp.Compare(f.end, flights[k].end), cmp.Compare(f.seq, flights[k].seq)) < 0 {
				k = i
			}
		}
		f := flights[k]
		if err := <-f.done; err != nil {
			f.done <- nil // for the deferred wait
			return err
		}
		flights = slices.Delete(flights, k, k+1)
		now = f.end
		s.recordRung(f)
	}
}

// recordRung records a trial that has reached its rung.
func (s *study) recordRung(f *flight) {
	i := slices.IndexFunc(s.all, func(t *Trial) bool { return t.Number == f.trial.Number })
	t := f.trial
	score := t.Score
	if t.hasFailed() {
		score = math.Inf(-1)
	}
	t.rungs = append(slices.Clone(s.all[i].rungs), score)
	s.all[i] = t
	s.ended(t)
}

// nextTrial returns the next trial to train and its rung; nil if none can be trained at present.
func (s *study) nextTrial(flights []*flight) (*Trial, int) {
	for rung := len(s.rungs) - 2; rung >= 0; rung-- {
		if t := s.promotable(rung, flights); t != nil && s.spent+s.rungs[rung+1]-t.Epochs <= s.budget {
			return t, rung + 1
		}
	}
	if len(s.all) == s.trials || s.spent+s.rungs[0] > s.budget {
		return nil, 0
	}
	var known []*Trial
	for _, t := range s.all {
		if len(t.rungs) > 0 {
			known = append(known, t)
		}
	}
	t := &Trial{Number: len(s.all) + 1}
	t.Set = s.drawer.draw(t.Number, known)
	s.all = append(s.all, t)
	return t, 0
}

// promotable returns the best trial that has reached a rung, is among the best one in eta there, and has not
// gone on.
func (s *study) promotable(rung int, flights []*flight) *Trial {
	var here []*Trial
	for _, t := range s.all {
		if len(t.rungs) > rung {
			here = append(here, t)
		}
	}
	slices.SortStableFunc(here, func(a, b *Trial) int { return -cmp.Compare(a.rungs[rung], b.rungs[rung]) })
	for _, t := range here[:len(here)/s.eta] {
		flying := slices.ContainsFunc(flights, func(f *flight) bool { return f.trial.Number == t.Number })
		if len(t.rungs) == rung+1 && !t.hasFailed() && !flying {
			return t
		}
	}
	return nil
}

// winner returns the best of the trials that got furthest, or an error that says why no trial won.
func (s *study) winner() (*Trial, error) {
	ranked := slices.Clone(s.all)
	slices.SortStableFunc(ranked, compareTrials)
	if len(ranked) == 0 || ranked[0].hasFailed() {
		why := "no trial was made"
		if len(ranked) > 0 {
			why = ranked[0].Failed
		}
		return nil, fmt.Errorf("all %d trials failed; the first: %s", len(ranked), why)
	}
	return ranked[0], nil
}
