package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/customloss"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/progress"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/run"
)

// trainFlags are the options of kindred train as typed.
type trainFlags struct {
	cli.TrainFlags
	own string // what the calling program computes: "loss", "miner" or ""
}

func newTrain(a *console.Console) *cobra.Command {
	var f trainFlags
	cmd := cli.NewTrainCommand("kindred", &f.TrainFlags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runTrain(cmd, a, &f) }
	cmd.ValidArgsFunction = complete.One(complete.Datasets)
	fs := flags.New(cmd)
	for name, by := range map[string]complete.Func{"config": complete.YAML, "data": complete.Datasets,
		cli.DataDir:   complete.Folders,
		"weights-dir": complete.Folders, "set": complete.Setting, "out": complete.Folders, "resume": complete.Runs,
		"finish": complete.Runs} {
		fs.Complete(name, by)
	}
	fs.Text(&f.own, "own", "", "loss or miner: the calling program computes it, by requests on standard output and "+
		"answers on standard input (docs/python.md); needs --json", complete.Words("loss", "miner"))
	return cmd
}

func runTrain(cmd *cobra.Command, a *console.Console, f *trainFlags) error {
	if f.PrintConfig {
		return printReference(a)
	}
	cfg, err := f.load(cmd, a)
	if err != nil {
		return err
	}
	link, err := f.openLink(cmd, a)
	if err != nil {
		return err
	}
	bar := progress.New(a.Err, "")
	bar.Pace = true
	m := a.NewMeter("features", console.Count)
	defer m.Close()
	home := inputs.DataFolder(f.DataDir)
	o := run.Options{Home: home, Weights: inputs.FindWeights(a, f.WeightsFlags), OnSetup: newSetupPrinter(a, m, bar),
		Observe:         bar.Observe,
		FeatureProgress: m.ShowCount}
	kept := useCustomParts(&o, link)
	res, err := f.Run(cmd.Context(), cfg, o)
	err = cmp.Or(err, kept())
	var stopped *run.StoppedError
	if errors.As(err, &stopped) {
		r := cli.ResumableError{Err: err, Where: stopped.Location(), Command: f.continueCommand("--resume",
			stopped.Dir)}
		if stopped.Epoch > 1 || stopped.Step > 0 {
			r.End = f.continueCommand("--finish", stopped.Dir)
		}
		return r
	} else if err != nil {
		return err
	}
	inputs.PrintLeftOut(a, res.LeftOut)
	next := f.nextCommands(res, home)
	if a.JSON {
		return a.PrintJSON(trainResult{res.Summary(res.Dir), next})
	}
	if err := printRun(a, res, res.Dir); err != nil {
		return err
	}
	if res.Verdict != "" {
		fmt.Fprintln(a.Err, res.Verdict)
	}
	fmt.Fprintf(a.Err, "next: find photos like one of these, and show the run on a page:\n  "+
		"%s\n", strings.Join(next, "\n  "))
	return nil
}

// openLink opens the connection to the calling program whose loss or miner the run has; nil without --own.
func (f *trainFlags) openLink(cmd *cobra.Command, a *console.Console) (*customloss.Link, error) {
	switch {
	case f.own == "":
		return nil, nil
	case f.own != "loss" && f.own != "miner":
		return nil, cli.Usagef("--own %q: want loss or miner", f.own)
	case !a.JSON:
		return nil, cli.Usagef("--own %s needs --json: it is for programs, and standard output has its requests", f.own)
	}
	link, err := customloss.Open(f.own, cmd.InOrStdin(), a.Raw)
	if dir := cmp.Or(f.Resume, f.Finish); err == nil && dir != "" {
		err = link.Check(dir)
	}
	return link, err
}

// useCustomParts puts the loss or the miner of a calling program into the options of a run, unless link is
// nil. The identity is kept in the run's folder; kept returns the error of that.
func useCustomParts(o *run.Options, link *customloss.Link) (kept func() error) {
	var err error
	if link == nil {
		return func() error { return nil }
	}
	if link.Kind == "loss" {
		o.Loss = link.Loss()
	} else {
		o.Miner = link.Mine
	}
	o.CallerFiles = []string{customloss.File}
	begin := o.OnSetup
	o.OnSetup = func(s run.Setup) {
		begin(s)
		err = link.SaveIdentity(s.Dir)
	}
	return func() error { return err }
}

