// Package results writes the files of a command together into a folder. A process that is killed
// meanwhile leaves some of them, with a note of what it wrote: only by that are they told from the
// user's own.
package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/regular"
)

// File is a file to be written.
type File struct {
	Name string
	Data []byte
}

// Text is one that is yet to be made.
type Text struct {
	Name  string
	Write func(io.Writer) error
}

// Of is the file that write makes.
func Of(name string, write func(io.Writer) error) Text { return Text{name, write} }

// Made makes files in memory.
func Made(texts ...Text) (files []File, err error) {
	for _, t := range texts {
		var b bytes.Buffer
		if err := t.Write(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		files = append(files, File{t.Name, b.Bytes()})
	}
	return files, nil
}

// NoteName is the file that tells, while results are written, which these are: the digests of each by
// its name.
const NoteName = ".kindred-unfinished.json"

type unfinished map[string][]string

// Held returns the first of the files that the folder holds, "" for none. The files of an
// interrupted command do not count.
func Held(dir string, names []string) string {
	half := readUnfinished(dir)
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil && !half.holds(path) {
			return path
		}
	}
	return ""
}

// Prepare makes the folder and checks that files can be written there, before the work and
// not after it.
func Prepare(dir string) error {
	if err := atomic.Prepare(filepath.Join(dir, NoteName)); err != nil {
		return err
	}
	return atomic.Clean(dir)
}

// Put writes all files and returns where they are.
func Put(dir string, files ...File) (paths []string, err error) {
	half := readUnfinished(dir)
	for _, f := range files {
		half[f.Name] = append(half[f.Name], digest(f.Data))
	}
	text, err := json.Marshal(half)
	if err != nil {
		return nil, err
	}
	for _, f := range append([]File{{NoteName, text}}, files...) {
		path := filepath.Join(dir, f.Name)
		err := atomic.WriteFile(path, func(w io.Writer) error { _, err := w.Write(f.Data); return err })
		if err != nil {
			return nil, err
		}
		if f.Name != NoteName {
			paths = append(paths, path)
		}
	}
	return paths, os.Remove(filepath.Join(dir, NoteName))
}

// readUnfinished reads which files a killed command left in a folder. If that cannot be
// read, it returns nothing, so that all files are treated as the user's.
func readUnfinished(dir string) unfinished {
	half := unfinished{}
	f, err := regular.Open(filepath.Join(dir, NoteName))
	if err != nil {
		return half
	}
	defer f.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil || json.Unmarshal(text, &half) != nil || half == nil {
		return unfinished{}
	}
	return half
}

// holds tells whether the file at path is one of them, as it was written.
func (u unfinished) holds(path string) bool {
	sums := u[filepath.Base(path)]
	if len(sums) == 0 {
		return false
	}
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return false
	}
	return slices.Contains(sums, hex.EncodeToString(sum.Sum(nil)))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
