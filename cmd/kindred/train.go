package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/escape"
	"github.com/kindred-ml/kindred/internal/progress"
	"github.com/kindred-ml/kindred/internal/remotedata"
	"github.com/kindred-ml/kindred/internal/report/photo"
	"github.com/kindred-ml/kindred/internal/weights"
	"github.com/kindred-ml/kindred/internal/yamltext"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run"
)

// trainFlags are the options of kindred train as typed.
type trainFlags struct {
	config, data, dataDir string
	set                   []string
	out, resume           string
	force                 bool
	printConfig           bool
	outside               bool
	weightsDir            string
	offline               bool
}

func newTrain(a *app) *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:   "train [-c FILE] [--data PATH] [--set KEY=VALUE ...]",
		Short: "Train an embedding",
		Long: `train trains a network from images or features to an embedding and writes a run
folder:

  config.yaml                       every setting, resolved
  metrics.csv, timing.csv           one line per epoch
  metrics.jsonl                     the metrics as JSON
  model.safetensors, model.json     the network
  checkpoint/                       what --resume continues from
  embeddings.npy, labels.csv        those of the test split
  report.html                       all of it as one page

A folder that holds other files, or a run, is left alone: --resume continues a
run and writes whatever an interruption or a kill left unwritten, and --force
replaces it.

Every key of the configuration can be set by --set section.key=value;
'kindred train --print-config' prints them all with their meaning.`,
		Example: `  kindred train --data mnist
  kindred train --data photos/ --set train.epochs=20 --out runs/photos
  kindred train -c run.yaml --set mine.positives=random
  kindred train --resume runs/photos`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runTrain(cmd, a, &f) },
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.config, "config", "c", "", "configuration (YAML)")
	fs.StringVar(&f.data, "data", "", "data set by name, folder, manifest or benchmark root; short for data.path")
	fs.StringVar(&f.dataDir, "data-dir", "",
		"folder with the data sets known by name; default $"+data.EnvHome+", else one in the user's cache")
	addOutside(cmd, &f.outside)
	fs.StringArrayVar(&f.set, "set", nil, "set a key of the configuration: section.key=value; may be repeated")
	fs.StringVar(&f.out, "out", "", "run folder; default runs/NAME, with a number if that is taken")
	fs.StringVar(&f.resume, "resume", "", "continue the run in this folder")
	fs.BoolVar(&f.force, "force", false,
		"replace the run in the folder of --out: its files are removed, others are kept")
	f.addWeights(cmd)
	fs.BoolVar(&f.printConfig, "print-config", false, "print the keys of the configuration and stop")
	return cmd
}

// addWeights adds the flags that say where pretrained networks are.
func (f *trainFlags) addWeights(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.weightsDir, "weights-dir", "",
		"folder with pretrained networks; default $"+weights.EnvHome+", else one in the user's cache")
	cmd.Flags().BoolVar(&f.offline, "offline", false,
		"do not fetch pretrained networks: use those in the weights folder")
}

func runTrain(cmd *cobra.Command, a *app, f *trainFlags) error {
	if f.printConfig {
		return printReference(a)
	}
	cfg, err := f.load(cmd, a)
	if err != nil {
		return err
	}
	bar := progress.New(a.err, "")
	bar.Pace = true
	m := a.newMeter("features", countUnit)
	defer m.close()
	opts := run.Options{
		Dir: f.out, Resume: f.resume != "", Force: f.force, Home: dataHome(f.dataDir), Formats: formats(),
		Weights: a.findWeights(f), Begin: a.announce(m), Observe: bar.Observe, Features: m.count,
	}
	if opts.Resume {
		opts.Dir = f.resume
	} else if opts.Dir == "" {
		opts.Dir, opts.Free = filepath.Join("runs", cfg.Name()), true
	}
	if remotedata.Is(cfg.Data.Path) {
		cfg.Data.Cache = true // every image is asked for once
		opts.Dataset, err = remotedata.Open(cmd.Context(), cfg.Data.Path, data.OpenOptions{Crop: cfg.Data.Crop,
			Outside: cfg.Data.Outside})
		if err != nil {
			return err
		}
		defer opts.Dataset.Close()
	}
	res, err := run.Train(cmd.Context(), cfg, opts)
	var stopped *run.Stopped
	if errors.As(err, &stopped) {
		return resumable{err, stopped.Where(), f.goOn(stopped.Dir)}
	} else if err != nil {
		return err
	}
	if err := writeRunReport(cmd.Context(), res.Dir, opts.Home, cfg.Train.Seed); err != nil {
		return err
	}
	a.sayLeftOut(res.LeftOut)
	next := f.next(res, opts.Home)
	if a.json {
		return a.printJSON(trainResult{res.Summary(res.Dir), next})
	}
	if err := printRun(a, res, res.Dir); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "what looks like one of the photos, and the run on a page:\n  %s\n", strings.Join(next, "\n  "))
	return nil
}

// trainResult is what kindred train --json prints.
type trainResult struct {
	run.Summary
	// Next are commands that go on from here.
	Next []string `json:"next"`
}

