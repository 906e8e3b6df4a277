package paper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/run"
)

// Settled is what a run chose by itself.
type Settled struct {
	Size      int    `json:"size"`   // side of the images in pixels
	Epochs    int    `json:"epochs"` // number of trained epochs
	Kept      int    `json:"kept"`   // epoch whose network the run kept; 0: the untrained one
	Positives string `json:"positives,omitempty"`
	// Seconds are the wall-clock seconds of training and scoring. In the table of recipes they end
	// when the kept network is known.
	Seconds float64 `json:"seconds"`
	Steps   int     `json:"steps,omitempty"`
	Peer    string  `json:"peer,omitempty"` // the versions of another toolkit that trained
}

// chosenByRun returns what a run of a row of the named table chose.
func chosenByRun(table string, res *run.Result) *Settled {
	s := &Settled{Size: res.Config.Data.Size, Kept: res.Epoch, Seconds: res.Duration.Seconds()}
	if res.LastEpoch().Epoch > 0 { // something was trained
		s.Epochs = len(res.History)
		s.Positives, _ = res.Config.Mine["positives"].(string)
	}
	if table == RecipesTable {
		for i := range res.History {
			s.Steps += res.History[i].Steps
		}
		if res.Net == nil { // trained elsewhere
			s.Peer = strings.Join(res.Notes, "; ")
		}
	}
	return s
}

// findSimilarRun returns the finished run of the arm a.Alike if it chose by itself the positives that cfg
// sets; else nil. cfg is the configuration of a with the given plan. Both would train alike, to the
// bit.
func (e *Experiment) findSimilarRun(a *Arm, cfg *run.Config, plan string, o Options) (*Run, error) {
	k := e.arm(a.Alike)
	if k < 0 {
		return nil, nil
	}
	other := &e.Arms[k]
	seed := cfg.Train.Seed
	r, err := readRun(filepath.Join(o.Dir, RunFolder(other.Name, seed), resultFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	wanted, err := e.config(other, seed, o.settings(other))
	if err != nil {
		return nil, err
	}
	if !samePlan([]byte(r.Plan), other.planText(&wanted)) || r.Settled == nil || r.Settled.Positives == "" ||
		r.Settled.Positives != cfg.Mine["positives"] {
		return nil, nil
	}
	r.Arm, r.Folder, r.Plan, r.Duration = a.Name, RunFolder(a.Name, seed), plan, 0
	dir := filepath.Join(o.Dir, r.Folder)
	if err := checkVacant(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return r, writeText(filepath.Join(dir, planFile), plan)
}
