package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/collection/calibrations"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
)

// UseCalibration sets Options.Same to the probabilities that neighbours show the same thing, by the
// calibration in a file, or that of the gallery if file is "". strangers is the expected share of queries
// whose class is not in the gallery. It returns the file. Without a calibration it changes nothing, which is
// an error if wanted names a setting that needs one. A calibration for other distances is left out with a
// remark, or is an error if it is wanted.
func (s *Source) UseCalibration(ctx context.Context, g Gallery, opt *Options, file string, strangers float64,
	wanted string) (
	string, error) {
	in, err := g.Info(ctx)
	if err != nil {
		return "", err
	}
	of := s.Calibration
	of.Distance, of.Dim = in.Distance.String(), in.Dim
	of.Gallery = func() (decide.Gallery, error) { return g.Labels(ctx) }
	if file = cmp.Or(file, of.File); file == "" {
		if wanted != "" {
			return "", &option.InapplicableError{Setting: wanted, Needs: []string{"calibration"},
				Reason: "distances get " +
					"their meaning from it; kindred calibrate makes one for a run, an index or embeddings"}
		}
		return "", nil
	}
	opt.Same, err = of.ForGallery(file, strangers)
	var missing *calibrations.MissingError
	var unfit *calibrations.UnfitError
	switch {
	case err == nil:
		return file, nil
	case wanted != "":
		return "", err
	case errors.As(err, &missing):
		return "", nil
	case errors.As(err, &unfit):
		fmt.Fprintf(s.host.Notes(), "%s does not apply to these distances: %s\n", escape.Name(file),
			escape.Text(unfit.Err.Error()))
		return "", nil
	}
	return "", err
}

// LoadCalibration reads the calibration in a file, or that of the gallery if file is "". It returns it with its file.
func (s *Source) LoadCalibration(file string) (*decide.Calibration, string, error) {
	of := s.Calibration
	if of.File == "" && s.Embeddings != "" {
		of.File, of.From = calibrations.Path(s.Embeddings, false), s.Embeddings
	}
	path := cmp.Or(file, of.File)
	if path == "" {
		return nil, "", &option.MissingError{Setting: "calibration", Reason: "kindred calibrate makes one"}
	}
	says, err := calibrations.Load(path, of.From)
	switch missing := (*calibrations.MissingError)(nil); {
	case file != "":
		err = fileinfo.WithHint(err, path, "a file of a calibration, as kindred calibrate writes it")
	case s.Index != "" && errors.As(err, &missing):
		err = fmt.Errorf("%w; for an index of photos that a run was trained on, --calibration names the file of "+
			"the run (RUN/%s)", err, decide.FileName)
	}
	return says, path, err
}

// NewIdentifier returns the Identifier of queries in the gallery, by the calibration that LoadCalibration
// returned for a file. set has the embeddings of the queries.
func (s *Source) NewIdentifier(ctx context.Context, set *Set, queries []Query, says *decide.Calibration,
	file, path string) (*Identifier, error) {
	g, err := s.Gallery(ctx, says.Distance, true)
	if err != nil {
		return nil, err
	}
	of, all := s.Calibration, s.Party(cmp.Or(s.Index, s.In))
	if t, ok := g.(*Table); ok && s.Embeddings != "" {
		all = provenance.SourceOfTable(t.Table, s.Embeddings)
		if s.model == nil { // nothing else names the network
			of.Source = all.Network
		}
	}
	if s.Vector != "" {
		if err := s.CheckVectors(set.Table, all); err != nil {
			return nil, err
		}
	}
	if file == "" && of.From == s.Embeddings {
		if err := of.CheckContent(says); err != nil {
			return nil, fmt.Errorf("%w with --calibration", err)
		}
	}
	source, err := of.SourceFor(says, path)
	return &Identifier{Queries: queries, Gallery: g, Says: says, File: path, Source: source}, err
}
