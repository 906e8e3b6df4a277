package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/mappedfile"
)

// openFiles has the files that a manifest names, all open. They stay readable when a writing process
// removes them. Segments and dead files never change, names are never reused, and the log only grows.
// So the files fit together at any later time.
type openFiles struct {
	dir      string
	m        *manifest
	segments map[string]*mappedfile.File // without segments that were taken
	others   map[string]*os.File         // the log and the dead files
	faults   map[string]error            // errors of files that could not be opened
}

// maxAttempts is how often a reader starts again because the files were replaced.
const maxAttempts = 100

// errReplaced is the error if a writing process has replaced the files during a read.
var errReplaced = errors.New("it was changed while it was read")

// readConsistently calls read with the files of one generation of an index. A process that writes
// removes files that its newest manifest no longer names. If a file is missing and the
// manifest is another one by then, or if read returns errReplaced, settled begins anew.
// Files that both manifests name stay open, so that each attempt has less to open.
func readConsistently(dir string, latest func(dir string) (*manifest, error), read func(*openFiles) error) error {
	o := &openFiles{dir: dir, segments: make(map[string]*mappedfile.File), others: make(map[string]*os.File)}
	defer o.close()
	for range maxAttempts {
		m, err := latest(dir)
		if err != nil {
			return err
		}
		if o.open(m); o.hasMissing() {
			now, err := latest(dir)
			if err != nil {
				return err
			}
			if !now.isSameGeneration(m) {
				continue
			}
		}
		if err := read(o); !errors.Is(err, errReplaced) {
			return err
		}
	}
	return fmt.Errorf("%s was changed %d times while it was read: try again when there are fewer writes", dir,
		maxAttempts)
}

// isSameGeneration reports whether two manifests are of one generation of one index.
func (m *manifest) isSameGeneration(other *manifest) bool {
	return m.Index == other.Index && m.Generation == other.Generation
}

// fileNames lists the files that a manifest names.
func (m *manifest) fileNames() []string {
	out := []string{m.Log}
	for _, s := range m.Segments {
		out = append(out, s.File)
		if s.RemovedFile != "" {
			out = append(out, s.RemovedFile)
		}
	}
	return out
}

// open opens the files that a manifest names, and closes all others.
func (o *openFiles) open(m *manifest) {
	if o.m != nil && o.m.Index != m.Index {
		o.close()
	}
	o.m, o.faults = m, make(map[string]error)
	keep := make(map[string]bool)
	for _, name := range m.fileNames() {
		keep[name] = true
		if err := o.openFile(name); err != nil {
			o.faults[name] = err
		}
	}
	o.closeExcept(keep)
}

// openFile opens a file that is not open.
func (o *openFiles) openFile(name string) error {
	path := filepath.Join(o.dir, name)
	if filepath.Ext(name) != ".seg" {
		if o.others[name] != nil {
			return nil
		}
		f, err := fileinfo.Open(path)
		if err == nil {
			o.others[name] = f
		}
		return err
	}
	if o.segments[name] != nil {
		return nil
	}
	f, err := openMapped(path)
	if err == nil {
		o.segments[name] = f
	}
	return err
}

// hasMissing reports whether a file is missing.
func (o *openFiles) hasMissing() bool {
	for _, err := range o.faults {
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// size returns the number of bytes of the segments and the log.
func (o *openFiles) size() (n int64) {
	for _, f := range o.segments {
		n += int64(len(f.Bytes))
	}
	if f := o.others[o.m.Log]; f != nil {
		if st, err := f.Stat(); err == nil {
			n += st.Size()
		}
	}
	return n
}

// takeSegment returns the content of a segment, which the caller closes.
func (o *openFiles) takeSegment(name string) (*mappedfile.File, error) {
	if err := o.faults[name]; err != nil {
		return nil, err
	}
	f := o.segments[name]
	delete(o.segments, name)
	return f, nil
}

// fileOf returns the log or a dead file, to be read at any position.
func (o *openFiles) fileOf(name string) (*os.File, error) {
	if err := o.faults[name]; err != nil {
		return nil, err
	}
	return o.others[name], nil
}

func (o *openFiles) close() { o.closeExcept(nil) }

func (o *openFiles) closeExcept(keep map[string]bool) {
	for name, f := range o.segments {
		if !keep[name] {
			f.Close()
			delete(o.segments, name)
		}
	}
	for name, f := range o.others {
		if !keep[name] {
			f.Close()
			delete(o.others, name)
		}
	}
}
