package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/app/calibrations"
	"github.com/kindred-ml/kindred/app/lookup"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/escape"
)

// sameFlags control the probabilities that neighbours show the same thing.
type sameFlags struct {
	least, strangers float64
	calibration      string
	given            func(flag string) bool
}

func (f *sameFlags) add(cmd *cobra.Command) {
	fs := flagsOf(cmd)
	f.given = fs.Changed
	fs.Float64Var(&f.least, "least", 0,
		"show only neighbours that are the same thing with at least this probability, by the calibration")
	fs.Float64Var(&f.strangers, "strangers", 0.5,
		"expected share of queries whose class is not in the gallery; probabilities depend on it")
	fs.text(&f.calibration, "calibration", "",
		"file of the calibration; default: in the folder of the index or the run, or beside the network", anyFile)
}

func (f *sameFlags) check() error {
	if !(f.least >= 0 && f.least <= 1) {
		return usagef("--least %g: want a probability, 0 to 1", f.least)
	}
	if !(f.strangers > 0 && f.strangers < 1) {
		return usagef("--strangers %g: want a share between 0 and 1", f.strangers)
	}
	return nil
}

// among reads the calibration of a gallery and returns it with its file. It returns nil if the calibration is missing
// and no flag needs it. A calibration for other distances that no flag named is left out with a remark.
func (f *sameFlags) among(ctx context.Context, a *app, of *calibrations.Of, g lookup.Gallery, in *lookup.Info) (
	*decide.Among, string, error) {
	of.Distance, of.Dim = in.Distance.String(), in.Dim
	of.Gallery = func() (decide.Gallery, error) { return g.Labels(ctx) }
	file := cmp.Or(f.calibration, of.File)
	asked := f.least > 0 || f.calibration != "" || f.given("strangers")
	if file == "" {
		if asked {
			return nil, "", usagef("--least and --strangers need a calibration, which gives distances their meaning: " +
				"kindred calibrate makes one for a run, an index or embeddings, and --calibration names its file")
		}
		return nil, "", nil
	}
	among, err := of.Among(file, f.strangers)
	var missing *calibrations.MissingError
	var unfit *calibrations.UnfitError
	switch {
	case err == nil:
		return among, file, nil
	case asked:
		return nil, "", err
	case errors.As(err, &missing):
		return nil, "", nil
	case errors.As(err, &unfit):
		fmt.Fprintf(a.err, "%s does not apply to these distances: %s\n", escape.Name(file),
			escape.Text(unfit.Err.Error()))
		return nil, "", nil
	}
	return nil, "", err
}
