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
	"github.com/kindred-ml/kindred/internal/app/cli/customloss"
	"github.com/kindred-ml/kindred/internal/app/cli/progress"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/run"
)

// trainFlags are the options of kindred train as typed.
type trainFlags struct {
	cli.Train
	own string // what the calling program computes: "loss", "miner" or ""
}

func newTrain(a *app) *cobra.Command {
	var f trainFlags
	cmd := cli.NewTrain("kindred", &f.Train)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runTrain(cmd, a, &f) }
	cmd.ValidArgsFunction = one(dataSets)
	fs := flagsOf(cmd)
	for name, by := range map[string]completion{"config": yamlFiles, "data": dataSets, cli.DataDir: folders,
		"weights-dir": folders, "set": configuration, "out": folders, "resume": runFolders, "finish": runFolders} {
		fs.complete(name, by)
	}
	fs.text(&f.own, "own", "", "loss or miner: the calling program computes it, by requests on standard output and "+
		"answers on standard input (docs/python.md); needs --json", words("loss", "miner"))
	return cmd
}

func runTrain(cmd *cobra.Command, a *app, f *trainFlags) error {
	if f.PrintConfig {
		return printReference(a)
	}
	cfg, err := f.load(cmd, a)
	if err != nil {
		return err
	}
	link, err := f.link(cmd, a)
	if err != nil {
		return err
	}
	bar := progress.New(a.err, "")
	bar.Pace = true
	m := a.newMeter("features", countUnit)
	defer m.close()
	home := dataHome(f.DataDir)
	o := run.Options{Home: home, Weights: a.findWeights(f.Weights), Begin: a.announce(m, bar), Observe: bar.Observe,
		Features: m.count}
	kept := bringOwn(&o, link)
	res, err := f.Run(cmd.Context(), cfg, o)
	err = cmp.Or(err, kept())
	var stopped *run.Stopped
	if errors.As(err, &stopped) {
		r := resumable{error: err, where: stopped.Where(), command: f.goOn("--resume", stopped.Dir)}
		if stopped.Epoch > 1 || stopped.Step > 0 {
			r.end = f.goOn("--finish", stopped.Dir)
		}
		return r
	} else if err != nil {
		return err
	}
	a.sayLeftOut(res.LeftOut)
	next := f.next(res, home)
	if a.json {
		return a.printJSON(trainResult{res.Summary(res.Dir), next})
	}
	if err := printRun(a, res, res.Dir); err != nil {
		return err
	}
	if res.Verdict != "" {
		fmt.Fprintln(a.err, res.Verdict)
	}
	fmt.Fprintf(a.err, "next: find photos like one of these, and show the run on a page:\n  "+
		"%s\n", strings.Join(next, "\n  "))
	return nil
}

// link opens the connection to the calling program whose loss or miner the run has; nil without --own.
func (f *trainFlags) link(cmd *cobra.Command, a *app) (*customloss.Link, error) {
	switch {
	case f.own == "":
		return nil, nil
	case f.own != "loss" && f.own != "miner":
		return nil, usagef("--own %q: want loss or miner", f.own)
	case !a.json:
		return nil, usagef("--own %s needs --json: it is for programs, and standard output has its requests", f.own)
	}
	link, err := customloss.Open(f.own, cmd.InOrStdin(), a.raw)
	if dir := cmp.Or(f.Resume, f.Finish); err == nil && dir != "" {
		err = link.Check(dir)
	}
	return link, err
}

// bringOwn puts the loss or the miner of a calling program into the options of a run, unless link is nil. The identity
// is kept in the run's folder; kept returns the error of that.
func bringOwn(o *run.Options, link *customloss.Link) (kept func() error) {
	var err error
	if link == nil {
		return func() error { return nil }
	}
	if link.Kind == "loss" {
		o.Loss = link.Loss()
	} else {
		o.Miner = link.Mine
	}
	o.Own = []string{customloss.File}
	begin := o.Begin
	o.Begin = func(s run.Setup) {
		begin(s)
		err = link.Keep(s.Dir)
	}
	return func() error { return err }
}

// trainResult is what kindred train --json prints.
type trainResult struct {
	run.Summary
	// Next are commands that go on from here.
	Next []string `json:"next"`
}

// goOn returns the command that continues the run in dir (--resume) or ends it (--finish).
func (f *trainFlags) goOn(flag, dir string) string {
	words := []string{os.Args[0], "train", flag, dashed(dir)}
	return escape.Command(append(words, f.folders()...)...)
}

// folders are the flags that say where data sets and pretrained networks are, as
// they were given.
func (f *trainFlags) folders() (words []string) {
	for _, g := range [][2]string{{"--data-dir", f.DataDir}, {"--weights-dir", f.Weights.Dir}} {
		if g[1] != "" {
			words = append(words, g[0], g[1])
		}
	}
	return words
}

// announce prints, before the first step, what training will do. m is the meter of
// the preparation, bar that of training.
func (a *app) announce(m *meter, bar *progress.Bar) func(run.Setup) {
	return func(s run.Setup) {
		m.close()
		bar.Usual = s.Usual()
		fmt.Fprint(a.err, escape.Text(s.String()))
	}
}

// next returns the commands to use after a finished run: a search with one of its photos, and the
// page of the run.
func (f *trainFlags) next(res *run.Result, home string) []string {
	c := &res.Config.Data
	what, dir := dashed(cmp.Or(c.Path, c.Name)), dashed(res.Dir)
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
			name = filepath.Join(photo.Root(what, home), name)
		}
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
			words := []string{"search", dashed(name), "--run", dir, "--in", what}
			if c.Outside {
				words = append(words, "--allow-outside")
			}
			look = flags(words...)
		}
	}
	return []string{look, flags("report", dir)}
}

// dashed returns a path in a form that no command mistakes for a flag.
func dashed(path string) string {
	if strings.HasPrefix(path, "-") {
		return "./" + path
	}
	return path
}

// load reads the configuration of a new run or of the one to resume.
func (f *trainFlags) load(cmd *cobra.Command, a *app) (run.Config, error) {
	if cmd.Flags().Changed("seed") {
		return f.Load(&a.seed)
	}
	return f.Load(nil)
}

func printRun(a *app, res *run.Result, dir string) error {
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	before := map[string]float64{}
	for _, m := range res.Untrained {
		before[m.Key()] = m.Value
	}
	if len(before) > 0 {
		after, start := fmt.Sprintf("epoch %d", res.Epoch), "before training"
		if res.Place > 0 && res.Place < 1 {
			after += fmt.Sprintf(", at %g of the way to it", res.Place)
		}
		if res.Computed > 0 {
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
	if res.Beside != "" {
		fmt.Fprintln(a.err, res.Beside)
	}
	_, err := fmt.Fprintf(a.out, "%s\n", dir)
	return err
}

func printReference(a *app) error {
	return a.answer(run.Reference(), func() error { return cli.PrintReference(a.out) })
}
