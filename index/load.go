package index

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/mapped"
)

// load reads the folder into the index.
func (x *Index) load() error {
	m, err := readManifest(x.dir)
	if err != nil {
		return err
	}
	s, log, err := x.read(m)
	// Beside a process that writes, files go when a new manifest no longer names
	// them.
	for range 100 {
		if !x.readOnly || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		now, e := readManifest(x.dir)
		if e != nil {
			return e
		}
		if now.Generation == m.Generation {
			break
		}
		m = now
		s, log, err = x.read(m)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &DamageError{filepath.Join(x.dir, manifestFile), fmt.Sprintf("a file that it names is missing: %v", err)}
	}
	if err != nil {
		return err
	}
	x.dim, x.short = m.Dim, log.short
	x.view = newView(m, s.schema, s.parts, s.tail)
	if x.readOnly {
		return nil
	}
	if log.short != nil { // a change would write over what tells
		x.view.release()
		return &DamageError{filepath.Join(x.dir, m.Log), log.short.reason()}
	}
	if err := x.removeOrphans(m); err != nil {
		x.view.release()
		return err
	}
	l, err := openLog(x.files, filepath.Join(x.dir, m.Log), log)
	if err != nil {
		x.view.release()
		return err
	}
	x.w = newWriter(x, m, s, l)
	return nil
}

// read opens what a manifest names. The state's segments belong to nobody yet.
func (x *Index) read(m *manifest) (s *state, log *logged, err error) {
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
			return nil, nil, err
		}
		parts = append(parts, p)
	}
	s = newState(m, parts)
	s.begin()
	var fault error
	err = mapped.Touch(func() {
		log, fault = readLog(filepath.Join(x.dir, m.Log), m.Index, m.Dim, s.replay)
	})
	if err == nil {
		err = fault
	}
	if err != nil {
		return nil, nil, err
	}
	s.commit()
	s.tail.encode(m)
	return s, log, nil
}
