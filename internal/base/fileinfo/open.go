// Package fileinfo opens regular files for reading. Opening a named pipe blocks
// until somebody writes to it, and a device may never end: given as input, or
// named in a list, these are immediate errors.
package fileinfo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// NotRegularError says that a path is not a regular file.
type NotRegularError struct {
	Path string
	Mode fs.FileMode
}

func (e *NotRegularError) Error() string {
	return fmt.Sprintf("%s: %s, not a regular file", e.Path, KindOf(e.Mode))
}

// NotFoundError says that there is nothing at a path. It wraps fs.ErrNotExist.
type NotFoundError struct {
	Path string
	Want string // what to give instead; "" if the caller says it
}

func (e *NotFoundError) Error() string {
	text := e.Path + ": no such file or folder"
	if e.Want != "" {
		text += ": give " + e.Want
	}
	return text
}

// Unwrap makes errors.Is(err, fs.ErrNotExist) true.
func (e *NotFoundError) Unwrap() error { return fs.ErrNotExist }

// WithHint adds to the error of a path with nothing there what to give instead. Other errors stay as they are.
func WithHint(err error, path, want string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &NotFoundError{path, want}
	}
	return err
}

// KindOf says in words what a file of that mode is: "a named pipe", "a folder"...
func KindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a regular file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

// Open opens the regular file at path for reading; symbolic links are followed.
// The error is an *Error if the path is something else.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, WithHint(err, path, "")
	}
	if !info.Mode().IsRegular() {
		return nil, &NotRegularError{path, info.Mode()}
	}
	// The file may be replaced in between. So opening does not wait, and the
	// open file is checked again.
	return openRegular(path, func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|noWait, 0) })
}

// OpenSized is Open, with the size of the file.
func OpenSized(path string) (*os.File, int64, error) { return WithSize(Open(path)) }

// WithSize adds the size to a file that was opened, or not.
func WithSize(f *os.File, err error) (*os.File, int64, error) {
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// ReadFile reads the regular file at path, which must be no larger than the limit
// of package budget.
func ReadFile(path string) ([]byte, error) {
	f, size, err := OpenSized(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := budget.Check(path, size); err != nil {
		return nil, err
	}
	b := make([]byte, size)
	n, err := io.ReadFull(f, b)
	return b[:n], err
}

// ReadAtMost reads the regular file at path, which is to have at most so many bytes: see
// budget.ReadAtMost. Errors name the path.
func ReadAtMost(path, what string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := budget.ReadAtMost(what, f, most)
	if large := (*budget.TooLargeError)(nil); errors.As(err, &large) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, err
}

// OpenIn is Open for a file in a folder; symbolic links that lead out of the
// folder are errors.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &NotRegularError{name, info.Mode()}
	}
	return openRegular(name, func() (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|noWait, 0) })
}

// openRegular opens a file and returns it if it is a regular one.
func openRegular(path string, open func() (*os.File, error)) (*os.File, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &NotRegularError{path, info.Mode()}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
