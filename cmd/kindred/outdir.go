package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/cli/results"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// outDir is the folder that a command writes its results to. Results of an earlier command
// are replaced only on request, unless that command was killed before its last file.
type outDir struct {
	dir   string
	force bool
}

// drawing is a file with a figure, in the form that draw makes.
func drawing(name string, draw func(report.Figure) ([]byte, error), fig report.Figure) results.Text {
	return results.Of(name, bytesOf(func() ([]byte, error) { return draw(fig) }))
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
		for n := 2; !o.force && results.Held(o.dir, files) != ""; n++ {
			o.dir = fmt.Sprintf("%s-%d", usual, n)
		}
		return atomic.Clean(o.dir)
	}
	if file := results.Held(o.dir, files); file != "" && !o.force {
		return fmt.Errorf("%s is there already: replace it with --force, or choose another folder with --out", file)
	}
	return atomic.Clean(o.dir)
}

// begin makes the folder, before the work and not after it.
func (o *outDir) begin() error {
	if err := results.Prepare(o.dir); err != nil {
		return fmt.Errorf("--out %s: %w", o.dir, err)
	}
	return nil
}

// put writes all results and returns where they are.
func (o *outDir) put(files ...results.File) (paths []string, err error) {
	return results.Put(o.dir, files...)
}
