package runs

import (
	"errors"
	"io/fs"
	"math"

	"github.com/kindred-ml/kindred/run"
)

// Run is a training run, read from its folder.
type Run struct {
	*run.Folder
	// Config holds the resolved settings in the file's order.
	Config []run.Setting
	// Table has the numbers of every epoch.
	*run.EpochTable
	// Seconds is the time that the run took; NaN if unknown.
	Seconds float64

	kept outcome
}

// Load reads a run's folder. It needs the configuration and the table of the epochs;
// times may be missing.
func Load(dir string) (*Run, error) {
	f, err := run.Open(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Folder: f, Seconds: math.NaN()}
	if r.Config, err = f.Settings(); err != nil {
		return nil, err
	}
	if r.EpochTable, err = f.History(); err != nil {
		return nil, err
	}
	r.kept = readOutcome(r)
	times, err := f.Timing()
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	} else if err != nil {
		return nil, err
	}
	total := 0.0
	for _, c := range []string{"seconds", "train_seconds", "eval_seconds"} {
		for _, v := range times.Values[c] {
			if !math.IsNaN(v) {
				total += v
			}
		}
	}
	if total > 0 {
		r.Seconds = total
	}
	return r, nil
}