// goOn is the command that continues the run in dir.
func (f *trainFlags) goOn(dir string) string {
	words := []string{os.Args[0], "train", "--resume", dashed(dir)}
	return commandLine(append(words, f.folders()...)...)
}

// folders are the flags that say where data sets and pretrained networks are, as
// they were given.
func (f *trainFlags) folders() (words []string) {
	for _, g := range [][2]string{{"--data-dir", f.dataDir}, {"--weights-dir", f.weightsDir}} {
		if g[1] != "" {
			words = append(words, g[0], g[1])
		}
	}
	return words
}

// announce says, before the first step, what is about to be done. m is the meter of
// what came before.
func (a *app) announce(m *meter) func(run.Setup) {
	return func(s run.Setup) {
		m.close()
		fmt.Fprint(a.err, escape.Text(s.String()))
	}
}

// next lists the commands that go on from a run that has ended: what looks like one
// of its photos, and the run on a page.
func (f *trainFlags) next(res *run.Result, home string) []string {
	c := &res.Config.Data
	what, dir := dashed(cmp.Or(c.Path, c.Name)), dashed(res.Dir)
	flags := func(words ...string) string {
		if f.dataDir != "" {
			words = append(words, "--data-dir", f.dataDir)
		}
		return commandLine(append([]string{os.Args[0]}, words...)...)
	}
	embeddings := filepath.Join(dir, "embeddings.npy")
	look := flags("neighbours", "--embeddings", embeddings, "--data", what, "--out", dir+"-neighbours")
	if res.Test.Part.Data.Features != nil {
		look = commandLine(os.Args[0], "neighbours", "--embeddings", embeddings, "--out", dir+"-neighbours")
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

// dashed is a path that no command takes for a flag.
func dashed(path string) string {
	if strings.HasPrefix(path, "-") {
		return "./" + path
	}
	return path
}

// load reads the configuration of a new run or of the one to resume.
func (f *trainFlags) load(cmd *cobra.Command, a *app) (run.Config, error) {
	file, set := f.config, f.set
	if f.resume != "" {
		if f.config != "" || f.data != "" || f.out != "" || f.force {
			return run.Config{}, usagef("--resume continues a run as it was configured and cannot be combined with " +
				"-c, --data, --out or --force")
		}
		folder, err := run.Open(f.resume)
		if errors.Is(err, fs.ErrNotExist) {
			return run.Config{}, fmt.Errorf("nothing to resume: %s is not the folder of a run", f.resume)
		} else if err != nil {
			return run.Config{}, err
		}
		file = folder.ConfigPath()
	}
	if f.data != "" {
		if !utf8.ValidString(f.data) {
			return run.Config{}, usagef("--data %q is not valid UTF-8: rename it", f.data)
		}
		set = append([]string{"data.path=" + fmt.Sprintf("%q", f.data)}, set...)
	}
	if f.outside {
		set = append(set, "data.outside=true")
	}
	if cmd.Flags().Changed("seed") {
		set = append([]string{fmt.Sprintf("train.seed=%d", a.seed)}, set...)
	}
	var text []byte
	if file != "" {
		var err error
		if text, err = yamltext.ReadFile(file); f.resume != "" && errors.Is(err, fs.ErrNotExist) {
			return run.Config{}, fmt.Errorf("nothing to resume: %s is not the folder of a run", f.resume)
		} else if err != nil {
			return run.Config{}, err
		}
	}
	cfg, err := run.Parse(file, text, set...)
	if err != nil {
		return cfg, usageError{err}
	}
	return cfg, nil
}

// writeRunReport writes the page of one run into its folder.
func writeRunReport(ctx context.Context, dir, home string, seed uint64) error {
	f, err := run.Open(dir)
	if err != nil {
		return err
	}
	_, err = writeReport(ctx, []string{dir}, f.ReportPath(), home, seed)
	return err
}

func printRun(a *app, res *run.Result, dir string) error {
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	before := map[string]float64{}
	for _, m := range res.Untrained {
		before[m.Key()] = m.Value
	}
	if len(before) > 0 {
		fmt.Fprintf(tw, "\tepoch %d\tbefore training\n", res.Epoch)
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
	_, err := fmt.Fprintf(a.out, "%s\n", dir)
	return err
}

func printReference(a *app) error {
	if a.json {
		return a.printJSON(run.Reference())
	}
	section := ""
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, k := range run.Reference() {
		s, name, _ := strings.Cut(k.Name, ".")
		if s != section {
			fmt.Fprintf(tw, "%s:\n", s)
			section = s
		}
		fmt.Fprintf(tw, "  %s: %s\t# %s\n", name, k.Default, k.Help)
	}
	fmt.Fprintf(tw, "mine and loss:\tsee 'kindred loss --help'; also\n  loss.relation: %v\t# which labels make "+
		"positives: %s\n", objective.Equal, strings.Join(objective.RelationRuleNames(), ", "))
	return tw.Flush()
}
