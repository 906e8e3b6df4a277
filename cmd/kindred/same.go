package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/app/cli/calibrations"
	"github.com/kindred-ml/kindred/app/gallery"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/escape"
)

// sameFlags say how a search tells how likely a neighbour shows the same thing.
type sameFlags struct {
	least, strangers float64
	calibration      string
	given            func(flag string) bool
}

func (f *sameFlags) add(cmd *cobra.Command) {
	fs := flagsOf(cmd)
	f.given = fs.Changed
	fs.Float64Var(&f.least, "least", 0,
		"show only what is the same thing with this probability or more, by the calibration (kindred calibrate)")
	fs.Float64Var(&f.strangers, "strangers", 0.5,
		"share of what is looked up that is expected to be of no class of the gallery; probabilities depend on it")
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

// among reads the calibration of a gallery and returns it with its file; nil if it is missing and
// nothing was asked of it. One that is found by itself and is for other distances is
// left out, and said to be.
func (f *sameFlags) among(ctx context.Context, a *app, of *calibrations.Of, g gallery.Gallery, in *gallery.Info) (
	*decide.Among, string, error) {
	of.Distance, of.Dim = in.Distance.String(), in.Dim
	of.Gallery = func() (decide.Gallery, error) { return g.Labels(ctx) }
	file := cmp.Or(f.calibration, of.File)
	asked := f.least > 0 || f.calibration != "" || f.given("strangers")
	if file == "" {
		if asked {
			return nil, "", usagef("--least and --strangers take a calibration, which says what distances mean: " +
				"kindred calibrate makes one of a run, an index or embeddings, and --calibration names its file")
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
		fmt.Fprintf(a.err, "%s says nothing of these distances: %s\n", escape.Name(file),
			escape.Text(unfit.Err.Error()))
		return nil, "", nil
	}
	return nil, "", err
}