// trainResult is what kindred train --json prints.
type trainResult struct {
	run.Summary
	// Next are commands that go on from here.
	Next []string `json:"next"`
}

// continueCommand returns the command that continues the run in dir (--resume) or ends it (--finish).
func (f *trainFlags) continueCommand(flag, dir string) string {
	words := []string{os.Args[0], "train", flag, escapeDash(dir)}
	return escape.Command(append(words, f.folderFlags()...)...)
}

// folderFlags are the flags that say where data sets and pretrained networks are, as
// they were given.
func (f *trainFlags) folderFlags() (words []string) {
	for _, g := range [][2]string{{"--data-dir", f.DataDir}, {"--weights-dir", f.WeightsFlags.Dir}} {
		if g[1] != "" {
			words = append(words, g[0], g[1])
		}
	}
	return words
}

// newSetupPrinter prints, before the first step, what training will do. m is the meter of
// the preparation, bar that of training.
func newSetupPrinter(a *console.Console, m *console.Meter, bar *progress.Bar) func(run.Setup) {
	return func(s run.Setup) {
		m.Close()
		bar.UsualEpochs = s.UsualEpochs()
		fmt.Fprint(a.Err, escape.Text(s.String()))
	}
}

// nextCommands returns the commands to use after a finished run: a search with one of its photos, and the
// page of the run.
func (f *trainFlags) nextCommands(res *run.Result, home string) []string {
	c := &res.Config.Data
	what, dir := escapeDash(cmp.Or(c.Path, c.Name)), escapeDash(res.Dir)
	flags := func(words ...string) string {
		if f.DataDir != "" {
			words = append(words, "--data-dir", f.DataDir)
		}
		return escape.Command(append([]string{os.Args[0]}, words...)...)
	}
	embeddings := filepath.Join(dir, "embeddings.npy")
	look := flags("neighbours", "--embeddings", embeddings, "--data", what, "--out", dir+"-neighbours")
	if res.Test.Part.Data.Features != nil {
		look = escape.Command(os.Args[0], "neighbours", "--embeddings", embeddings, "--out", dir+"-neighbours")
	}
	if p := res.Test.Part; p.Data.Features == nil {
		name := filepath.FromSlash(p.Data.Names[p.Index[0]])
		if !filepath.IsAbs(name) {
			name = filepath.Join(photo.RootFolder(what, home), name)
		}
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
			words := []string{"search", escapeDash(name), "--run", dir, "--in", what}
			if c.Outside {
				words = append(words, "--allow-outside")
			}
			look = flags(words...)
		}
	}
	return []string{look, flags("report", dir)}
}

// escapeDash returns a path in a form that no command mistakes for a flag.
func escapeDash(path string) string {
	if strings.HasPrefix(path, "-") {
		return "./" + path
	}
	return path
}

// load reads the configuration of a new run or of the one to resume.
func (f *trainFlags) load(cmd *cobra.Command, a *console.Console) (run.Config, error) {
	if cmd.Flags().Changed("seed") {
		return f.LoadConfig(&a.Seed)
	}
	return f.LoadConfig(nil)
}

func printRun(a *console.Console, res *run.Result, dir string) error {
	tw := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	before := map[string]float64{}
	for _, m := range res.Untrained {
		before[m.Key()] = m.Value
	}
	if len(before) > 0 {
		after, start := fmt.Sprintf("epoch %d", res.Epoch), "before training"
		if res.InterpolationWeight > 0 && res.InterpolationWeight < 1 {
			after += fmt.Sprintf(", at %g of the way to it", res.InterpolationWeight)
		}
		if res.WCCNSamples > 0 {
			after += " and a computed layer"
		}
		if res.UntrainedSize > 0 {
			start += fmt.Sprintf(", at %d px", res.UntrainedSize)
		}
		fmt.Fprintf(tw, "\t%s\t%s\n", after, start)
	}
	for _, m := range res.Scores {
		fmt.Fprintf(tw, "%s\t%.4f", m.Key(), m.Value)
		if v, ok := before[m.Key()]; ok {
			fmt.Fprintf(tw, "\t%.4f", v)
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if res.GalleryNote != "" {
		fmt.Fprintln(a.Err, res.GalleryNote)
	}
	_, err := fmt.Fprintf(a.Out, "%s\n", dir)
	return err
}

func printReference(a *console.Console) error {
	return a.PrintResult(run.Reference(), func() error { return cli.PrintReference(a.Out) })
}
