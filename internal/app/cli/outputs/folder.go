// Package outputs writes the results of a command to the place that its flags name, and replaces only what the same
// command line made.
package outputs

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// results.FindProtected has the rule of this file: a result that the same command line made is replaced; anything
// else only with --force.

// Flags is what a command may replace.
type Flags struct {
	Cmd    *cobra.Command
	force  bool
	places []string // flags that name places to write to; they are not part of the signature
	absent []string // folders of results that did not exist before the command, the lowest first
}

// Add adds --force to a command whose RunE is set, and has folders removed that it made and left empty because it
// failed. places are the flags, beside --out, that name files to be written.
func (o *Flags) Add(cmd *cobra.Command, what string, places ...string) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err != nil {
			for _, dir := range o.absent {
				_ = os.Remove(dir) // one that holds something stays
			}
		}
		return err
	}
	o.Cmd, o.places = cmd, append(places, "out", "force", "json", "memory")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace "+what+" that another command made or someone changed")
}

// Signature is the part of the command line that determines the result: the arguments and flags that are given, with
// absolute paths. It is empty if standard input is read.
func (o *Flags) Signature() string {
	words := []string{o.Cmd.CommandPath()}
	word := func(s string) bool {
		if _, err := os.Lstat(s); err == nil {
			if full, err := filepath.Abs(s); err == nil {
				s = full
			}
		}
		words = append(words, s)
		return s != "-" && s != "/dev/stdin"
	}
	known := true
	for _, arg := range o.Cmd.Flags().Args() {
		known = word(arg) && known
	}
	o.Cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(o.places, f.Name) {
			return
		}
		words = append(words, "--"+f.Name)
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			known = word(v) && known
		}
	})
	if !known {
		return ""
	}
	return strings.Join(words, "\x00")
}

// check refuses files that may not be replaced, with a way out; other is advice about the flag
// for another place. It prints a remark when results are replaced.
func (o *Flags) check(other string, paths ...string) error {
	for _, path := range paths {
		if err := results.Check(filepath.Dir(path)); err != nil {
			return err
		}
		o.absent = append(o.absent, atomic.MissingFolders(filepath.Dir(path))...)
	}
	if o.force {
		return nil
	}
	by := o.Signature()
	var old []string
	for _, path := range paths {
		dir, name := filepath.Split(path)
		held, replaced := results.FindProtected(filepath.Clean(dir), []string{name}, by)
		if held != "" {
			return fmt.Errorf("%s exists already and is not the unchanged result of this command: replace it with "+
				"--force, or choose %s", held, other)
		}
		if replaced {
			old = append(old, escape.Name(path))
		}
	}
	if len(old) > 0 {
		fmt.Fprintf(o.Cmd.ErrOrStderr(), "replacing results of the same command: %s\n", strings.Join(old, ", "))
	}
	return nil
}

// Files are files that a command writes by their names.
type Files struct{ Flags }

// CheckReplace refuses files that may not be replaced. It ignores standard output and pipes.
func (o *Files) CheckReplace(paths ...string) error {
	return o.check("another name with --out", RegularPaths(paths)...)
}

// Prepare is CheckReplace, and checks that the files can be written.
func (o *Files) Prepare(paths ...string) error {
	if err := o.CheckReplace(paths...); err != nil {
		return err
	}
	return atomic.Prepare(RegularPaths(paths)...)
}

// RecordMade records that the command made the files.
func (o *Files) RecordMade(paths ...string) error {
	return results.Record(o.Signature(), RegularPaths(paths)...)
}

// RegularPaths leaves out standard output, pipes and empty names.
func RegularPaths(paths []string) (out []string) {
	for _, path := range paths {
		if st, err := os.Stat(path); path != "" && !IsStdout(path) && (err != nil || st.Mode().IsRegular()) {
			out = append(out, path)
		}
	}
	return out
}

// Folder is the folder that a command writes its results to.
type Folder struct {
	Flags
	Dir string
}

// NewFigureFile returns a file with a figure, in the form that draw makes.
func NewFigureFile(name string, draw func(figure.Figure) ([]byte, error), fig figure.Figure) results.Text {
	return results.NewText(name, BytesWriter(func() ([]byte, error) { return draw(fig) }))
}

// HTMLWriter writes a page.
func HTMLWriter(p report.Page) func(io.Writer) error { return BytesWriter(p.HTML) }

// BytesWriter returns a function that writes what make returns.
func BytesWriter(make func() ([]byte, error)) func(io.Writer) error {
	return func(w io.Writer) error {
		b, err := make()
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
}

// Add adds --out with its help and --force; see Flags.Add.
func (o *Folder) Add(cmd *cobra.Command, usage string, places ...string) {
	flags.New(cmd).Text(&o.Dir, "out", "", usage, complete.Folders)
	o.Flags.Add(cmd, "results", places...)
}

// Choose uses the usual folder if none is given. It refuses a folder with a file of the given names that may not be
// replaced, and removes temporary files that killed processes left there. Without a folder, Choose and Make do
// nothing.
func (o *Folder) Choose(usual string, names ...string) error {
	if o.Dir = cmp.Or(o.Dir, usual); o.Dir == "" {
		return nil
	}
	if err := o.check("another folder with --out", o.Paths(names)...); err != nil {
		return err
	}
	return atomic.Clean(o.Dir)
}

// Make makes the folder, before the work and not after it.
func (o *Folder) Make() error {
	if o.Dir == "" {
		return nil
	}
	if err := results.Prepare(o.Dir); err != nil {
		return fmt.Errorf("--out %s: %w", o.Dir, err)
	}
	return nil
}

// WriteResults makes all results, then writes them, and returns their paths.
func (o *Folder) WriteResults(texts ...results.Text) (paths []string, err error) {
	files, err := results.MakeFiles(texts...)
	if err != nil {
		return nil, err
	}
	return results.WriteResults(o.Dir, o.Signature(), files...)
}

// RecordMade records that the command made files of the folder.
func (o *Folder) RecordMade(names ...string) error {
	return results.Record(o.Signature(), o.Paths(names)...)
}

// Paths returns the paths of files of the folder.
func (o *Folder) Paths(names []string) []string {
	return cli.Map(names, func(name string) string { return filepath.Join(o.Dir, name) })
}
