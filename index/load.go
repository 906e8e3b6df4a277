package index

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/mappedfile"
)

// load reads the folder into the index.
func (x *Index) load() error {
	var m *manifest
	var s *state
	var log *logContent
	err := readConsistently(x.dir, readManifest, func(o *openFiles) (err error) {
		m = o.m
		if s, log, err = x.read(o); errors.Is(err, fs.ErrNotExist) {
			err = &DamageError{filepath.Join(x.dir, manifestFile),
				fmt.Sprintf("a file that it names is missing: %v", err)}
		}
		return err
	})
	if err != nil {
		return err
	}
	x.dim, x.shortfall = m.Dim, log.shortfall
	x.view = newView(m, s.schema, s.parts, s.tail)
	if x.readOnly {
		return nil
	}
	if log.shortfall != nil { // a change would overwrite the marks that show what is missing
		x.view.release()
		return &DamageError{filepath.Join(x.dir, m.Log), log.shortfall.reason()}
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

// read reads the files of the index. The state's segments do not belong to a view yet.
func (x *Index) read(o *openFiles) (s *state, log *logContent, err error) {
	var parts []part
	defer func() {
		if err != nil {
			for _, p := range parts {
				p.seg.file.Close()
			}
		}
	}()
	for _, ref := range o.m.Segments {
		p, err := ref.load(o)
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, p)
	}
	f, err := o.fileOf(o.m.Log)
	if err != nil {
		return nil, nil, err
	}
	s = newState(o.m, parts)
	s.begin()
	var fault error
	err = mappedfile.Access(func() { log, fault = readLog(f, o.m.Index, o.m.Dim, s.replay) })
	if err == nil {
		err = fault
	}
	if err != nil {
		return nil, nil, err
	}
	s.commit()
	s.tail.encode(o.m)
	return s, log, nil
}
