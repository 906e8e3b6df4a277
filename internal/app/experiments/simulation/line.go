package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// promiseLine is one promise, tried in one world.
type promiseLine struct {
	promise string  // text of the promise
	world   string  // name of the world, with the numbers of classes and items
	allowed float64 // the share of trials that may break it
	trials  int
	broken  int
	refused int     // trials that refused to promise
	mean    float64 // mean of the measured values
	worst   float64
	note    string
}

// addTrial adds a trial that measured a rate, which was promised to be at most promised.
func (l *promiseLine) addTrial(measured, promised float64) {
	l.trials++
	l.mean += (measured - l.mean) / float64(l.trials)
	l.worst = max(l.worst, measured)
	if measured > promised {
		l.broken++
	}
}

// interval is Clopper and Pearson's 95 % interval of the share of broken trials.
func (l *promiseLine) interval() (lo, hi float64) {
	k, n := float64(l.broken), float64(l.trials)
	hi = 1
	if k > 0 {
		lo = distuv.Beta{Alpha: k, Beta: n - k + 1}.Quantile(0.025)
	}
	if k < n {
		hi = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile(0.975)
	}
	return lo, hi
}

// agrees reports whether the trials agree with the promise.
func (l *promiseLine) agrees() bool {
	if l.trials == 0 {
		return true
	}
	lo, _ := l.interval()
	return lo <= l.allowed
}

const header = "| promise | world | trials | broken | 95 % interval | may be | measured: mean | worst | refused | |\n" +
	"| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- |\n"

func (l *promiseLine) write(w io.Writer) error {
	lo, hi := l.interval()
	verdict := "holds"
	if !l.agrees() {
		verdict = "**broken**"
	}
	if l.note != "" {
		verdict += ": " + l.note
	}
	_, err := fmt.Fprintf(w, "| %s | %s | %d | %d | %.3f to %.3f | %.3g | %s | %s | %d | %s |\n", l.promise, l.world,
		l.trials, l.broken, lo, hi, l.allowed, formatNumber(l.mean), formatNumber(l.worst), l.refused, verdict)
	return err
}

func formatNumber(v float64) string {
	if v == 0 || math.IsNaN(v) {
		return strings.TrimSpace(fmt.Sprint(v))
	}
	return fmt.Sprintf("%.3g", v)
}
