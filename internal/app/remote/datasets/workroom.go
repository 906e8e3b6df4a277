package datasets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/kindred-ml/kindred/internal/base/lock"
)

// A workroom is a temporary folder in the data folder, with a file beside it that
// its process holds the lock of: .kindred-fetch-1234 and .kindred-fetch-1234.lock.
// The lock ends with the process, however that ends.
type tempFolder struct {
	dir  string
	held *os.File
}

const (
	tempPrefix = ".kindred-fetch-"
	lockSuffix = ".lock"
)

// newTempFolder makes an empty folder in home.
func newTempFolder(home string) (*tempFolder, error) {
	for {
		f, err := os.CreateTemp(home, tempPrefix+"*"+lockSuffix)
		if err != nil {
			return nil, err
		}
		w := &tempFolder{f.Name()[:len(f.Name())-len(lockSuffix)], f}
		switch ok, err := lock.File(f); {
		case errors.Is(err, errors.ErrUnsupported): // then nobody removes it
		case err != nil:
			w.remove()
			return nil, err
		case !ok || !isAt(f, f.Name()): // sweep was quicker
			f.Close()
			continue
		}
		if err := os.Mkdir(w.dir, 0o777); err != nil {
			w.remove()
			return nil, err
		}
		return w, nil
	}
}

// remove removes the folder, and its lock last.
func (w *tempFolder) remove() {
	os.RemoveAll(w.dir)
	if runtime.GOOS == "windows" { // which removes no open file
		w.held.Close()
	}
	os.Remove(w.held.Name())
	w.held.Close()
}

// removeAbandoned removes the workrooms in the data folder whose processes were killed, and
// none of a living one.
func (g *Getter) removeAbandoned() error {
	locks, err := filepath.Glob(filepath.Join(g.Home, tempPrefix+"*"+lockSuffix))
	if err != nil {
		return err
	}
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // it ended just now, or is another user's
		} else if err != nil {
			return err
		}
		if ok, err := lock.File(f); err != nil || !ok || !isAt(f, path) {
			f.Close()
			continue
		}
		(&tempFolder{path[:len(path)-len(lockSuffix)], f}).remove()
	}
	return nil
}

// isAt tells whether the open file f is still the one at path.
func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, now)
}
