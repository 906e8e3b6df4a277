// Package lock gives a folder to one process at a time.
//
// The lock is the operating system's lock on an open file, not the file's
// presence: it ends when its process dies, even by SIGKILL or with the machine. On
// file systems without locks (some network mounts) a Held keeps nobody out.
package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// FileName is the file in a folder whose lock is the folder's. It holds a Holder
// as JSON, and is there only while the folder is held or after its holder was
// killed.
const FileName = ".kindred.lock"

// Holder says which process has locked a folder.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Command []string  `json:"command"`
}

// HeldError is the error of a folder that another process has locked.
type HeldError struct {
	Dir string
	// Holder is nil if it could not be read.
	Holder *Holder
}

// ErrHeld is what errors.Is finds in a HeldError, for programs that cannot name its type.
var ErrHeld = errors.New("in use by another process")

// Is reports whether the target is ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

func (e *HeldError) Error() string {
	if e.Holder == nil {
		return fmt.Sprintf("%s is in use by another process", e.Dir)
	}
	h := e.Holder
	return fmt.Sprintf("%s is in use by process %d on %s since %s: %s",
		e.Dir, h.PID, h.Host, h.Since.Format(time.DateTime), strings.Join(h.Command, " "))
}

// Held is a folder that this process has locked.
type Held struct{ f *os.File }

// Folder locks an existing folder, without waiting. The error is a *HeldError if
// another process, or another caller in this process, has locked it.
func Folder(dir string) (*Held, error) { return lockFile(dir, FileName) }

// lockFile locks the file of a folder with a name.
func lockFile(dir, name string) (*Held, error) {
	path := filepath.Join(dir, name)
	for {
		// Behind a link somebody else's file would be written.
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file, as the lock of a folder is: remove it", path)
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o666)
		if err != nil {
			return nil, err
		}
		ok, err := File(f)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			f.Close()
			return nil, err
		}
		if err == nil && !ok {
			defer f.Close()
			return nil, &HeldError{Dir: dir, Holder: readHolder(f)}
		}
		// The one who had it may have removed the file before this lock was taken.
		if !isFile(f, path) {
			f.Close()
			continue
		}
		h := &Held{f}
		if err := h.writeHolder(); err != nil {
			return nil, errors.Join(err, h.Release())
		}
		return h, nil
	}
}

// isFile reports whether the file at path is still f.
func isFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

// writeHolder writes who holds the folder.
func (h *Held) writeHolder() error {
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	text, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Since: time.Now().Round(time.Second),
		Command: os.Args})
	if err != nil {
		return err
	}
	if err := h.f.Truncate(0); err != nil {
		return err
	}
	_, err = h.f.WriteAt(append(text, '\n'), 0)
	return err
}

// readHolder reads what sign wrote, or returns nil if that is not complete (yet).
func readHolder(f *os.File) *Holder {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	if err != nil {
		return nil
	}
	var h Holder
	if json.Unmarshal(text, &h) != nil || h.PID == 0 {
		return nil
	}
	return &h
}

// Release unlocks the folder; a second call does nothing.
func (h *Held) Release() error {
	if h.f == nil {
		return nil
	}
	f := h.f
	h.f = nil
	return removeAndClose(f)
}
