package natsserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// repair makes the files of a queue fit to be served, and says what it has left out. A server
// believes what it has written: of a message that was damaged meanwhile it says nothing, to
// whoever asks, for ever. What is whole stays. What a damaged file said is found again by the
// commands that wait for it, and done again.
func repair(dir string) (notes []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	m := &repairer{root: root, dir: dir}
	if err := m.checkFiles(); err != nil {
		return nil, err
	}
	streams := path.Join(server.JetStreamStoreDir, "$G", "streams")
	entries, err := fs.ReadDir(root.FS(), streams)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // not served yet
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := m.stream(path.Join(streams, e.Name()), e.Name()); err != nil {
			return nil, err
		}
	}
	return m.notes, nil
}

// repairer mends the folder of a queue, and opens nothing outside.
type repairer struct {
	root  *os.Root
	dir   string
	notes []string
}

// checkFiles refuses what the server would write through, or wait for.
func (m *repairer) checkFiles() error {
	return fs.WalkDir(m.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		full := filepath.Join(m.dir, filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case e.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, which the folder of a queue must not have, because files would be "+
				"written to another place: remove it", full)
		case !e.IsDir() && !e.Type().IsRegular():
			return fmt.Errorf("%w; the folder of a queue must not have it: remove it",
				&fileinfo.NotRegularError{Path: full, Mode: e.Type()})
		}
		return nil
	})
}

func (m *repairer) note(name, format string, args ...any) {
	m.notes = append(m.notes, filepath.Join(m.dir, filepath.FromSlash(name))+": "+fmt.Sprintf(format, args...))
}

// stream mends the files of a stream.
func (m *repairer) stream(dir, name string) error {
	// Without its description a stream is made anew, of the messages that are there.
	if _, err := m.meta(dir, name); err != nil {
		return err
	}
	entries, err := fs.ReadDir(m.root.FS(), path.Join(dir, "msgs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s := &streamContent{live: map[uint64]string{}, chunks: map[string]int{}}
	again := false // the server must read the blocks
	for _, e := range entries {
		if path.Ext(e.Name()) != ".blk" {
			continue
		}
		changed, err := m.block(path.Join(dir, "msgs", e.Name()), name, s)
		if err != nil {
			return err
		}
		again = again || changed
	}
	for _, o := range s.objects {
		if s.chunks[o.nuid] >= o.chunks {
			continue
		}
		if err := m.erase(o.in.file, name, []byteRange{o.in.span}); err != nil {
			return err
		}
		m.note(o.in.file, "only %[2]d of the %[1]d parts of a file are left: the file is left "+
			"out", o.chunks, s.chunks[o.nuid])
		again = true
	}
	if again {
		if err := m.root.Remove(path.Join(dir, "msgs", "index.db")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return m.consumers(dir, name, s)
}

// streamContent is what the blocks of a stream hold.
type streamContent struct {
	last    uint64
	live    map[uint64]string // subjects of messages, by their numbers
	chunks  map[string]int    // parts of objects that are there, by the number of the object
	objects []object
}

// object is the message that says of how many parts an object is.
type object struct {
	in     place
	nuid   string
	chunks int
}

// place is a record of a file.
type place struct {
	file string
	span byteRange
}

// block reads a block, and has what is damaged in it left out.
func (m *repairer) block(file, stream string, s *streamContent) (changed bool, err error) {
	b, err := m.read(file)
	if err != nil {
		return false, err
	}
	whole, damaged := parseBlock(b, blockKey(stream, file))
	for _, r := range whole {
		s.addRecord(r, file)
	}
	var within []byteRange
	for _, d := range damaged {
		if d.to < len(b) {
			m.note(file, "the bytes %d to %d are damaged and are left out", d.from, d.to)
			within = append(within, d)
		} else { // as after a loss of power: the server cuts it off
			m.note(file, "the bytes from %d on are damaged and are left out", d.from)
		}
	}
	return len(damaged) > 0, m.erase(file, stream, within)
}

func (m *repairer) read(file string) ([]byte, error) {
	f, err := fileinfo.OpenIn(m.root, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return budget.ReadN(filepath.Join(m.dir, filepath.FromSlash(file)), f, info.Size())
}

// erase writes records without content over parts of a block.
func (m *repairer) erase(file, stream string, parts []byteRange) error {
	if len(parts) == 0 {
		return nil
	}
	f, err := m.root.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for _, p := range parts {
		_, e := f.WriteAt(blankRecord(p.to-p.from, blockKey(stream, file)), int64(p.from))
		err = errors.Join(err, e)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// addRecord notes what a record holds.
func (s *streamContent) addRecord(r record, file string) {
	s.last = max(s.last, r.number())
	if r.isRemoval() {
		delete(s.live, r.number())
		return
	}
	if r.isErased() {
		return
	}
	s.live[r.seq] = r.subject
	part := strings.SplitN(r.subject, ".", 4) // $O.BUCKET.C.NUMBER, or $O.BUCKET.M.NAME
	switch {
	case len(part) < 4 || part[0] != "$O":
	case part[2] == "C":
		s.chunks[part[3]]++
	case part[2] == "M":
		var o struct {
			NUID   string `json:"nuid"`
			Chunks int    `json:"chunks"`
		}
		if json.Unmarshal(r.body, &o) == nil && o.Chunks > 0 {
			s.objects = append(s.objects, object{place{file, r.byteRange}, o.NUID, o.Chunks})
		}
	}
}
