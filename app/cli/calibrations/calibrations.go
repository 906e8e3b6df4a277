// Package calibrations finds the calibration of a network, an index or a file of embeddings, and checks
// whether it applies to given distances.
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
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/run"
)

// Of describes the source of distances, and the place of their calibration.
type Of struct {
	File     string // file of the calibration; "" without a place
	From     string // run, index or file that it is made from
	Source   embedding.Network
	Distance string
	Dim      int
	Gallery  func() (decide.Gallery, error)
}

// File returns the path of a calibration: in the folder of a run or an index, or
// beside a file.
func File(path string, folder bool) string {
	if folder {
		return filepath.Join(path, decide.FileName)
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + "." + decide.FileName
}

// OfNetwork returns the Of of a network: that of a run in dir, or the file or folder network. A network
// by name has no calibration.
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

// Among reads the calibration in a file and returns it for the gallery. The given share of the
// queries is expected to be unknown. A calibration for other distances is an *UnfitError.
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

// Carry copies the calibration to a file, as the calibration of the source as, and returns it. It returns nil if
// there is no calibration or it is for another distance. A calibration for another network is not copied and is an
// *UnfitError.
func (of *Of) Carry(to string, as embedding.Network) (*decide.Calibration, error) {
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
	if err := c.Fits(of.Source, of.Distance, of.Dim); err != nil {
		return nil, &UnfitError{of.File, err}
	}
	c.Source = as
	return c, c.Save(to)
}
