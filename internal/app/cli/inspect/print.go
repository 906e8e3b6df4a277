package inspect

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/quality"
	"github.com/kindred-ml/kindred/internal/base/escape"
)

// printQuality lists photos with defects, the first few of each.
func printQuality(out io.Writer, q *Quality, most int) {
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

// Print prints a report; full lists everything instead of the first few.
func Print(out io.Writer, r *Report, full bool) error {
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
	most := console.MaxPrinted
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
func printExif(out io.Writer, e *Exif, most int) {
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

func printLabels(out io.Writer, l Labels, most int) error {
	role := ""
	if words := columnRole(l); words != "" {
		role = " (" + words + ")"
	}
	counts := cli.Map(l.Classes, func(c Class) int { return c.Count })
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
func printBursts(out io.Writer, im *Images, full bool) {
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
func columnRole(l Labels) string {
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

func printDuplicates(out io.Writer, groups []Group, most int) {
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

// Describe describes a data set in a few lines.
func Describe(r *Report) []string {
	lines := []string{fmt.Sprintf("%s: %d samples, layout %s", escape.Name(r.Name), r.Samples, r.Layout)}
	lines = append(lines, cli.Map(r.Labels, describeLabels)...)
	switch im := r.Images; {
	case im == nil:
		lines = append(lines, fmt.Sprintf("ready features of %d values", r.Features))
	case im.Grey+im.Color > 0:
		lines = append(lines, fmt.Sprintf("of %d images examined: %d x %d to %d x %d pixels, %d in colour, %d grey",
			im.Grey+im.Color+len(im.Unreadable), im.Width[0], im.Height[0], im.Width[2], im.Height[2], im.Color,
			im.Grey))
	}
	if im := r.Images; im != nil && len(im.Unreadable) > 0 {
		lines = append(lines, fmt.Sprintf("%d of them cannot be read, such as %s: training leaves such images out, or "+
			"fails with data.strict: true", len(im.Unreadable), escape.Name(im.Unreadable[0].Name)))
	}
	lines = append(lines, cli.Map(r.LeftOut, func(l data.LeftOut) string { return escape.Text(l.String()) })...)
	return append(lines, cli.Map(r.Notes, func(n string) string { return "note: " + escape.Text(n) })...)
}

func describeLabels(l Labels) string {
	counts := cli.Map(l.Classes, func(c Class) int { return c.Count })
	slices.Sort(counts)
	role := ""
	if words := columnRole(l); words != "" {
		role = ", " + words
	}
	if len(counts) == 0 {
		return fmt.Sprintf("label %s: no classes%s", l.Column, role)
	}
	return fmt.Sprintf("label %s: %d classes of %d to %d samples%s", l.Column, len(counts), counts[0],
		counts[len(counts)-1], role)
}
