// Package results writes the files of a command, with a note that identifies the command. Only the same
// command may replace them.
package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// File is a file to write.
type File struct {
	Name string
	Data []byte
}

// Text is a file whose contents are not made yet.
type Text struct {
	Name  string
	Write func(io.Writer) error
}

// NewText returns the file that write makes.
func NewText(name string, write func(io.Writer) error) Text { return Text{name, write} }

// MakeFiles makes files in memory.
func MakeFiles(texts ...Text) (files []File, err error) {
	for _, t := range texts {
		var b bytes.Buffer
		if err := t.Write(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		files = append(files, File{t.Name, b.Bytes()})
	}
	return files, nil
}

// NoteName is the file beside results that identifies the command that made them. For the name of each
// file it has the digests of the command and of the contents. Commands may contain passwords, so only digests
// are kept.
const NoteName = ".kindred.json"

// noteEntry is the entry of one file in a note.
type noteEntry struct {
	By   string   `json:"by"`
	Sums []string `json:"sha256"` // of the contents, and during a replacement also of the old contents
}

type note map[string]noteEntry

// maxKilled is the number of processes in a row that may be killed before they replace a file.
const maxKilled = 8

// FindProtected returns the first of the named files that the command by may not replace ("" without one), and reports
// whether it may replace any. A command may replace files that it made and that have not changed since. An empty
// by made no files.
func FindProtected(dir string, names []string, by string) (held string, replaced bool) {
	n, err := readNote(dir)
	if err != nil {
		n = note{}
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		switch _, err := os.Lstat(path); {
		case err != nil:
		case by == "" || !n.isUnchanged(path, dataDigest([]byte(by))):
			return path, false
		default:
			replaced = true
		}
	}
	return "", replaced
}

// Prepare makes the folder, checks that files can be written to it, and removes temporary files that killed
// processes left there.
func Prepare(dir string) error {
	if err := atomic.Prepare(filepath.Join(dir, NoteName)); err != nil {
		return err
	}
	return atomic.Clean(dir)
}

// WriteResults writes the results of the command by into the folder and returns their paths. A process that
// is killed meanwhile leaves some of them, with a note that lets the same command replace them.
func WriteResults(dir, by string, files ...File) (paths []string, err error) {
	sums := map[string]string{}
	for _, f := range files {
		sums[f.Name] = dataDigest(f.Data)
	}
	if err := record(dir, by, sums); err != nil {
		return nil, err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := atomic.WriteFile(path, atomic.Bytes(f.Data)); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Record records that the command by made the files that exist, in one or more folders.
func Record(by string, paths ...string) error {
	dirs := map[string]map[string]string{}
	for _, path := range paths {
		sum, err := fileDigest(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		dir, name := filepath.Split(path)
		if dirs[dir] == nil {
			dirs[dir] = map[string]string{}
		}
		dirs[dir][name] = sum
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := record(filepath.Clean(dir), by, dirs[dir]); err != nil {
			return err
		}
	}
	return nil
}

// record adds files to the note of a folder and removes entries of files that are gone.
func record(dir, by string, sums map[string]string) error {
	n, err := readNote(dir)
	if err != nil {
		return err
	}
	maps.DeleteFunc(n, func(name string, _ noteEntry) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err != nil
	})
	by = dataDigest([]byte(by))
	for name, sum := range sums {
		m := noteEntry{By: by, Sums: []string{sum}}
		if old := n[name]; old.By == by { // the old file stays if the process is killed
			m.Sums = append(m.Sums, slices.DeleteFunc(old.Sums, func(s string) bool { return s == sum })...)
		}
		m.Sums = m.Sums[:min(len(m.Sums), maxKilled)]
		n[name] = m
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, NoteName)
	return atomic.WriteFile(path, atomic.Bytes(text))
}

// Check returns an error if a file that is not a note has the name of the note.
func Check(dir string) error {
	_, err := readNote(dir)
	return err
}

// readNote reads the note of a folder. If the file is missing, or emptied by a loss of power, the note is empty.
func readNote(dir string) (note, error) {
	path := filepath.Join(dir, NoteName)
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return note{}, nil
	case err != nil:
		return nil, err
	}
	const most = 1 << 20
	n := note{}
	if st.Mode().IsRegular() && st.Size() <= most {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if len(text) == 0 || strictjson.UnmarshalLoose(text, &n) == nil &&
			!slices.ContainsFunc(slices.Collect(maps.Values(n)),
				func(m noteEntry) bool { return m.By == "" }) {
			if n == nil {
				n = note{}
			}
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s is not kindred's record of results and was not changed: move it, or "+
		"write to another folder", path)
}

// isUnchanged reports whether a file is unchanged since the command with the digest by wrote it.
func (n note) isUnchanged(path, by string) bool {
	m := n[filepath.Base(path)]
	if m.By != by {
		return false
	}
	sum, err := fileDigest(path)
	return err == nil && slices.Contains(m.Sums, sum)
}

func fileDigest(path string) (string, error) {
	f, err := fileinfo.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func dataDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
