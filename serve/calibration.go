package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
)

// CalibrationFile follows the file of a calibration: the server uses what kindred calibrate writes there
// within a second. The file may be missing at first. Removing it removes the calibration.
type CalibrationFile struct {
	*watchedFiles[*decide.Calibration]
}

// maxCalibration bounds a file of a calibration, which is read each second.
const maxCalibration = 32 << 20

// CalibrationMismatchError is the error for a calibration for other distances than those of a collection.
type CalibrationMismatchError struct {
	File string
	Err  error
}

func (e *CalibrationMismatchError) Error() string {
	return fmt.Sprintf("%s: %v, or remove the file", e.File, e.Err)
}

// Unwrap returns the reason.
func (e *CalibrationMismatchError) Unwrap() error { return e.Err }

// OpenCalibration reads the calibration for vectors of dim numbers that are compared by a distance. of returns the
// network that made them, in the form in which the calibration records its own. A calibration for other distances is
// an *CalibrationMismatchError, which comes with a CalibrationFile that has no calibration until the file is
// replaced. If such a calibration is written later, the error is logged and the earlier calibration stays in use.
func OpenCalibration(path string, of func(*decide.Calibration) (embedding.Network, error), distance string, dim int) (
	*CalibrationFile, error) {
	f := &CalibrationFile{&watchedFiles[*decide.Calibration]{paths: []string{path}, maxBytes: maxCalibration}}
	f.load = func(files []fileContent) (*decide.Calibration, error) {
		switch err := files[0].err; {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		}
		c, err := decide.Read(bytes.NewReader(files[0].text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		source, err := of(c)
		if err != nil {
			return nil, err
		}
		if err := c.CheckNetwork(source, distance, dim); err != nil {
			return nil, &CalibrationMismatchError{path, err}
		}
		return c, nil
	}
	err := f.open()
	if unfit := (*CalibrationMismatchError)(nil); err != nil && !errors.As(err, &unfit) {
		return nil, err
	}
	return f, err
}

// calibration returns the current calibration; nil without one.
func (c *Collection) calibration() *decide.Calibration {
	if c.CalibrationFile != nil {
		return c.CalibrationFile.get()
	}
	return c.Calibration
}
