package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/internal/base/escape"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli/inspect"
	"github.com/kindred-ml/kindred/internal/app/quality"
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
)

func newDataInfo(a *app, dir *string) *cobra.Command {
	var (
		to         outFiles
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
		ValidArgsFunction: completeOne(completeDatasets),
		Short:             "Examine a data set: classes, sizes, damaged and duplicate images, label mistakes",
		Long: `info examines a data set by name or path (a folder, .zip archive, CSV manifest or
file of features), with or without classes. It prints the layout, samples per class and
split, image sizes, unreadable images, and pictures that occur twice; pictures with two
different labels come first. --quality adds photos with defects, compared with the other
photos of the set. --sheet draws examples of every class.`,
		Args: exactArgs("path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rows < 1 || cols < 1 {
				return usagef("--rows %d, --cols %d: want at least 1", rows, cols)
			}
			d, err := remotedata.Open(cmd.Context(), args[0],
				data.OpenOptions{Home: dataFolder(*dir), Formats: embeddingFormats(),
					Outside: outside, Unlabelled: true})
			if err != nil {
				return err
			}
			defer d.Close()
			if err := to.prepare(sheet, table); err != nil {
				return err
			}
			bar := a.newMeter("images", countUnit)
			r, err := inspect.Inspect(cmd.Context(), d, inspect.Options{SkipImages: skip, Progress: bar.showCount})
			bar.close()
			if err != nil {
				return err
			}
			if (judged || table != "") && r.Images != nil {
				if err := a.findDefects(cmd.Context(), d, r, table); err != nil {
					return err
				}
			}
			if sheet != "" {
				if err := inspect.WriteContactSheet(cmd.Context(), sheet, d, rows, cols); err != nil {
					return err
				}
				fmt.Fprintf(a.err, "contact sheet: %s\n", sheet)
			}
			if err := to.recordMade(sheet, table); err != nil {
				return err
			}
			err = a.printResult(r, func() error { return printInfo(a.out, r, full) })
			if err == nil && strict {
				err = checkStrict(d, r)
			}
			return err
		},
	}
	fs := newFlags(cmd)
	fs.outside(&outside)
	to.add(cmd, "files", "sheet", "quality-table")
	fs.BoolVar(&strict, "strict", false, "print everything, then fail if a picture cannot be read or has no label "+
		"where others have one")
	fs.BoolVar(&judged, "quality", false, "look for blurred, dark, blown-out, tiny, odd and screenshot-like photos")
	fs.text(&table, "quality-table", "", "do --quality and write the scores of all photos to this .csv file, as "+
		"columns for kindred index add --columns", completeFiles)
	fs.text(&sheet, "sheet", "", "write a contact sheet (PNG) to this file", completeFiles)
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
func (a *app) findDefects(ctx context.Context, d *data.Dataset, r *inspect.Report, table string) error {
	bar := a.newMeter("quality", countUnit)
	q, err := inspect.FindDefects(ctx, d, bar.showCount)
	bar.close()
	if err != nil {
		return err
	}
	r.Images.Quality = q
	if table == "" {
		return nil
	}
	return a.writeFile(table, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(q.Rows()) })
}

// printQuality lists photos with defects, the first few of each.
func printQuality(out io.Writer, q *inspect.Quality, most int) {
	if q == nil {
		return
	}
	fmt.Fprint(out, "quality:")
	for d := range quality.NumDefects {
		fmt.Fprintf(out, " %d %s", q.Counts[d.String()], d)
		if d < quality.NumDefects-1 {
			fmt.Fprint(out, ",")
		}
	}
	fmt.Fprintf(out, "; %d in bursts, %d of these in a burst on both sides of the split\n", q.Bursts, q.Leaks)
	printed := map[string]int{}
	for _, p := range q.Photos {
		if printed[p.Defect]++; printed[p.Defect] > most {
			continue
		}
		fmt.Fprintf(out, "  %.2f  %s  %s\n", p.Score, escape.Name(p.Name), escape.Text(p.Reason))
	}
	hidden := 0
	for _, n := range printed {
		hidden += max(0, n-most)
	}
	printMore(out, hidden)
}

// printMore prints how many entries of a list were left out.
func printMore(out io.Writer, n int) {
	if n > 0 {
		fmt.Fprintf(out, "  ... and %d more (--full lists all)\n", n)
	}
}

// maxPrinted is how many entries of a list are printed without --full.
const maxPrinted = 10

