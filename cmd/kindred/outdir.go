package main

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

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// outDir is the folder that a command writes its results to. Results of an earlier command
// are replaced only on request, unless that command was killed before its last file.
type outDir struct {
	dir   string
	force bool
}

// outFile is a file to be written.
type outFile struct {
	name string
	data []byte
}

// textFile is one that is yet to be made.
type textFile struct {
	name  string
	write func(io.Writer) error
}

// written makes files in memory.
func written(texts ...textFile) (files []outFile, err error) {
	for _, t := range texts {
		var b bytes.Buffer
		if err := t.write(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		files = append(files, outFile{t.name, b.Bytes()})
	}
	return files, nil
}

// drawing is a file with a figure, in the form that draw makes.
func drawing(name string, draw func(report.Figure) ([]byte, error), fig report.Figure) textFile {
	return textFile{name, bytesOf(func() ([]byte, error) { return draw(fig) })}
}

// htmlOf writes a page.
func htmlOf(p report.Page) func(io.Writer) error { return bytesOf(p.HTML) }

func bytesOf(make func() ([]byte, error)) func(io.Writer) error {
	return func(w io.Writer) error {
		b, err := make()
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
}

// unfinishedName is the file that tells, while results are written, which these are:
// the digests of each by its name.
const unfinishedName = ".kindred-unfinished.json"

type unfinished map[string][]string

func (o *outDir) add(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&o.dir, "out", "", usage)
	cmd.Flags().BoolVar(&o.force, "force", false, "replace the results in the folder of --out")
}

// settle refuses a folder that holds any of the files to be written. Without --out
// it takes the default one, with a number if that is taken. Temporary files that killed
// processes left there are removed.
func (o *outDir) settle(usual string, files ...string) error {
	if o.dir == "" {
		o.dir = usual
		for n := 2; !o.force && held(o.dir, files) != ""; n++ {
			o.dir = fmt.Sprintf("%s-%d", usual, n)
		}
		return atomic.Clean(o.dir)
	}
	if file := held(o.dir, files); file != "" && !o.force {
		return fmt.Errorf("%s is there already: replace it with --force, or choose another folder with --out", file)
	}
	return atomic.Clean(o.dir)
}

// held returns the first of the files that the folder holds, "" for none. The files of an
// interrupted command do not count.
func held(dir string, files []string) string {
	half := readUnfinished(dir)
	for _, name := range files {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil && !half.holds(path) {
			return path
		}
	}
	return ""
}

// begin makes the folder and checks that files can be written there, before the work and
// not after it.
func (o *outDir) begin() error {
	if err := atomic.Prepare(filepath.Join(o.dir, unfinishedName)); err != nil {
		return fmt.Errorf("--out %s: %w", o.dir, err)
	}
	return atomic.Clean(o.dir)
}

// put writes all results and returns where they are. A process that is killed
// meanwhile leaves some of them, and the same command then takes them for its own.
func (o *outDir) put(files ...outFile) (paths []string, err error) {
	mark := filepath.Join(o.dir, unfinishedName)
	half := readUnfinished(o.dir)
	for _, f := range files {
		half[f.name] = append(half[f.name], digest(f.data))
	}
	text, err := json.Marshal(half)
	if err != nil {
		return nil, err
	}
	for _, f := range append([]outFile{{unfinishedName, text}}, files...) {
		path := filepath.Join(o.dir, f.name)
		err := atomic.WriteFile(path, func(w io.Writer) error { _, err := w.Write(f.data); return err })
		if err != nil {
			return nil, err
		}
		if f.name != unfinishedName {
			paths = append(paths, path)
		}
	}
	return paths, os.Remove(mark)
}

// readUnfinished reads which files a killed command left in a folder. If that cannot be
// read, it returns nothing, so that all files are treated as the user's.
func readUnfinished(dir string) unfinished {
	half := unfinished{}
	f, err := regular.Open(filepath.Join(dir, unfinishedName))
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
