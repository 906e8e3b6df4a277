// Package calibrations finds the calibration of a network, an index or a file of embeddings, and checks
// whether it applies to given distances.
package calibrations

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/run"
)

// Distances describes the source of distances, and the place of their calibration.
type Distances struct {
	File     string // file of the calibration; "" without a place
	From     string // run, index or file that it is made from
	Source   embedding.Network
	Distance string
	Dim      int
	Gallery  func() (decide.Gallery, error)
	// Earlier returns the Source as earlier versions recorded it in calibrations; nil if it cannot be computed.
	Earlier func() (embedding.Network, error)
	// Notes gets a line about a calibration or a source whose network is unknown; nil prints nothing.
	Notes io.Writer
}

// FromTable returns the Of of a file of embeddings, whose calibration is beside it.
func FromTable(t *embedding.Table, path string) *Distances {
	return &Distances{File: Path(path, false), From: path, Source: t.Network}
}

// Path returns the path of a calibration: in the folder of a run or an index, or
// beside a file.
func Path(path string, folder bool) string {
	if folder {
		return filepath.Join(path, decide.FileName)
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + "." + decide.FileName
}

// FromIndex returns the Of of an open index in a folder.
func FromIndex(x *index.Index, dir string) (*Distances, error) {
	of := &Distances{File: Path(dir, true), From: dir, Dim: x.Info().Dim}
	if have := x.Info().Network; have.IsFileDigest() {
		of.Earlier = func() (embedding.Network, error) { return have.Network, nil }
	}
	var err error
	of.Source, err = provenance.IndexNetwork(x)
	return of, err
}

// FromNetwork returns the Of of a network: that of a run in dir, or the file or folder network. A network
// by name has no calibration.
func FromNetwork(m *run.Model, dir, network string) (*Distances, error) {
	path := cmp.Or(dir, network)
	of := &Distances{Dim: m.Net.Spec().OutDim(), From: path}
	name := dir
	if st, err := os.Stat(path); err == nil {
		folder := st.IsDir()
		if !folder {
			name = filepath.Base(path)
		}
		of.File = Path(path, folder)
		of.Earlier = func() (embedding.Network, error) { return provenance.IdentityByFiles(m, path, folder, name) }
	} else if dir != "" {
		return nil, err
	}
	var err error
	of.Source, err = m.Identity(cmp.Or(name, path))
	return of, err
}

// SourceFor returns the source of the distances in the form in which a calibration, read from a file, records its own.
// It prints a note if one of them is unknown.
func (of *Distances) SourceFor(c *decide.Calibration, file string) (embedding.Network, error) {
	source := of.Source
	if c.Source.IsFileDigest() && of.Earlier != nil {
		var err error
		if source, err = of.Earlier(); err != nil {
			return source, err
		}
	}
	if of.Notes == nil || source.Differs(c.Source) {
		return source, nil
	}
	return source, provenance.CheckSameNetwork(provenance.EmbeddingSource{Name: file, Network: c.Source},
		provenance.EmbeddingSource{Name: cmp.Or(of.From, "the photos"), Network: source}, false, of.Notes)
}

// CheckContent returns an error if the calibration beside a file of embeddings was learned from another content of the
// file, unless the fingerprints say that the same network made both.
func (of *Distances) CheckContent(c *decide.Calibration) error {
	if c.Content == "" || c.Source.IsSame(of.Source) || c.Source.Differs(of.Source) { // Fits refuses another network
		return nil
	}
	sum, err := fileinfo.Digest(of.From)
	if err != nil || sum == c.Content {
		return err
	}
	return fmt.Errorf("%s was learned from another content of %s, and nothing says that the same network made both: "+
		"make it again with kindred calibrate %s, or name the calibration to use", of.File, of.From, of.From)
}

// checkFit returns an *UnfitError if the calibration in a file does not apply to the distances.
func (of *Distances) checkFit(c *decide.Calibration, file string) error {
	source, err := of.SourceFor(c, file)
	if err != nil {
		return err
	}
	if err := c.CheckNetwork(source, of.Distance, of.Dim); err != nil {
		return &UnfitError{file, err}
	}
	return nil
}

// Load reads a calibration. If the file is missing, the error is a *MissingError, which says how to make it from
// of.
func Load(file, of string) (*decide.Calibration, error) {
	c, err := decide.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{fmt.Sprintf("%s does not exist: make it with kindred calibrate "+
			"%s", file, cmp.Or(of, "RUN"))}
	}
	return c, err
}

// MissingError is the error for a missing calibration. It says how to make it, and wraps fs.ErrNotExist.
type MissingError struct{ text string }

func (e *MissingError) Error() string { return e.text }

// Unwrap returns fs.ErrNotExist.
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// UnfitError is the error for a calibration that does not apply to the distances.
type UnfitError struct {
	File string
	Err  error
}

func (e *UnfitError) Error() string { return e.File + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *UnfitError) Unwrap() error { return e.Err }

// ForGallery reads the calibration in a file and returns it for the gallery. The given share of the
// queries is expected to be unknown. A calibration for other distances is an *UnfitError.
func (of *Distances) ForGallery(file string, strangers float64) (*decide.GalleryRates, error) {
	c, err := Load(file, of.From)
	if err != nil {
		return nil, err
	}
	if err := of.checkFit(c, file); err != nil {
		return nil, err
	}
	g, err := of.Gallery()
	if err != nil {
		return nil, err
	}
	return c.GalleryRates(g, strangers)
}

// CopyTo copies the calibration to a file, as the calibration of the source as, and returns it. It returns nil if
// there is no calibration or it is for another distance. A calibration for another network is not copied and is an
// *UnfitError.
func (of *Distances) CopyTo(to string, as embedding.Network) (*decide.Calibration, error) {
	if of.File == "" {
		return nil, nil
	}
	c, err := decide.Load(of.File)
	if errors.Is(err, fs.ErrNotExist) || err == nil && of.Distance != "" && c.Distance.String() != of.Distance {
		return nil, nil // it does not apply to another distance
	}
	if err != nil {
		return nil, err
	}
	if err := of.checkFit(c, of.File); err != nil {
		return nil, err
	}
	c.Source = as
	return c, c.Save(to)
}
