package sweep

import "testing"

// A budget is spent to the last epoch: what takes all that is left is begun, a trial that
// goes on as much as a new one, and what takes one more is not.
func TestBudgetIsSpent(t *testing.T) {
	scores := []float64{5, 1, 9, 2, 8}
	for _, c := range []struct {
		budget int
		want   string
		spent  int
	}{
		// After three trials the best would go on for two epochs more.
		{2, "1>1 1! 2>1 2!", 2},
		{3, "1>1 1! 2>1 2! 3>1 3!", 3},
		{4, "1>1 1! 2>1 2! 3>1 3! 4>1 4!", 4},
		{5, "1>1 1! 2>1 2! 3>1 3! 3>3 3!", 5},
		{6, "1>1 1! 2>1 2! 3>1 3! 3>3 3! 4>1 4!", 6},
		{0, "", 0},
	} {
		st := study{rungs: []int{1, 3}, eta: 3, trials: 5, budget: c.budget, atOnce: 1}
		if got := traceStudy(t, &st, scores); got != c.want || st.spent != c.spent {
			t.Errorf("a budget of %d: %d epochs for\n%s\nwant %d for\n%s", c.budget, st.spent, got, c.spent, c.want)
		}
	}
	// Trials that nothing stops cost all their epochs at once.
	st := study{rungs: []int{4}, eta: 3, trials: 5, budget: 11, atOnce: 3}
	if got := traceStudy(t, &st, scores); got != "1>4 2>4 1! 2!" || st.spent != 8 {
		t.Errorf("%d epochs for %s", st.spent, got)
	}
	st = study{rungs: []int{4}, eta: 3, trials: 5, budget: 12, atOnce: 3}
	if got := traceStudy(t, &st, scores); got != "1>4 2>4 3>4 1! 2! 3!" || st.spent != 12 {
		t.Errorf("%d epochs for %s", st.spent, got)
	}
	// As many trials as may be tried, whatever is left.
	st = study{rungs: []int{1}, eta: 3, trials: 2, budget: 99, atOnce: 1}
	if got := traceStudy(t, &st, scores); got != "1>1 1! 2>1 2!" {
		t.Error(got)
	}
}
