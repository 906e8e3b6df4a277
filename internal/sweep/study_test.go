package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// traceStudy runs a study of the trials whose scores are given, at every rung the same,
// and returns what happened: 3>9 is the start of trial 3 to epoch 9, and 3! its end.
// What is trained to fewer epochs takes longer here: only the study's clock may count.
func traceStudy(t *testing.T, st *study, scores []float64) string {
	t.Helper()
	var said []string
	st.drawer = drawer{search: Random, seed: 1, ranges: []Range{{Key: "x", High: 1}}}
	st.train = func(_ context.Context, tr *Trial, until int) error {
		time.Sleep(time.Duration(20-2*until) * 100 * time.Microsecond)
		tr.Epochs, tr.Score = until, scores[tr.Number-1]
		if tr.Score < 0 {
			tr.Failed = fmt.Sprintf("trial %d fails", tr.Number)
		}
		return nil
	}
	st.started = func(tr *Trial, until int) { said = append(said, fmt.Sprintf("%d>%d", tr.Number, until)) }
	st.ended = func(tr *Trial) { said = append(said, fmt.Sprintf("%d!", tr.Number)) }
	if err := st.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return strings.Join(said, " ")
}

// TestASHA follows studies whose decisions were taken by hand.
func TestASHA(t *testing.T) {
	scores := []float64{5, 1, 9, 2, 8, 3, 7, 4, 6}
	for _, c := range []struct {
		name  string
		study study
		want  string
		spent int
	}{
		// After three trials the best goes on, after six the better of the two that may, after
		// nine a third one, and of these three the best.
		{"one at once", study{rungs: []int{1, 3, 9}, eta: 3, trials: 9, budget: 99, atOnce: 1},
			"1>1 1! 2>1 2! 3>1 3! 3>3 3! 4>1 4! 5>1 5! 6>1 6! 5>3 5! 7>1 7! 8>1 8! 9>1 9! 7>3 7! 3>9 3!", 21},
		// Two epochs for trial 5 are one too many, a trial more is not.
		{"a budget of nine", study{rungs: []int{1, 3, 9}, eta: 3, trials: 9, budget: 9, atOnce: 1},
			"1>1 1! 2>1 2! 3>1 3! 3>3 3! 4>1 4! 5>1 5! 6>1 6! 7>1 7!", 9},
		// The clock: 3 ends at 2 and goes on until 4, when 6 ends too, which began later.
		{"two at once", study{rungs: []int{1, 3, 9}, eta: 3, trials: 9, budget: 99, atOnce: 2},
			"1>1 2>1 1! 3>1 2! 4>1 3! 3>3 4! 5>1 5! 6>1 3! 7>1 6! 5>3 7! 8>1 5! 9>1 8! 9! 7>3 7! 3>9 3!", 21},
		{"no stops", study{rungs: []int{9}, eta: 3, trials: 3, budget: 99, atOnce: 2}, "1>9 2>9 1! 3>9 2! 3!", 27},
		{"the best half", study{rungs: []int{1, 2}, eta: 2, trials: 4, budget: 99, atOnce: 1},
			"1>1 1! 2>1 2! 1>2 1! 3>1 3! 3>2 3! 4>1 4!", 6},
	} {
		if got := traceStudy(t, &c.study, scores); got != c.want || c.study.spent != c.spent {
			t.Errorf("%s: %d epochs for\n%s\nwant %d for\n%s", c.name, c.study.spent, got, c.spent, c.want)
		}
	}
	// What has failed does not go on, even if it is among the best, and wins nothing.
	st := &study{rungs: []int{1, 2}, eta: 2, trials: 4, budget: 99, atOnce: 1}
	if got := traceStudy(t, st, []float64{-1, -1, 0.5, -1}); got != "1>1 1! 2>1 2! 3>1 3! 3>2 3! 4>1 4!" {
		t.Errorf("with failures: %s", got)
	}
	if best, err := st.winner(); err != nil || best.Number != 3 {
		t.Errorf("the winner is %+v, %v", best, err)
	}
	st = &study{rungs: []int{1, 2}, eta: 2, trials: 3, budget: 99, atOnce: 2}
	traceStudy(t, st, []float64{-1, -1, -1})
	if best, err := st.winner(); err == nil || err.Error() != "all 3 trials failed; the first: trial 1 fails" {
		t.Errorf("%+v, %v", best, err)
	}
	if _, err := new(study).winner(); err == nil || !strings.Contains(err.Error(), "no trial was made") {
		t.Error(err)
	}
}

// TestStudyEnds: an error ends a study, when all that is under way has ended.
func TestStudyEnds(t *testing.T) {
	broken, running := errors.New("the disk is full"), make(chan int, 3)
	st := &study{drawer: drawer{search: Random, seed: 1, ranges: []Range{{Key: "x", High: 1}}}, rungs: []int{1, 2},
		eta: 2, trials: 9, budget: 99, atOnce: 3, started: func(*Trial, int) {}, ended: func(*Trial) {}}
	st.train = func(ctx context.Context, tr *Trial, _ int) error {
		if tr.Number == 1 {
			return broken
		}
		<-ctx.Done()
		running <- tr.Number
		return ctx.Err()
	}
	if err := st.run(t.Context()); !errors.Is(err, broken) || len(running) != 2 {
		t.Errorf("%v while %d of two have ended", err, len(running))
	}
}

// TestBetter: who got further comes first, then who scores higher, then who was first.
func TestBetter(t *testing.T) {
	want := []*Trial{{Number: 3, Epochs: 9, Score: 0.1}, {Number: 7, Epochs: 3, Score: 0.8},
		{Number: 2, Epochs: 3, Score: 0.5}, {Number: 4, Epochs: 3, Score: 0.5}, {Number: 1, Epochs: 9, Failed: "x"},
		{Number: 5, Epochs: 1, Score: 1, Failed: "x"}}
	a := ArmOutcome{Trials: slices.Clone(want), Winner: 2}
	for shift := range want {
		slices.Reverse(a.Trials[shift:])
		if got := a.RankedTrials(); !slices.Equal(got, want) {
			t.Errorf("from %v: %v", a.Trials, got)
		}
	}
	if a.BestTrial() != a.Trials[1] {
		t.Error("winners count from 1")
	}
}
