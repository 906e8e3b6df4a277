package download

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"unicode"

	"github.com/kindred-ml/kindred/internal/atomic"
	"github.com/kindred-ml/kindred/internal/lock"
	"github.com/kindred-ml/kindred/internal/regular"
)

// part is the file of what has arrived, and beside it, in a file of its own, the
// tag that came with it.
type part struct {
	*os.File
	size    int64
	tag     string
	resumed bool // begun by an earlier call
	moved   bool // something arrived in this one
}

const partSuffix, tagSuffix = ".part", ".part.tag"

// maxTag bounds the file of the tag; headers are shorter.
const maxTag = 4 << 10

// openPart opens the part of the file to be at path, for this process alone.
func openPart(path string) (*part, error) {
	f, err := os.OpenFile(path+partSuffix, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	p := &part{File: f}
	if ok, err := lock.File(f); err == nil && !ok {
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
	p.size, p.tag = st.Size(), readTag(path+tagSuffix)
	if p.size > 0 && p.tag == "" { // nobody knows which state of the file it is of
		err = p.restart("")
	}
	p.resumed = p.size > 0
	if err == nil {
		_, err = f.Seek(p.size, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

func readTag(path string) string {
	f, err := regular.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTag))
	if err != nil || bytes.ContainsFunc(text, unicode.IsControl) { // not what restart writes
		return ""
	}
	return string(text)
}

// restart empties the part, for a file with the given tag.
func (p *part) restart(tag string) error {
	if err := p.Truncate(0); err != nil {
		return err
	}
	if _, err := p.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p.size, p.tag, p.resumed = 0, tag, false
	path := p.tagPath()
	if tag == "" {
		return atomic.Files{}.Remove(path)
	}
	return atomic.WriteFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, tag)
		return err
	})
}

func (p *part) tagPath() string {
	name := p.Name()
	return name[:len(name)-len(partSuffix)] + tagSuffix
}

func (p *part) write(b []byte) error {
	n, err := p.Write(b)
	p.size += int64(n)
	p.moved = true
	return err
}

// rename gives the part its name.
func (p *part) rename(path string) error {
	if err := p.Sync(); err != nil {
		return err
	}
	if err := p.File.Close(); err != nil { // Windows renames no open file
		return err
	}
	if err := atomic.Rename(p.Name(), path); err != nil {
		return err
	}
	return atomic.Files{}.Remove(p.tagPath())
}

func (p *part) remove() {
	p.File.Close()
	os.Remove(p.Name())
	os.Remove(p.tagPath())
}

// close keeps what has arrived, unless that is nothing, or of a file that no later call
// could tell from another.
func (p *part) close() {
	useless := p.size == 0 || p.tag == ""
	p.File.Close()
	if useless {
		p.remove()
	}
}
