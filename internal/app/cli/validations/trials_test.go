package validations

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
)

// checkLines looks for lines, whatever blanks align them.
func checkLines(t *testing.T, got string, want ...string) {
	t.Helper()
	got = strings.Join(strings.Fields(got), " ")
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no %q in\n%s", w, got)
		}
	}
}

// TestWrite: a promise is broken in each trial that measures more than its rate, means are
// over the trials that were not refused, and each reason for a refusal is told once.
func TestWrite(t *testing.T) {
	trial := func(fmr float64, refused string) *decide.Validation {
		return &decide.Validation{Classes: 5, Photos: 40,
			Reliability: decide.Reliability{ECE: fmr, Chance: 0.003, Debiased: fmr / 2},
			Matches: []decide.Match{
				{Threshold: decide.Threshold{Rate: 0.1}, FMR: fmr, TMR: 0.8, UnboundedFMR: 0.05, SeenFMR: new(0.25)},
				{Threshold: decide.Threshold{Rate: 0.01}, RefusalReason: "too few classes", UnboundedFMR: 0.02}},
			OpenSets: []decide.OpenSet{{Threshold: decide.Threshold{Rate: 0.05}, Gallery: 20, RefusalReason: refused}},
			Coverages: []decide.Coverage{{Requested: 0.9, Measured: fmr, MeanSize: 3,
				ByClass: &decide.ClassCoverage{Measured: 0.88, LowestDecile: 0.85, MeanSize: 2.5, OwnSpread: 0.5}}}}
	}
	var b strings.Builder
	if err := Write(&b, []*decide.Validation{trial(0.08, ""), trial(0.12, ""), trial(0.16, "")}); err != nil {
		t.Fatal(err)
	}
	checkLines(t, b.String(), "3 trials, each on 40 photos of 5 other classes",
		"false matches 0.1 0.12 0.16 2 0.800 0.05 0 0.25",
		"false matches 0.01 refused", "coverage 0.9 0.120 least 0.080",
		"the calibration 0.120 0.003 0.060 0.160", "0.9, by class 0.880 0.850 2.5 50 % of classes")
	if strings.Count(b.String(), "too few classes") != 1 || strings.Contains(b.String(), "Platt scaling on seen") {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := Write(&b, []*decide.Validation{trial(0.08, "no gallery")}); err != nil {
		t.Fatal(err)
	}
	checkLines(t, b.String(), "1 trial, each", "unknown photos 0.05 among 20 refused", "no gallery")
}

// TestWriteDrift: the verdict is by p.
func TestWriteDrift(t *testing.T) {
	for p, want := range map[float64]string{0.04: "the photos differ from those", 0.06: "no difference was found"} {
		var b strings.Builder
		d := &decide.Drift{Photos: 9, Classes: 3, KnownClasses: 4, ReferencePhotos: 5, P: p,
			Matches: []decide.DriftMatch{
				{Threshold: decide.Threshold{Rate: 0.1}, NewRate: 0.2, KnownRate: 0.05},
				{Threshold: decide.Threshold{Rate: 0.01}, RefusalReason: "too few\x1b classes"}}}
		if err := WriteDrift(&b, d); err != nil {
			t.Fatal(err)
		}
		checkLines(t, b.String(), want, "9 photos without labels, taken as 3 classes", "false matches 0.1 0.2",
			"false matches 0.01 too few")
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("%q", b.String())
		}
	}
}
