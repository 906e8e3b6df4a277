package run

import (
	"errors"
	"fmt"
	"io/fs"
)

// Ended returns the epoch whose network the run ended with: its last or, with train.best, the best; 0 is the network
// before training. The checkpoint says it, so the error of a folder without one wraps fs.ErrNotExist.
func (f *Folder) Ended() (epoch int, err error) {
	c, err := f.Checkpoint()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, missing("%s holds no checkpoint, which says the epoch that the run ended with", f.dir)
	}
	if err != nil {
		return 0, fmt.Errorf("the epoch that the run ended with: %w", err)
	}
	switch {
	case c.Returned:
		return 0, nil
	case c.Best != nil:
		return c.Best.Epoch, nil
	}
	return c.Epoch, nil
}
