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
	"github.com/kindred-ml/kindred/sweep"
)

// Space is what Tune searches for the settings that a paper leaves open: the
// ranges of all arms (Arm.Ranges has an arm's own), and where and how long it looks.
// Every arm gets the same number of trials and epochs.
type Space struct {
	// Of names the experiment whose sweep it is; "": this one's.
	Of string
	// Scale is the scale whose settings are sought; "" in an experiment of one.
	Scale string
	// Held says in words what the trials are scored on.
	Held string
	// Kept says what is not chosen, in place of Experiment.Tuning where settings were; ""
	// leaves that.
	Kept string
	// Set shortens the trials: what it changes is not chosen.
	Set []string
	// Ranges are key=range, a range as a plan of kindred sweep has it.
	Ranges []string
	// Start says that the first trial of every arm has the settings that the arm would have
	// without a sweep, so that these are among the tried.
	Start bool
	// Plan are the plan's other lines: folds, metric and the rest.
	Plan []string
}

// of is the space of the named experiment for another that has its settings; kept is that
// one's Kept.
func (s *Space) of(name, kept string) *Space {
	other := *s
	other.Of, other.Kept = name, kept
	return &other
}

// keptText says what was not chosen for e.
func (s *Space) keptText(e *Experiment) string { return cmp.Or(s.Kept, e.Tuning) }

// TunePlan is the plan of the sweep that chooses the settings of e at the scale of o,
// as kindred sweep reads it. o.Set comes last, trials is how many settings an arm may
// try. The winners are not tested: Reproduce does that.
func (e *Experiment) TunePlan(o Options, trials int) (string, error) {
	if e.Space == nil {
		return "", fmt.Errorf("experiment %s has no ranges to choose its settings from; these have: %s", e.Name,
			strings.Join(tunable(), ", "))
	}
	if e.Space.Of != "" {
		return "", fmt.Errorf("experiment %s has the settings of %s: tune that", e.Name, e.Space.Of)
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
	section("", "set", latest([]string{papersSplit}, e.Base, s.Set, e.Space.Set, o.Set))
	section("", "ranges", e.Space.Ranges)
	b.WriteString("arms:\n")
	for i := range e.Arms {
		a := &e.Arms[i]
		if !a.searched() {
			continue
		}
		fmt.Fprintf(&b, "- name: %s\n", a.Name)
		// A key of the arm's comes before one of the plan's, which is to have the last word
		// here as in Experiment.config; and one that is searched is not set.
		searched := slices.Concat(e.Space.Ranges, a.Ranges)
		section("  ", "set", latest(slices.DeleteFunc(slices.Clone(a.Set), func(set string) bool {
			return named(set, slices.Concat(s.Set, e.Space.Set, o.Set, searched))
		})))
		section("  ", "ranges", a.Ranges)
		if e.Space.Start {
			section("  ", "start", started(searched, slices.Concat(e.Base, a.Start, a.Set, s.Set)))
		}
	}
	fmt.Fprintf(&b, "%s\ntrials: %d\nseeds: 0\nseed: %d\n", strings.Join(e.Space.Plan, "\n"), trials, o.Seed)
	return b.String(), nil
}

// tunable names the experiments that have ranges of their own, with the scale that these are for.
func tunable() []string {
	var names []string
	for _, e := range all() {
		if e.Space != nil && e.Space.Of == "" {
			names = append(names, strings.TrimSpace(e.Name+" "+e.Space.Scale))
		}
	}
	return names
}

// started returns the values that settings have for the keys of ranges. The last setting of a key counts.
func started(ranges, set []string) []string {
	return slices.DeleteFunc(latest(set), func(s string) bool { return !named(s, ranges) })
}

// latest joins overrides and keeps the last of each key, without those that a sweep
// has to itself.
func latest(sets ...[]string) []string {
	all := slices.Concat(sets...)
	var out []string
	for i, set := range all {
		if !named(set, all[i+1:]) && !named(set, []string{"eval.every=", "train.seed="}) {
			out = append(out, set)
		}
	}
	return out
}

// named reports whether one of the overrides has the key of set.
func named(set string, among []string) bool {
	key, _, _ := strings.Cut(set, "=")
	return slices.ContainsFunc(among, func(s string) bool { return strings.HasPrefix(s, key+"=") })
}

// ChosenFile is what Tune writes in its folder; in this package's folder "chosen" it
// is NAME.json or NAME-SCALE.json.
const ChosenFile = "chosen.json"

// TuneSweep is the folder of Tune's sweep, in its own, and tunePlanFile that sweep's
// plan.
const (
	TuneSweep    = "sweep"
	tunePlanFile = "tune.yaml"
)

// Tune chooses the settings of every arm of e by the sweep of a plan, which the text of
// TunePlan gives, writes them to o.Dir as ChosenFile, and returns them with what the
// sweep came to. The folder must be empty or hold that sweep, which then goes on. If
// tell is not nil it hears of the trials.
func Tune(ctx context.Context, e *Experiment, o Options, p *sweep.Plan, text string, tell func(sweep.Event)) (
	*Chosen, *sweep.Outcome, error) {
	if err := checkTuned(o.Dir); err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(o.Dir, TuneSweep)
	out, err := sweep.Run(ctx, p, sweep.Options{Dir: dir, Jobs: o.Jobs, Tell: tell,
		Local: sweep.Local{Home: o.Home, Weights: o.Weights}})
	if err != nil {
		return nil, nil, err
	}
	if err := writeText(filepath.Join(o.Dir, tunePlanFile), text); err != nil {
		return nil, nil, err
	}
	c := newChosen(e, out, o.Set)
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
