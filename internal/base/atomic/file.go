// Package atomic replaces files so that a reader, or a crash, sees either the
// old content or the whole new one.
package atomic

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/kindred-ml/kindred/internal/base/lock"
)

// WriteFile writes a file; see Files.Write.
func WriteFile(path string, write func(io.Writer) error) error { return Files{}.Write(path, write) }

// Files writes files and folders. Programs use the zero value; tests set
// Fault and Trace.
type Files struct {
	// Fault, if set, is called before every change of the file system with the operation:
	// create, write, sync, rename, mkdir, remove. If it returns an error, the operation is not
	// made and fails with that error.
	Fault func(op, path string) error
	// Trace, if set, is called after every change of the file system, and in place of
	// every sync: Trace decides what is durable.
	Trace func(Step)
}

func (files Files) fault(op, path string) error {
	if files.Fault == nil {
		return nil
	}
	return files.Fault(op, path)
}

// Write calls write with a temporary file beside path, syncs it, renames it to
// path and syncs the folder. On any error (a full disk, say) the temporary file
// is removed and what was at path stays as it was.
//
// A new file has the permissions that the umask leaves of 0666; a replaced file keeps its
// permissions. If path is a symbolic link, the file that it names is replaced. A pipe, a
// device or another file that is not regular cannot be replaced and is written into.
func (files Files) Write(path string, write func(io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", path, err)
		}
	}()
	target, old, err := resolve(path)
	if err != nil {
		return err
	}
	perm := os.FileMode(0o666)
	if old != nil {
		if perm = old.Mode().Perm(); old.IsDir() {
			return &os.PathError{Op: "open", Path: target, Err: syscall.EISDIR}
		}
		if !old.Mode().IsRegular() {
			return files.overwrite(target, write)
		}
	}
	f, err := files.create(target, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			files.unlink(f.Name())
		}
	}()
	if old != nil {
		if err := f.Chmod(perm); err != nil { // the umask does not apply to it
			return err
		}
	}
	if err := write(files.writer(f)); err != nil {
		return err
	}
	if err := files.fault("sync", path); err != nil {
		return err
	}
	if err := files.sync(f); err != nil {
		return err
	}
	if err := files.fault("rename", path); err != nil {
		return err
	}
	// Its lock keeps Clean from the file until it has its name, but Windows
	// renames no open file.
	if runtime.GOOS == "windows" {
		if err := f.Close(); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Name(), target); err != nil {
		return err
	}
	files.trace(Step{Op: "rename", Path: f.Name(), To: target})
	f.Close() // synced: nothing is left that could fail
	return files.SyncFolder(filepath.Dir(target))
}

// Rename durably gives a complete, synced file in the same folder the name path, and
// replaces a file of that name.
func (files Files) Rename(from, path string) error {
	if err := files.fault("rename", path); err != nil {
		return err
	}
	if err := os.Rename(from, path); err != nil {
		return err
	}
	files.trace(Step{Op: "rename", Path: from, To: path})
	return files.SyncFolder(filepath.Dir(path))
}

// overwrite writes to the existing file, without replacing it.
func (files Files) overwrite(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(files.writer(f)), f.Close())
}

// resolve follows the symbolic links at path to the file that would be written. old
// describes the existing file, or is nil.
func resolve(path string) (target string, old os.FileInfo, err error) {
	for range 40 {
		old, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil, nil
		} else if err != nil || old.Mode()&fs.ModeSymlink == 0 {
			return path, old, err
		}
		// Links into /proc, such as /dev/stdout, may name files without a path.
		if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
			return path, st, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", nil, err
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", nil, err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", nil, &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

// Temporary files are called prefix, 16 hexadecimal digits, suffix.
const prefix, suffix = ".kindred-", ".tmp"

func isTemporary(name string) bool {
	digits := strings.TrimSuffix(strings.TrimPrefix(name, prefix), suffix)
	return len(name) == len(prefix)+16+len(suffix) && len(digits) == 16 &&
		strings.Trim(digits, "0123456789abcdef") == ""
}

func tempPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%s%016x%s", prefix, number, suffix))
}

// firstTempNumber returns the number of the temporary file that is tried first for the file at path. It is
// specific to this machine: files that its own processes left are found, and files of other
// machines in a shared folder, whose locks this one may not see, are not touched.
func firstTempNumber(path string) uint64 {
	host, err := os.Hostname()
	if err != nil {
		return rand.Uint64()
	}
	h := fnv.New64a()
	io.WriteString(h, host+"\n"+filepath.Base(path))
	return h.Sum64()
}

// create makes a temporary file, which Clean knows to be in use, for the file at path. It
// removes what a process that was killed while it wrote that file has left.
func (files Files) create(path string, perm os.FileMode) (*os.File, error) {
	dir := filepath.Dir(path)
	if err := files.fault("create", dir); err != nil {
		return nil, err
	}
	number := firstTempNumber(path)
	for try := 0; ; try++ {
		name := tempPath(dir, number)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, os.ErrExist) {
			if try > 0 || files.removeDead(name) != nil { // a file that cannot be removed stays
				number = rand.Uint64()
			}
			continue
		} else if err != nil {
			return nil, err
		}
		files.trace(Step{Op: "create", Path: name})
		in, err := claim(f)
		if in || errors.Is(err, errors.ErrUnsupported) { // without locks Clean removes nothing
			return f, nil
		}
		f.Close()
		if err != nil {
			files.unlink(name)
			return nil, err
		}
		// Clean was quicker.
	}
}

// claim locks a temporary file. False means that another process has it, or that
// it is no longer there. See lock.File for the errors.
func claim(f *os.File) (bool, error) {
	ok, err := lock.File(f)
	if err != nil || !ok {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, now), nil
}

// Clean removes the temporary files that killed processes left in the folders, but not
// those that a living process writes. Folders that do not exist are clean.
func Clean(dirs ...string) error { return Files{}.Clean(dirs...) }

// Clean is the function Clean, with Trace.
func (files Files) Clean(dirs ...string) error {
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // a path below a file
			continue
		} else if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !isTemporary(e.Name()) {
				continue
			}
			if err := files.removeDead(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeDead removes a temporary file unless its writer lives.
func (files Files) removeDead(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	// It was renamed meanwhile, or belongs to another user.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	} else if err != nil {
		return err
	}
	in, err := claim(f)
	if !in {
		f.Close()
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		return err
	}
	if runtime.GOOS == "windows" {
		f.Close()
	}
	err = files.unlink(path)
	f.Close()
	return err
}

// writer returns f, with Fault before every write and Trace after it.
func (files Files) writer(f *os.File) io.Writer {
	if files.Fault == nil && files.Trace == nil {
		return f
	}
	return &File{f: f, files: files}
}

// MkdirAll makes a folder and all missing folders above it, with the permissions that the
// umask leaves of 0777, and makes their names durable.
func (files Files) MkdirAll(path string) error {
	if err := files.fault("mkdir", path); err != nil {
		return err
	}
	path = filepath.Clean(path)
	var made []string // the topmost last
	for dir := path; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		made = append(made, dir)
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	for _, dir := range slices.Backward(made) {
		files.trace(Step{Op: "mkdir", Path: dir})
		if err := files.SyncFolder(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a file if it exists.
func (files Files) Remove(path string) error {
	if err := files.fault("remove", path); err != nil {
		return err
	}
	if err := files.unlink(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Bytes returns the function that writes b, for WriteFile.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// JSON returns the function that writes v as indented JSON, for WriteFile.
func JSON(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
}
