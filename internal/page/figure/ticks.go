package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// ticks places tick marks at round numbers: 1, 2 or 5 times a power of ten, with at
// most seven labels, and on request at whole numbers only. On a logarithmic axis they
// are at the powers of ten.
type ticks struct{ log, whole bool }

// Ticks implements plot.Ticker.
func (t ticks) Ticks(lo, hi float64) []plot.Tick {
	if !(hi > lo) {
		return nil
	}
	if t.log {
		return logTicks(lo, hi)
	}
	step := niceStep((hi - lo) / 6)
	if t.whole {
		step = max(step, 1)
	}
	first := math.Ceil(lo/step - 1e-9)
	var out []plot.Tick
	for k := 0.0; k < 20; k++ {
		v := (first + k) * step
		if v > hi+1e-9*step {
			break
		}
		if math.Abs(v) < step*1e-9 {
			v = 0
		}
		out = append(out, plot.Tick{Value: v, Label: tickLabel(v, step)})
	}
	return out
}

// niceStep returns the least of 1, 2, 5 times a power of ten that is >= x.
func niceStep(x float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= x*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// tickLabel writes v with as many decimals as its step needs.
func tickLabel(v, step float64) string {
	if a := math.Abs(v); a >= 1e6 || step < 1e-4 {
		return FormatMinus(strconv.FormatFloat(v, 'g', 4, 64))
	}
	return FormatMinus(strconv.FormatFloat(v, 'f', max(0, int(math.Ceil(-math.Log10(step)-1e-9))), 64))
}

func FormatMinus(s string) string { return strings.ReplaceAll(s, "-", "\u2212") }

func logTicks(lo, hi float64) []plot.Tick {
	a, b := math.Log10(lo), math.Log10(hi)
	every := max(1, math.Ceil((b-a)/7))
	var out []plot.Tick
	for e := math.Floor(a); e <= math.Ceil(b); e++ {
		v := math.Pow(10, e)
		label := ""
		if math.Mod(math.Abs(e), every) == 0 {
			label = FormatMinus(strconv.FormatFloat(v, 'g', -1, 64))
		}
		out = append(out, plot.Tick{Value: v, Label: label})
		for m := 2.0; m < 10 && b-a < 5; m++ {
			l := ""
			if b-a < 1.3 && (m == 2 || m == 5) {
				l = FormatMinus(strconv.FormatFloat(m*v, 'g', 4, 64))
			}
			out = append(out, plot.Tick{Value: m * v, Label: l})
		}
	}
	kept := out[:0]
	for _, t := range out {
		if t.Value >= lo*(1-1e-9) && t.Value <= hi*(1+1e-9) {
			kept = append(kept, t)
		}
	}
	return kept
}
