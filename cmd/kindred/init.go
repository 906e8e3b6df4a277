package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/inspect"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/run"
)

// initFlags are the options of kindred init as typed.
type initFlags struct {
	train trainFlags // the flags that kindred train has too
	outputs.Files
	out string
}

func newInit(a *console.Console) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:               "init DATA",
		ValidArgsFunction: complete.One(complete.Datasets),
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
	fs := flags.New(cmd)
	fs.Text(&f.out, "out", "run.yaml", "file to write; - for standard output", complete.YAML)
	f.Files.Add(cmd, "a file")
	fs.Repeated(&f.train.Set, "set", "set a key, as in kindred train: section.key=value; may be repeated",
		complete.Setting)
	fs.DataDir(&f.train.DataDir)
	fs.Weights(&f.train.WeightsFlags)
	fs.Outside(&f.train.Outside)
	cli.AddStrict(fs.FlagSet, &f.train.Strict)
	return cmd
}

// glanceImages is the number of images that init examines.
const glanceImages = 64

func runInit(cmd *cobra.Command, a *console.Console, f *initFlags) error {
	if err := f.CheckReplace(f.out); err != nil {
		return err
	}
	if outputs.IsStdout(f.out) && a.JSON {
		return cli.Usagef("only one of --out and --json can go to standard output")
	}
	cfg, err := f.train.load(cmd, a)
	if err != nil {
		return err
	}
	d, err := inputs.OpenData(cmd.Context(), &cfg.Data, inputs.DataFolder(f.train.DataDir))
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
	if !outputs.IsStdout(f.out) {
		if err := atomic.Prepare(f.out); err != nil {
			return err
		}
	}
	m := a.NewMeter("features", console.Count)
	plan, err := run.Plan(cmd.Context(), cfg,
		run.Options{Dataset: d, Weights: inputs.FindWeights(a, f.train.WeightsFlags), FeatureProgress: m.ShowCount})
	m.Close()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, line := range introduction(f, seen, plan) {
		fmt.Fprintln(&b, strings.TrimRight("# "+line, " "))
	}
	b.WriteByte('\n')
	b.Write(plan.Config.Annotate(cfg))
	if err := outputs.WriteFile(a, f.out, atomic.Bytes(b.Bytes())); err != nil {
		return err
	}
	if outputs.IsStdout(f.out) {
		return nil // the file itself is the answer
	}
	if err := f.RecordMade(f.out); err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"out": f.out, "data": seen, "train": f.next()})
	}
	for _, line := range inspect.Describe(seen) {
		fmt.Fprintln(a.Out, line)
	}
	_, err = fmt.Fprintf(a.Out, "%s is written; edit it, then\n%s\n", f.out, f.next())
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
	if outputs.IsStdout(file) {
		file = "run.yaml"
	}
	return escape.Command(append([]string{"kindred", "train", "-c", file}, f.train.folderFlags()...)...)
}

// introduction returns the comment at the head of the file, without comment marks.
func introduction(f *initFlags, seen *inspect.Report, plan *run.Setup) []string {
	lines := []string{"Settings of a training run, written by kindred init. Edit them, then", "",
		"  " + f.next(), "", "What it found in the data:", ""}
	lines = append(lines, cli.Map(inspect.Describe(seen), func(l string) string { return "  " + l })...)
	lines = append(lines, "", "What training does with the data:", "")
	lines = append(lines, cli.Map(strings.Split(strings.TrimSpace(plan.String()), "\n"),
		func(l string) string { return "  " + escape.Text(l) })...)
	return append(lines, "",
		"The keys that matter most come first in every section. Those with a # before them are at",
		"their defaults: take the # away to set them. Paths are seen from where kindred train runs.")
}
