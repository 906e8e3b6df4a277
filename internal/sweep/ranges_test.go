package sweep

import (
	"fmt"
	"testing"
)

// The value at each place of a range, by hand.
func TestRangeValues(t *testing.T) {
	for _, c := range []struct {
		r    Range
		want map[float64]string
	}{
		{Range{Low: -1, High: 3}, map[float64]string{-0.5: "-1", 0: "-1",
			0.25: "0", 0.5: "1", 0.30864: "0.2346", 1: "3", 2: "3"}},
		{Range{Low: 0.001, High: 10, Log: true}, map[float64]string{0: "0.001", 0.25: "0.01", 0.5: "0.1",
			0.625: "0.3162", 1: "10"}},
		{Range{Low: 1, High: 1000, Log: true, Whole: true}, map[float64]string{0: "1", 0.5: "32", 1: "1000"}},
		{Range{Low: 2, High: 5, Whole: true}, map[float64]string{0: "2", 0.24: "2", 0.25: "3",
			0.5: "4", 0.75: "5", 1: "5"}},
		{Range{Low: 1, High: 2.2, Step: 0.5}, map[float64]string{0: "1", 0.33: "1", 0.34: "1.5", 0.67: "2", 1: "2"}},
		{Range{Low: 0, High: 0.3, Step: 0.1}, map[float64]string{0: "0", 1: "0.3"}}, // of which 0.3 is three
		{Range{Values: []string{"a", "b"}}, map[float64]string{0: "a", 0.49: "a", 0.5: "b", 1: "b"}},
	} {
		for u, want := range c.want {
			if got := c.r.settingAt(u); got.Value != want {
				t.Errorf("%+v has %s at %g, want %s", c.r, got.Value, u, want)
			}
		}
	}
}

// The place of a value is the middle of those that it stands for.
func TestRangePlaces(t *testing.T) {
	for _, c := range []struct {
		r    Range
		want map[string]float64
	}{
		{Range{Low: -1, High: 3}, map[string]float64{"-1": 0, "0": 0.25, "3": 1, "x": 0.5}},
		{Range{Low: 0.01, High: 100, Log: true}, map[string]float64{"0.01": 0, "1": 0.5, "10": 0.75, "100": 1}},
		{Range{Low: 2, High: 5, Whole: true}, map[string]float64{"2": 0.125, "3": 0.375, "5": 0.875}},
		{Range{Low: 1, High: 2.2, Step: 0.5}, map[string]float64{"1": 1. / 6, "1.5": 0.5, "2": 5. / 6}},
		{Range{Values: []string{"a", "b", "c"}}, map[string]float64{"a": 1. / 6, "c": 5. / 6}},
	} {
		for v, want := range c.want {
			if got := c.r.PlaceOf(v); !isClose(got, want) {
				t.Errorf("%+v has %s at %g, want %g", c.r, v, got, want)
			}
		}
	}
}

// What a range has, from its low to its high end.
func TestRangeEnds(t *testing.T) {
	for _, c := range []struct {
		r       Range
		has, no []string
	}{
		{Range{Low: -1, High: 3}, []string{"-1", "3", "0.123", "1e0"},
			[]string{"-1.001", "3.001", "x", "", "nan", `"1"`}},
		{Range{Low: 2, High: 5, Whole: true}, []string{"2", "5", "3.0"}, []string{"2.5", "1", "6"}},
		{Range{Low: 1, High: 2.2, Step: 0.5}, []string{"1", "1.5", "2"}, []string{"2.2", "1.25", "2.5", "1.50001"}},
		{Range{Low: 0.1, High: 1, Step: 0.1}, []string{"0.3", "0.7", "1"}, []string{"0.35", "0"}},
		{Range{Low: 2, High: 16, Step: 4, Whole: true}, []string{"2", "6", "14"}, []string{"4", "16"}},
		{Range{Values: []string{`"easy"`, "2", "true"}}, []string{`"easy"`, "easy", "2", "true"},
			[]string{"hard", "3", ""}},
	} {
		for _, v := range c.has {
			if !c.r.Contains(v) {
				t.Errorf("%+v has no %s", c.r, v)
			}
		}
		for _, v := range c.no {
			if c.r.Contains(v) {
				t.Errorf("%+v has %s", c.r, v)
			}
		}
	}
}

// Ends of every range are tried with the others at their first, and listed values all.
func TestExtremes(t *testing.T) {
	ranges := []Range{{Key: "a", Low: 1, High: 2}, {Key: "b", Values: []string{"x", "y", "z"}},
		{Key: "c", Low: 5, High: 7}}
	for k, want := range []string{"[a=1 b=x c=5] [a=2 b=x c=5]", "[a=1 b=x c=5] [a=1 b=y c=5] [a=1 b=z c=5]",
		"[a=1 b=x c=5] [a=1 b=x c=7]"} {
		got := ""
		for i, own := range extremes(ranges, k) {
			var set []string
			for _, s := range own {
				set = append(set, s.override())
			}
			if i > 0 {
				got += " "
			}
			got += fmt.Sprint(set)
		}
		if got != want {
			t.Errorf("of range %d: %s, want %s", k, got, want)
		}
	}
}
