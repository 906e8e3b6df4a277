// Package calibrations finds the calibration of a network, an index or a file of embeddings, and tells
// whether it says something of the distances at hand.
package calibrations

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/app/cli/origin"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/run"
)

// Of says what distances are of, and where their calibration would be.
type Of struct {
	File     string // "" if nowhere
	From     string // what it is made from
	Source   decide.Source
	Distance string
	Dim      int
	Gallery  func() (decide.Gallery, error)
}

// File is where the calibration of what is at a path lies: in the folder of a run or an index, or
// beside a file.
func File(path string, folder bool) string {
	if folder {
		return filepath.Join(path, decide.FileName)
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + "." + decide.FileName
}

// OfNetwork is what the distances of a network are of: that of a run, or a network that is the file
// or in the folder called network. A network by name has no calibration.
func OfNetwork(m *run.Model, dir, network string) (*Of, error) {
	of := &Of{Dim: m.Net.Spec().OutDim(), From: cmp.Or(dir, network)}
	var err error
	if dir != "" {
		of.File = File(dir, true)
		of.Source, err = origin.OfFolder(m, dir, dir)
		return of, err
	}
	st, missing := os.Stat(network)
	switch {
	case missing != nil:
	case st.IsDir():
		of.File = File(network, true)
		of.Source, err = origin.OfFolder(m, network, network)
	default:
		of.File = File(network, false)
		of.Source, err = origin.Of(m, filepath.Base(network), network)
	}
	return of, err
}

// Load reads a calibration. If the file is missing, the error is a *MissingError: it says how to make one from
// what of names.
func Load(file, of string) (*decide.Calibration, error) {
	c, err := decide.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{fmt.Sprintf("there is no %s: kindred calibrate %s makes it", file, cmp.Or(of, "RUN"))}
	}
	return c, err
}

// MissingError is that there is no calibration. It says how to make it, and wraps fs.ErrNotExist.
type MissingError struct{ text string }

func (e *MissingError) Error() string { return e.text }

// Unwrap returns fs.ErrNotExist.
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// UnfitError is that a calibration says nothing of the distances.
type UnfitError struct {
	File string
	Err  error
}

func (e *UnfitError) Error() string { return e.File + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *UnfitError) Unwrap() error { return e.Err }

// Among reads the calibration in a file and returns it for the gallery. The given share of the
// queries is expected to be strangers. A calibration for other distances is an *UnfitError.
func (of *Of) Among(file string, strangers float64) (*decide.Among, error) {
	c, err := Load(file, of.From)
	if err != nil {
		return nil, err
	}
	if err := c.Fits(of.Source, of.Distance, of.Dim); err != nil {
		return nil, &UnfitError{file, err}
	}
	g, err := of.Gallery()
	if err != nil {
		return nil, err
	}
	return c.Among(g, strangers)
}

// Carry puts the calibration, if there is one for the distance, where what is made with the network
// looks for it, as that of another source, and returns it; nil without a calibration. One for another
// network stays behind, with an *UnfitError.
func (of *Of) Carry(to string, as decide.Source) (*decide.Calibration, error) {
	if of.File == "" {
		return nil, nil
	}
	c, err := decide.Load(of.File)
	if errors.Is(err, fs.ErrNotExist) || err == nil && of.Distance != "" && c.Distance.String() != of.Distance {
		return nil, nil // of another distance it says nothing
	}
	if err != nil {
		return nil, err
	}
	if err := c.Fits(of.Source, of.Distance, of.Dim); err != nil {
		return nil, &UnfitError{of.File, err}
	}
	c.Source = as
	return c, c.Save(to)
}
