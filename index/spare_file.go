package index

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// The file SPARE has no meaning. It reserves room for removals when the disk is full, so
// that items can be removed at all. It is made when an index is opened for writing, and
// again at the next start or with the next segment after it was used, if there is room.
const spareFile = "SPARE"

// ensureSpare makes the file, unless a complete one exists. It ignores errors.
func (w *writer) ensureSpare() {
	size := w.x.sizes.spareBytes
	path := filepath.Join(w.x.dir, spareFile)
	if st, err := os.Lstat(path); size == 0 || err == nil && st.Size() == int64(size) {
		return
	}
	if err := w.writeSpare(path, size); err != nil {
		_ = w.x.files.Remove(path)
	}
}

// writeSpare writes random bytes, which no file system can compress.
func (w *writer) writeSpare(path string, size int) error {
	if err := w.x.files.Remove(path); err != nil {
		return err
	}
	f, err := w.x.files.Create(path)
	if err != nil {
		return err
	}
	b, noise := make([]byte, size), rand.NewChaCha8([32]byte{})
	_, _ = noise.Read(b) // never an error
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// removeSpare frees the reserved room, and reports whether there was any.
func (w *writer) removeSpare() bool {
	path := filepath.Join(w.x.dir, spareFile)
	_, err := os.Lstat(path)
	return err == nil && w.x.files.Remove(path) == nil
}

// isDiskFull reports whether an error means that the disk is full or a quota is used up.
func isDiskFull(err error) bool {
	const errorDiskFull = syscall.Errno(112) // of Windows
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		runtime.GOOS == "windows" && errors.Is(err, errorDiskFull)
}
