package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/mapped"
)

// load reads the folder into the index.
func (x *Index) load() error {
	m, err := readManifest(x.dir)
	if err != nil {
		return err
	}
	s, end, frames, err := x.read(m)
	// Beside a process that writes, files go when a new manifest no longer names
	// them.
	for tries := 0; x.readOnly && errors.Is(err, fs.ErrNotExist) && tries < 100; tries++ {
		old := m.Generation
		if m, err = readManifest(x.dir); err != nil {
			return err
		}
		if m.Generation == old {
			break
		}
		s, end, frames, err = x.read(m)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &DamageError{filepath.Join(x.dir, manifestFile), fmt.Sprintf("a file that it names is missing: %v", err)}
	}
	if err != nil {
		return err
	}
	x.dim = m.Dim
	x.view = newView(m, s.schema, s.parts, s.tail)
	if x.readOnly {
		return nil
	}
	if err := x.removeOrphans(m); err != nil {
		x.view.release()
		return err
	}
	l, err := openLog(filepath.Join(x.dir, m.Log), end, frames)
	if err != nil {
		x.view.release()
		return err
	}
	l.fault = x.files.Fault
	x.w = newWriter(x, m, s, l)
	return nil
}

// read opens what a manifest names. The state's segments belong to nobody yet.
func (x *Index) read(m *manifest) (s *state, end int64, frames uint64, err error) {
	var parts []part
	defer func() {
		if err != nil {
			for _, p := range parts {
				p.seg.file.Close()
			}
		}
	}()
	for _, ref := range m.Segments {
		p, err := ref.load(x.dir, m)
		if err != nil {
			return nil, 0, 0, err
		}
		parts = append(parts, p)
	}
	s = newState(m, parts)
	s.begin()
	var fault error
	err = mapped.Touch(func() {
		end, frames, fault = readLog(filepath.Join(x.dir, m.Log), m.Index, m.Dim, s.replay)
	})
	if err == nil {
		err = fault
	}
	if err != nil {
		return nil, 0, 0, err
	}
	s.commit()
	s.tail.encode(m)
	return s, end, frames, nil
}

// openLog opens a log for writing behind the frames that count. What follows them
// was never acknowledged.
func openLog(path string, end int64, frames uint64) (*logFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(end); err != nil {
		f.Close()
		return nil, err
	}
	return &logFile{f: f, end: end, frames: frames}, nil
}
