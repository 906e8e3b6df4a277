package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/inspect"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/base/escape"
)

func newDataInfo(a *console.Console, dir *string) *cobra.Command {
	var (
		to         outputs.Files
		sheet      string
		rows, cols int
		skip, full bool
		outside    bool
		strict     bool
		judged     bool
		table      string
	)
	cmd := &cobra.Command{
		Use:               "info PATH",
		ValidArgsFunction: complete.One(complete.Datasets),
		Short:             "Examine a data set: classes, sizes, damaged and duplicate images, label mistakes",
		Long: `info examines a data set by name or path (a folder, .zip archive, CSV manifest or
file of features), with or without classes. It prints the layout, samples per class and
split, image sizes, unreadable images, and pictures that occur twice; pictures with two
different labels come first. --quality adds photos with defects, compared with the other
photos of the set. --sheet draws examples of every class.`,
		Args: exactArgs("path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rows < 1 || cols < 1 {
				return cli.Usagef("--rows %d, --cols %d: want at least 1", rows, cols)
			}
			d, err := remotedata.Open(cmd.Context(), args[0],
				data.OpenOptions{Home: inputs.DataFolder(*dir), Formats: cli.EmbeddingFormats(),
					Outside: outside, Unlabelled: true})
			if err != nil {
				return err
			}
			defer d.Close()
			if err := to.Prepare(sheet, table); err != nil {
				return err
			}
			bar := a.NewMeter("images", console.Count)
			r, err := inspect.Inspect(cmd.Context(), d, inspect.Options{SkipImages: skip, Progress: bar.ShowCount})
			bar.Close()
			if err != nil {
				return err
			}
			if (judged || table != "") && r.Images != nil {
				if err := findDefects(cmd.Context(), a, d, r, table); err != nil {
					return err
				}
			}
			if sheet != "" {
				if err := inspect.WriteContactSheet(cmd.Context(), sheet, d, rows, cols); err != nil {
					return err
				}
				fmt.Fprintf(a.Err, "contact sheet: %s\n", sheet)
			}
			if err := to.RecordMade(sheet, table); err != nil {
				return err
			}
			err = a.PrintResult(r, func() error { return inspect.Print(a.Out, r, full) })
			if err == nil && strict {
				err = checkStrict(d, r)
			}
			return err
		},
	}
	fs := flags.New(cmd)
	fs.Outside(&outside)
	to.Add(cmd, "files", "sheet", "quality-table")
	fs.BoolVar(&strict, "strict", false, "print everything, then fail if a picture cannot be read or has no label "+
		"where others have one")
	fs.BoolVar(&judged, "quality", false, "look for blurred, dark, blown-out, tiny, odd and screenshot-like photos")
	fs.Text(&table, "quality-table", "", "do --quality and write the scores of all photos to this .csv file, as "+
		"columns for kindred index add --columns", complete.Files)
	fs.Text(&sheet, "sheet", "", "write a contact sheet (PNG) to this file", complete.Files)
	fs.IntVar(&rows, "rows", 20, "classes on the sheet")
	fs.IntVar(&cols, "cols", 10, "images per class on the sheet")
	fs.BoolVar(&skip, "no-images", false, "do not read the images")
	fs.BoolVar(&full, "full", false, "list everything, not the first few")
	return cmd
}

// checkStrict returns an error if images cannot be read or lack a label.
func checkStrict(d *data.Dataset, r *inspect.Report) error {
	if im := r.Images; im != nil && len(im.Unreadable) > 0 {
		return fmt.Errorf("--strict: %d of %d images cannot be read, such as %s", len(im.Unreadable), r.Samples,
			escape.Text(im.Unreadable[0].Error))
	}
	return d.CheckLabels()
}

// findDefects looks for photos with defects, and writes the table.
func findDefects(ctx context.Context, a *console.Console, d *data.Dataset, r *inspect.Report, table string) error {
	bar := a.NewMeter("quality", console.Count)
	q, err := inspect.FindDefects(ctx, d, bar.ShowCount)
	bar.Close()
	if err != nil {
		return err
	}
	r.Images.Quality = q
	if table == "" {
		return nil
	}
	return outputs.WriteFile(a, table, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(q.Rows()) })
}
