package paper

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// joinKept adds to a row of a table of many sets the arms of an earlier result of the same row, kept
// in the folder of a page, that out lacks. So an arm that takes an hour is not repeated to add
// another one. Both results must have the same data, scale, settings and seeds, and equal values
// (to the bit) in the arms that both have; otherwise joined returns out. Other experiments are
// returned as they are.
func (out *Outcome) joinKept(folder string) (*Outcome, error) {
	if out.e.Stranger == nil {
		return out, nil
	}
	path := filepath.Join(folder, resultsFolder, out.Experiment+".json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	} else if err != nil {
		return nil, err
	}
	kept, err := parseOutcome(path, text)
	if err != nil {
		return nil, err
	}
	if !out.canJoin(kept) {
		return out, nil
	}
	arms, claims, took := slices.Clone(out.Arms), slices.Clone(out.Claims), out.Took
	for _, a := range kept.Arms {
		if out.e.arm(a.Name) < 0 {
			arms = append(arms, a)
			for _, s := range a.Settled {
				took += s.Seconds
			}
		}
	}
	for _, c := range kept.Claims {
		if !slices.ContainsFunc(claims, func(have CheckedClaim) bool { return have.Text == c.Text }) {
			claims = append(claims, c)
		}
	}
	more, err := out.withArms(path, arms, claims)
	if err == nil {
		more.Took = took
	}
	return more, err
}

// canJoin reports whether out can be joined with an earlier result of the same experiment: both
// have at least one arm in common, and all common arms have equal values.
func (out *Outcome) canJoin(kept *Outcome) bool {
	if out.Data != kept.Data || out.Minutes != kept.Minutes || out.Scale != kept.Scale || out.Fast != kept.Fast ||
		!slices.Equal(out.Set, kept.Set) || !slices.Equal(out.Seeds, kept.Seeds) {
		return false
	}
	shared := false
	for i, a := range out.Arms {
		k := kept.e.arm(a.Name)
		if k < 0 {
			continue
		}
		shared = true
		for m := range a.Measures {
			if !slices.Equal(out.Arms[i].Measures[m].Values, kept.Arms[k].Measures[m].Values) {
				return false
			}
		}
	}
	return shared
}

// addSubstituteArms adds to a row the arms that would have trained as the default did in every seed: those
// that set the positives that it chose by itself (Arm.Alike).
func (out *Outcome) addSubstituteArms() (*Outcome, error) {
	k := out.e.arm(defaultArm)
	if out.e.Stranger == nil || k < 0 {
		return out, nil
	}
	arms := slices.Clone(out.Arms)
	for _, a := range Find(out.Experiment).Arms {
		if a.Alike != defaultArm || out.e.arm(a.Name) >= 0 || len(out.Arms[k].Settled) < len(out.Seeds) {
			continue
		}
		other := slices.ContainsFunc(out.Arms[k].Settled, func(s Settled) bool {
			return s.Positives == "" || !slices.Contains(a.Set, "mine.positives="+s.Positives)
		})
		if !other {
			same := out.Arms[k]
			same.Name = a.Name
			arms = append(arms, same)
		}
	}
	if len(arms) == len(out.Arms) {
		return out, nil
	}
	return out.withArms(resultsFolder, arms, out.Claims)
}

// withArms returns out with other arms and the claims about them, in the order of the experiment;
// path is for messages.
func (out *Outcome) withArms(path string, arms []ArmOutcome, claims []CheckedClaim) (*Outcome, error) {
	whole := Find(out.Experiment)
	slices.SortFunc(arms, func(a, b ArmOutcome) int { return whole.arm(a.Name) - whole.arm(b.Name) })
	slices.SortFunc(claims, func(a, b CheckedClaim) int { return whole.claim(a.Text) - whole.claim(b.Text) })
	more := *out
	more.Arms, more.Claims = arms, claims
	text, err := json.Marshal(&more)
	if err != nil {
		return nil, err
	}
	read, err := parseOutcome(path, text)
	if err != nil {
		return nil, err
	}
	read.o = out.o
	return read, nil
}

// claim returns the position of a claim in the experiment.
func (e *Experiment) claim(text string) int {
	return slices.IndexFunc(e.Claims, func(c Claim) bool { return c.Text == text })
}
