package paper

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/sweep"
)

// Space is what Tune searches for the settings that a paper leaves open: the ranges of all arms
// (Arm.Ranges has those of one arm), and the plan of the search. Every arm gets the same number of
// trials and epochs.
type Space struct {
	// Of names the experiment whose sweep is used; "" for this one's.
	Of string
	// Scale is the scale whose settings are searched; "" if the experiment has one size.
	Scale string
	// Held says on what the trials are scored.
	Held string
	// Kept says what the sweep does not choose. It replaces Experiment.Tuning after a sweep, unless
	// it is empty.
	Kept string
	// Set are the settings that shorten the trials; the sweep does not choose them.
	Set []string
	// Ranges are key=range, a range in the form of a plan of kindred sweep.
	Ranges []string
	// Start makes the first trial of every arm use the settings that the arm has without a sweep.
	Start bool
	// Plan are the other lines of the plan: folds, metric and the rest.
	Plan []string
}

// forExperiment returns the space for another experiment that uses the settings of the named one; kept is its
// Kept.
func (s *Space) forExperiment(name, kept string) *Space {
	other := *s
	other.Of, other.Kept = name, kept
	return &other
}

// keptText says what was not chosen for e.
func (s *Space) keptText(e *Experiment) string { return cmp.Or(s.Kept, e.Tuning) }

// TunePlan returns the plan, in the form of kindred sweep, that chooses the settings of e at the
// scale of o. o.Set comes last; trials is the number of trials of an arm. The plan does not test
// the winners: Reproduce does.
func (e *Experiment) TunePlan(o Options, trials int) (string, error) {
	if e.Space == nil {
		return "", fmt.Errorf("experiment %s has no ranges to search; these experiments have: %s", e.Name,
			strings.Join(tunableNames(), ", "))
	}
	if e.Space.Of != "" {
		return "", fmt.Errorf("experiment %s has the settings of %s: tune that experiment", e.Name, e.Space.Of)
	}
	s, err := e.scale(o.Scale)
	if err != nil {
		return "", err
	}
	if s.Name != e.Space.Scale {
		return "", fmt.Errorf("experiment %s has ranges for its scale %q only, not for %q", e.Name, e.Space.Scale,
			s.Name)
	}
	var b strings.Builder
	section := func(indent, name string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s%s:\n", indent, name)
		for _, l := range lines {
			key, value, _ := strings.Cut(l, "=")
			fmt.Fprintf(&b, "%s  %s: %s\n", indent, key, cmp.Or(value, `""`))
		}
	}
	section("", "set", mergeOverrides([]string{papersSplit}, e.Base, s.Set, e.Space.Set, o.Set))
	section("", "ranges", e.Space.Ranges)
	b.WriteString("arms:\n")
	for i := range e.Arms {
		a := &e.Arms[i]
		if !a.isSearched() {
			continue
		}
		fmt.Fprintf(&b, "- name: %s\n", a.Name)
		// A key of the arm's comes before one of the plan's, which is to have the last word
		// here as in Experiment.config; and one that is searched is not set.
		searched := slices.Concat(e.Space.Ranges, a.Ranges)
		section("  ", "set", mergeOverrides(slices.DeleteFunc(slices.Clone(a.Set), func(set string) bool {
			return hasKey(set, slices.Concat(s.Set, e.Space.Set, o.Set, searched))
		})))
		section("  ", "ranges", a.Ranges)
		if e.Space.Start {
			section("  ", "start", startValues(searched, slices.Concat(e.Base, a.Start, a.Set, s.Set)))
		}
	}
	fmt.Fprintf(&b, "%s\ntrials: %d\nseeds: 0\nseed: %d\n", strings.Join(e.Space.Plan, "\n"), trials, o.Seed)
	return b.String(), nil
}

// tunableNames names the experiments that have ranges of their own, with their scales.
func tunableNames() []string {
	var names []string
	for _, e := range newExperiments() {
		if e.Space != nil && e.Space.Of == "" {
			names = append(names, strings.TrimSpace(e.Name+" "+e.Space.Scale))
		}
	}
	return names
}

// startValues returns the values that settings (the last one counts) have for the keys of ranges.
func startValues(ranges, set []string) []string {
	return slices.DeleteFunc(mergeOverrides(set), func(s string) bool { return !hasKey(s, ranges) })
}

// mergeOverrides joins overrides and keeps the last one of each key. It drops the keys that a sweep sets
// itself.
func mergeOverrides(sets ...[]string) []string {
	all := slices.Concat(sets...)
	var out []string
	for i, set := range all {
		if !hasKey(set, all[i+1:]) && !hasKey(set, []string{"eval.every=", "train.seed="}) {
			out = append(out, set)
		}
	}
	return out
}

// hasKey reports whether one of the overrides has the key of set.
func hasKey(set string, among []string) bool {
	key, _, _ := strings.Cut(set, "=")
	return slices.ContainsFunc(among, func(s string) bool { return strings.HasPrefix(s, key+"=") })
}

// ChosenFile is the file that Tune writes in its folder; in this package's folder "chosen" it is
// NAME.json or NAME-SCALE.json.
const ChosenFile = "chosen.json"

// TuneSweep is the folder of the sweep in Tune's folder, and tunePlanFile the sweep's plan.
const (
	TuneSweep    = "sweep"
	tunePlanFile = "tune.yaml"
)

// Tune chooses the settings of every arm of e by the sweep of a plan (the text of TunePlan), writes
// them to o.Dir as ChosenFile, and returns them with the outcome of the sweep. The folder must be
// empty or hold that sweep, which is then continued. tell, if not nil, gets the events of the
// trials.
func Tune(ctx context.Context, e *Experiment, o Options, p *sweep.Plan, text string, tell func(sweep.Event)) (
	*TunedSettings, *sweep.Outcome, error) {
	if err := checkTuned(o.Dir); err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(o.Dir, TuneSweep)
	out, err := sweep.Run(ctx, p, sweep.Options{Dir: dir, Jobs: o.Jobs, OnEvent: tell,
		Local: sweep.Local{Home: o.Home, Weights: o.Weights}})
	if err != nil {
		return nil, nil, err
	}
	if err := writeText(filepath.Join(o.Dir, tunePlanFile), text); err != nil {
		return nil, nil, err
	}
	c := newTunedSettings(e, out, o.Set)
	return c, out, writeJSON(filepath.Join(o.Dir, ChosenFile), c)
}

// checkTuned refuses a folder with files that are not Tune's.
func checkTuned(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := atomic.Clean(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if n := entry.Name(); n != TuneSweep && n != ChosenFile && n != tunePlanFile {
			return fmt.Errorf("%s is neither empty nor the folder of a sweep by 'reproduce tune': it holds %s; choose "+
				"another with --out", dir, n)
		}
	}
	return nil
}