func printInfo(out io.Writer, r *inspect.Report, full bool) error {
	fmt.Fprintf(out, "%s: %d samples, layout %s\n", escape.Name(r.Name), r.Samples, r.Layout)
	for _, l := range r.LeftOut {
		fmt.Fprintln(out, l)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(out, "note: "+escape.Text(n))
	}
	if l := r.Levels; l != nil {
		fmt.Fprintln(out, "labels: "+escape.Text(l.Explain(l.Label, "kindred train --set data.label=")))
	}
	if len(r.Labels) == 0 {
		fmt.Fprintln(out, "no labels: the set can be embedded, indexed and searched; to train on it, put the images "+
			"of each class into a folder of its own, or list them with their labels in a manifest")
	}
	if r.Features > 0 {
		fmt.Fprintf(out, "features: %d values per sample\n", r.Features)
	}
	if r.Splits != nil {
		fmt.Fprint(out, "split:")
		for _, s := range slices.Sorted(maps.Keys(r.Splits)) {
			fmt.Fprintf(out, " %s %d", s, r.Splits[s])
		}
		if r.Disjoint {
			fmt.Fprint(out, " (no class on both sides)")
		}
		fmt.Fprintln(out)
	}
	most := maxPrinted
	if full {
		most = r.Samples
	}
	for _, l := range r.Labels {
		if err := printLabels(out, l, most); err != nil {
			return err
		}
	}
	if im := r.Images; im != nil {
		fmt.Fprintf(out, "\nimages: %d grey, %d colour; width %d to %d (median %d), height %d to %d (median %d)\n",
			im.Grey, im.Color, im.Width[0], im.Width[2], im.Width[1], im.Height[0], im.Height[2], im.Height[1])
		fmt.Fprintf(out, "unreadable: %d\n", len(im.Unreadable))
		for _, u := range im.Unreadable[:min(most, len(im.Unreadable))] {
			fmt.Fprintf(out, "  %s\n", u.Error)
		}
		printMore(out, len(im.Unreadable)-most)
		printDuplicates(out, im.Duplicates, most)
		printBursts(out, im, full)
		printExif(out, im.Exif, most)
		printQuality(out, im.Quality, most)
	}
	return nil
}

// printExif prints what the files' EXIF data says about times, places and cameras.
func printExif(out io.Writer, e *inspect.Exif, most int) {
	if e == nil {
		return
	}
	fmt.Fprintf(out, "EXIF: %d have a time", e.Taken)
	if e.Taken > 0 {
		fmt.Fprintf(out, " (%s to %s)", e.First, e.Last)
	}
	fmt.Fprintf(out, ", %d have a place; %d cameras\n", e.Located, len(e.Cameras))
	for _, c := range e.Cameras[:min(most, len(e.Cameras))] {
		fmt.Fprintf(out, "  %d  %s\n", c.Count, escape.Name(c.Name))
	}
	printMore(out, len(e.Cameras)-most)
}

func printLabels(out io.Writer, l inspect.Labels, most int) error {
	role := ""
	if words := columnRole(l); words != "" {
		role = " (" + words + ")"
	}
	counts := mapList(l.Classes, func(c inspect.Class) int { return c.Count })
	slices.Sort(counts)
	if len(counts) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\nlabel %s%s: %d classes of %d to %d samples (median %d)", l.Column, role, len(counts), counts[0],
		counts[len(counts)-1], counts[len(counts)/2])
	if l.Singletons > 0 {
		fmt.Fprintf(out, "; %d with one sample only", l.Singletons)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, c := range l.Classes {
		if i == most && len(l.Classes) > most+1 {
			fmt.Fprintf(w, "  ...\t%d more\t(--full lists all)\n", len(l.Classes)-most)
			break
		}
		fmt.Fprintf(w, "  %d\t%s\t%d\n", c.Number, escape.Name(c.Name), c.Count)
	}
	return w.Flush()
}

// printBursts prints the number of bursts, and with full lists them.
func printBursts(out io.Writer, im *inspect.Images, full bool) {
	if im.NotSearched != "" {
		fmt.Fprintf(out, "bursts: %s\n", im.NotSearched)
	}
	if len(im.Bursts) == 0 {
		return
	}
	images, leaks := 0, 0
	for _, g := range im.Bursts {
		images += len(g.Names)
		if g.Leak {
			leaks++
		}
	}
	fmt.Fprintf(out, "bursts: %d photos in %d bursts were taken together or are copies, %d in the largest; %d bursts "+
		"are on both sides of the split\n", images, len(im.Bursts), len(im.Bursts[0].Names), leaks)
	if !full {
		return
	}
	for _, g := range im.Bursts {
		for i, n := range g.Names {
			if i > 0 {
				fmt.Fprint(out, ", ")
			} else {
				fmt.Fprint(out, "  ")
			}
			fmt.Fprint(out, escape.Name(n))
		}
		fmt.Fprintln(out)
	}
}

// columnRole returns what a column of labels is used for.
func columnRole(l inspect.Labels) string {
	switch {
	case l.Train && l.Role == "fine":
		return "used for training and scores"
	case l.Train && l.Role == "coarse":
		return "coarser labels, used for training"
	case l.Train:
		return "used for training"
	case l.Role == "fine":
		return "used for scores"
	case l.Role == "coarse":
		return "coarser labels"
	}
	return l.Role
}

func printDuplicates(out io.Writer, groups []inspect.Group, most int) {
	conflicts, leaks := 0, 0
	for _, g := range groups {
		if g.Conflict {
			conflicts++
		}
		if g.Leak {
			leaks++
		}
	}
	fmt.Fprintf(out, "duplicates: %d pictures occur more than once: %d under different labels, %d on both "+
		"sides of the split\n", len(groups), conflicts, leaks)
	for _, g := range groups[:min(most, len(groups))] {
		kind := "same pixels"
		if g.Near {
			kind = "same picture"
		}
		if g.Conflict {
			kind += ", DIFFERENT LABELS"
		}
		if g.Leak {
			kind += ", both sides of the split"
		}
		fmt.Fprintf(out, "  %s:\n", kind)
		for i, n := range g.Names {
			label := ""
			if i < len(g.Labels) {
				label = fmt.Sprintf("  [%s]", escape.Name(g.Labels[i]))
			}
			fmt.Fprintf(out, "    %s%s\n", escape.Name(n), label)
		}
	}
	printMore(out, len(groups)-most)
}
