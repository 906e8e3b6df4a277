package sweep

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// settingAt returns the setting at place u, 0 to 1, of the range: evenly over the values or the steps,
// or over the interval or its logarithm.
func (r *Range) settingAt(u float64) Setting {
	u = min(max(u, 0), 1)
	if r.Values != nil {
		return Setting{r.Key, r.Values[min(int(u*float64(len(r.Values))), len(r.Values)-1)], r.place}
	}
	v := r.Low + u*(r.High-r.Low)
	switch {
	case r.Step > 0:
		n := math.Floor((r.High-r.Low)/r.Step + 1e-9) // steps
		v = r.Low + r.Step*min(math.Floor(u*(n+1)), n)
	case r.Log:
		v = math.Exp(math.Log(r.Low) + u*(math.Log(r.High)-math.Log(r.Low)))
		if r.Whole {
			v = math.Round(v)
		} else { // four digits are enough for comparisons
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
		}
	case r.Whole:
		v = r.Low + min(math.Floor(u*(r.High-r.Low+1)), r.High-r.Low)
	default:
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	}
	return Setting{r.Key, strconv.FormatFloat(min(max(v, r.Low), r.High), 'g', -1, 64), r.place}
}

// PlaceOf returns the place of a value in the range, from 0 to 1: the middle of all places of that
// value.
func (r *Range) PlaceOf(value string) float64 {
	if r.Values != nil {
		return (float64(slices.Index(r.Values, value)) + 0.5) / float64(len(r.Values))
	}
	v, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
		return 0.5
	case r.Step > 0:
		n := math.Floor((r.High-r.Low)/r.Step + 1e-9)
		return (math.Round((v-r.Low)/r.Step) + 0.5) / (n + 1)
	case r.Log:
		return (math.Log(v) - math.Log(r.Low)) / (math.Log(r.High) - math.Log(r.Low))
	case r.Whole:
		return (v - r.Low + 0.5) / (r.High - r.Low + 1)
	}
	return (v - r.Low) / (r.High - r.Low)
}

// Contains reports whether the range has a value, given as JSON, or as text if it is one of
// Values.
func (r *Range) Contains(value string) bool {
	if r.Values != nil {
		return slices.Contains(r.Values, value) || slices.Contains(r.Values, strconv.Quote(value))
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v >= r.Low && v <= r.High) || r.Whole && v != math.Trunc(v) {
		return false
	}
	steps := (v - r.Low) / r.Step
	return r.Step == 0 || math.Abs(steps-math.Round(steps)) < 1e-9
}

// Ticks returns the range's values, or its ends and its middle, with their places.
func (r *Range) Ticks() map[string]float64 {
	out := map[string]float64{}
	if r.Values == nil {
		for _, u := range []float64{0, 0.5, 1} {
			v := r.settingAt(u).Value
			out[v] = r.PlaceOf(v)
		}
		return out
	}
	for _, v := range r.Values {
		out[strings.Trim(v, `"`)] = r.PlaceOf(v)
	}
	return out
}
