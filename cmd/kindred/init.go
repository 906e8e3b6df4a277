package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/inspect"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/run"
)

// initFlags are the options of kindred init as typed.
type initFlags struct {
	train trainFlags // the flags that kindred train has too
	outFiles
	out string
}

func newInit(a *app) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:               "init DATA",
		ValidArgsFunction: completeOne(completeDatasets),
		Short:             "Write a configuration for a folder of images, with every key explained",
		Long: `init examines a data set (a folder, an archive, a manifest or a set known by name),
chooses the settings that kindred train would choose, and writes run.yaml. Every section
begins with the important keys, set for the data. All other keys follow as comments with
their defaults and their meaning. Edit the file, then train with it.`,
		Example: `  kindred init photos/
  kindred init photos/ --out photos.yaml --set network.name=resnet18`,
		Args: exactArgs("data"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.train.Data = args[0]
			return runInit(cmd, a, &f)
		},
	}
	fs := newFlags(cmd)
	fs.text(&f.out, "out", "run.yaml", "file to write; - for standard output", completeYAML)
	f.outFiles.add(cmd, "a file")
	fs.repeated(&f.train.Set, "set", "set a key, as in kindred train: section.key=value; may be repeated",
		completeSetting)
	fs.dataDir(&f.train.DataDir)
	fs.weights(&f.train.WeightsFlags)
	fs.outside(&f.train.Outside)
	cli.AddStrict(fs.FlagSet, &f.train.Strict)
	return cmd
}

// glanceImages is the number of images that init examines.
const glanceImages = 64

func runInit(cmd *cobra.Command, a *app, f *initFlags) error {
	if err := f.checkReplace(f.out); err != nil {
		return err
	}
	if isStdout(f.out) && a.json {
		return usagef("only one of --out and --json can go to standard output")
	}
	cfg, err := f.train.load(cmd, a)
	if err != nil {
		return err
	}
	d, err := openData(cmd.Context(), &cfg.Data, dataFolder(f.train.DataDir))
	if err != nil {
		return err
	}
	defer d.Close()
	seen, err := inspect.Inspect(cmd.Context(), d, inspect.Options{SkipImages: true})
	if err != nil {
		return err
	}
	if d.Features == nil {
		if seen.Images, err = inspect.SummarizeImages(cmd.Context(), d, glanceImages); err != nil {
			return err
		}
		adaptToImages(&cfg.Data, seen.Images)
	}
	if !isStdout(f.out) {
		if err := atomic.Prepare(f.out); err != nil {
			return err
		}
	}
	m := a.newMeter("features", countUnit)
	plan, err := run.Plan(cmd.Context(), cfg,
		run.Options{Dataset: d, Weights: a.findWeights(f.train.WeightsFlags), FeatureProgress: m.showCount})
	m.close()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, line := range introduction(f, seen, plan) {
		fmt.Fprintln(&b, strings.TrimRight("# "+line, " "))
	}
	b.WriteByte('\n')
	b.Write(plan.Config.Annotate(cfg))
	if err := a.writeFile(f.out, atomic.Bytes(b.Bytes())); err != nil {
		return err
	}
	if isStdout(f.out) {
		return nil // the file itself is the answer
	}
	if err := f.recordMade(f.out); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"out": f.out, "data": seen, "train": f.next()})
	}
	for _, line := range describeReport(seen) {
		fmt.Fprintln(a.out, line)
	}
	_, err = fmt.Fprintf(a.out, "%s is written; edit it, then\n%s\n", f.out, f.next())
	return err
}

// smallImages is the largest side of square images that keep their size.
const smallImages = 64

// adaptToImages sets keys that depend on the images, judged by the first images instead of all.
func adaptToImages(cfg *run.DataConfig, im *inspect.Images) {
	if cfg.Channels == 0 && im.Grey > 0 && im.Color == 0 {
		cfg.Channels = 1
	}
	w, h := im.Width, im.Height // smallest, median, largest
	if alike := w[0] == w[2] && h[0] == h[2] && w[0] == h[0]; alike && cfg.Size == 0 && w[0] <= smallImages {
		cfg.Size = w[0]
	}
}

// next returns the command that trains with the configuration.
func (f *initFlags) next() string {
	file := f.out
	if isStdout(file) {
		file = "run.yaml"
	}
	return escape.Command(append([]string{"kindred", "train", "-c", file}, f.train.folderFlags()...)...)
}

// introduction returns the comment at the head of the file, without comment marks.
func introduction(f *initFlags, seen *inspect.Report, plan *run.Setup) []string {
	lines := []string{"Settings of a training run, written by kindred init. Edit them, then", "",
		"  " + f.next(), "", "What it found in the data:", ""}
	lines = append(lines, mapList(describeReport(seen), func(l string) string { return "  " + l })...)
	lines = append(lines, "", "What training does with the data:", "")
	lines = append(lines, mapList(strings.Split(strings.TrimSpace(plan.String()), "\n"),
		func(l string) string { return "  " + escape.Text(l) })...)
	return append(lines, "",
		"The keys that matter most come first in every section. Those with a # before them are at",
		"their defaults: take the # away to set them. Paths are seen from where kindred train runs.")
}

// describeReport describes a data set in a few lines.
func describeReport(r *inspect.Report) []string {
	lines := []string{fmt.Sprintf("%s: %d samples, layout %s", escape.Name(r.Name), r.Samples, r.Layout)}
	lines = append(lines, mapList(r.Labels, describeLabels)...)
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
	lines = append(lines, mapList(r.LeftOut, func(l data.LeftOut) string { return escape.Text(l.String()) })...)
	return append(lines, mapList(r.Notes, func(n string) string { return "note: " + escape.Text(n) })...)
}

func describeLabels(l inspect.Labels) string {
	counts := mapList(l.Classes, func(c inspect.Class) int { return c.Count })
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
