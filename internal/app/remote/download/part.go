package download

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// part is the file of what has arrived, and beside it, in a file of its own, the
// tag that came with it and how many of its bytes are durable. After a loss of power
// what lies behind these may be anything.
type part struct {
	*atomic.File
	files   atomic.Files
	size    int64
	durable int64 // of size, as the file of the tag has it
	tag     string
	resumed bool // begun by an earlier call
	moved   bool // something arrived in this one
}

const partSuffix, tagSuffix = ".part", ".part.tag"

// durableStep is how many bytes may arrive before they are made durable, which is what a
// process that is killed has to load again.
const durableStep = 16 << 20

// maxTag bounds the file of the tag; headers are shorter.
const maxTag = 4 << 10

// openPart opens the part of the file to be at path, for this process alone.
func openPart(files atomic.Files, path string) (*part, error) {
	f, err := openOrCreate(files, path+partSuffix)
	if err != nil {
		return nil, err
	}
	p := &part{File: f, files: files}
	if ok, err := f.Lock(); err == nil && !ok {
		f.Close()
		return nil, fmt.Errorf("%s is being downloaded by another process", path)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file", f.Name())
	}
	p.tag, p.durable = readTag(path + tagSuffix)
	p.size = min(st.Size(), p.durable)
	p.durable = p.size
	if st.Size() > 0 && p.tag == "" { // nobody knows which state of the file it is of
		err = p.restart("")
	} else if st.Size() > p.size {
		err = p.Truncate(p.size)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	p.resumed = p.size > 0
	return p, nil
}

// openOrCreate opens a file; the name of one that is made is durable, so that no tag finds
// one of before under it.
func openOrCreate(files atomic.Files, path string) (*atomic.File, error) {
	f, err := files.Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f, err = files.Create(path)
	if errors.Is(err, fs.ErrExist) { // by another process, which has it
		return files.Open(path)
	} else if err != nil {
		return nil, err
	}
	if err := files.SyncFolder(filepath.Dir(path)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readTag reads the tag of a part and how many bytes are durable; "" for none.
func readTag(path string) (tag string, durable int64) {
	f, err := fileinfo.Open(path)
	if err != nil {
		return "", 0
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTag))
	if err != nil {
		return "", 0
	}
	tag, count, _ := strings.Cut(string(text), "\n")
	durable, err = strconv.ParseInt(count, 10, 64)
	if err != nil || durable < 0 || strings.ContainsFunc(tag, unicode.IsControl) { // not what mark writes
		return "", 0
	}
	return tag, durable
}

// restart empties the part, for a file with the given tag.
func (p *part) restart(tag string) error {
	if err := p.Truncate(0); err != nil {
		return err
	}
	p.size, p.durable, p.tag, p.resumed = 0, 0, tag, false
	if tag != "" {
		return p.writeTag()
	}
	// For good, before anything of another file is written.
	if err := p.files.Remove(p.tagPath()); err != nil {
		return err
	}
	return p.files.SyncFolder(filepath.Dir(p.tagPath()))
}

// writeTag writes the tag and what is durable.
func (p *part) writeTag() error {
	return p.files.Write(p.tagPath(), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n%d", p.tag, p.durable)
		return err
	})
}

// sync makes what has arrived durable, for a later call to go on from.
func (p *part) sync() error {
	if err := p.Sync(); err != nil {
		return err
	}
	p.durable = p.size
	return p.writeTag()
}

func (p *part) tagPath() string {
	name := p.Name()
	return name[:len(name)-len(partSuffix)] + tagSuffix
}

// write appends to the part, and keeps it from time to time.
func (p *part) write(b []byte, step int64) error {
	n, err := p.WriteAt(b, p.size)
	p.size += int64(n)
	p.moved = true
	if err == nil && p.tag != "" && p.size-p.durable >= step {
		err = p.sync()
	}
	return err
}

// rename gives the part its name.
func (p *part) rename(path string) error {
	if err := p.Sync(); err != nil {
		return err
	}
	p.durable = p.size                     // with nothing left for close to keep
	if err := p.File.Close(); err != nil { // Windows renames no open file
		return err
	}
	if err := p.files.Rename(p.Name(), path); err != nil {
		return err
	}
	return p.files.Remove(p.tagPath())
}

func (p *part) remove() {
	p.File.Close()
	_ = p.files.Remove(p.Name()) // what stays is loaded again, or goes the next time
	_ = p.files.Remove(p.tagPath())
}

// close keeps what has arrived, unless that is nothing, or of a file that no later call
// could tell from another.
func (p *part) close() {
	if p.size == 0 || p.tag == "" {
		p.remove()
		return
	}
	if p.size > p.durable {
		_ = p.sync() // without it, less is there to go on from
	}
	p.File.Close()
}
