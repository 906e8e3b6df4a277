package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/progress"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// newReproduce returns the command reproduce.
//
// Long: its help and its flags are most of it.
func newReproduce(a *console.Console) *cobra.Command {
	var o paper.Options
	var dataDir, path, features, backbone string
	var size int
	var queued queues.Flags
	var from []string
	cmd := &cobra.Command{
		Use:               "reproduce NAME",
		ValidArgsFunction: complete.One(complete.Experiments),
		Short:             "Run a paper's experiment and judge its statements",
		Long: `reproduce trains every arm of an experiment with several seeds, prints its
table, and writes report.html with the figures, results.json, and a run folder
for each arm and seed. Finished runs are kept: the same command, given again,
goes on where it stopped, and more --seeds add runs.

Each statement of the paper gets a verdict: it holds (the sign is the paper's,
p < 0.05 by a paired t-test, corrected for the statements of the experiment, at
least three seeds), it is contradicted (the opposite sign, by the same test), or it
is undecided. One or two seeds decide nothing.

Published numbers are shown only if the data are the paper's: the set opened by
its name, complete, with the experiment's classes, labels and split. With --data,
--features, --fast or settings that select other samples they are left out, and
the title names the data.

'kindred reproduce list' shows the experiments with their seeds and scales, and
whether a sweep chose their settings ('to be swept': there are ranges, but no
sweep yet). 'kindred reproduce tune' chooses an experiment's settings without its
test. 'kindred reproduce document' writes one Markdown page, --out (default
docs/reproduction.md), from the results in results/NAME.json beside it. --from
DIR,... first copies the results and figures of finished experiments there. Other
pages in that folder that quote results between marks are updated.

'kindred reproduce defaults' runs the experiments called defaults-..., in folders
below --out (default reports/defaults). It prints one table: the scores of kindred
train without settings on many sets, beside those of the untrained network. Missing
sets are left out. 'kindred reproduce document --from reports/defaults' stores the
results.

'kindred reproduce recipes' does the same with the experiments called recipes-...: the
scores of kindred train after --minutes, beside those of other toolkits' recipes, which
--peer trains for as long, from the same network, with the same split and image size.`,
		Example: `  kindred reproduce mnist
  kindred reproduce mnist --seeds 1 --out reports/quick
  kindred reproduce omniglot --seeds 3
  kindred reproduce mnist --queue queue/ --out reports/shared
  kindred reproduce omniglot-epochs --seeds 3 --reuse reports/omniglot
  kindred reproduce mnist --fast --set train.lr=0.0005 --out try
  kindred reproduce defaults --set network.pretrained=model.onnx
  kindred reproduce defaults-coins --set network.pretrained=model.onnx
  kindred reproduce recipes --peer bench/recipes.py --minutes 2 --set network.pretrained=model.onnx`,
		Args: exactArgs("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, table := paper.Find(args[0]), args[0]
			if e != nil {
				table = e.Table()
			}
			if err := checkRecipes(cmd, a, table, &o, &queued); err != nil {
				return err
			}
			switch args[0] {
			case "list":
				return listExperiments(a)
			case "document":
				return paper.WriteDocument(cmp.Or(o.Dir, filepath.Join("docs", "reproduction.md")), from...)
			}
			o.Set = append(shortcutSettings(path, features, backbone, size), o.Set...)
			if e == nil && table != paper.DefaultsTable && table != paper.RecipesTable {
				return cli.Usagef("unknown experiment %q: want one of %s", args[0], strings.Join(paper.Names(), ", "))
			}
			if err := cmp.Or(flags.CheckAtLeast("jobs", o.Jobs, 1), flags.CheckAtLeast("size", size, 0)); err != nil {
				return err
			}
			if cmd.Flags().Changed("seeds") && o.Seeds < 1 {
				return cli.Usagef("--seeds %d: want at least 1", o.Seeds)
			}
			o.Seed, o.Home, queued.DataDir = a.Seed, inputs.DataFolder(dataDir), dataDir
			if e == nil {
				if path+features != "" {
					return cli.Usagef("--data and --features apply to one experiment; %s has many data sets", args[0])
				}
				o.Dir = cmp.Or(o.Dir, filepath.Join("reports", table))
				return runTable(cmd, a, table, o, &queued)
			}
			o.Dir = cmp.Or(o.Dir, experimentFolder(e))
			if _, err := e.Config(o); err != nil {
				return cli.UsageError{Err: err}
			}
			return runReproduce(cmd, a, e, o, &queued)
		},
	}
	fs := flags.New(cmd)
	fs.IntVar(&o.Seeds, "seeds", 0, "runs of each arm, with consecutive seeds from --seed (default: the experiment's "+
		"own, three or more, shown by 'kindred reproduce list'; 1 with --fast)")
	fs.BoolVar(&o.Fast, "fast", false, "use a subset, few epochs and one seed, to check that everything works")
	fs.Text(&o.Dir, "out", "", "folder of the results (default reports/NAME); document: the page", complete.Folders)
	fs.Text(&o.Scale, "scale", "",
		"size of the experiment, as 'kindred reproduce list' shows; default: the first",
		complete.OfExperiment(complete.ScaleNames))
	fs.Repeated(&o.Arms, "arm", "run only this arm; may be repeated; the others can be added later",
		complete.OfExperiment(complete.ArmNames))
	fs.Jobs(&o.Jobs)
	fs.Text(&path, "data", "",
		"folder, manifest or benchmark root to use instead of the experiment's data set (data.path)", complete.Datasets)
	fs.Text(&features, "features", "",
		"file of ready features to use instead of images (data.path), with a linear network", complete.Files)
	fs.Text(&backbone, "backbone", "", "network to use (network.name)", complete.Words(zoo.Networks()...))
	fs.IntVar(&size, "size", 0, "side of the images in pixels (data.size)")
	fs.List(&o.Reuse, "reuse", nil,
		"folders of other experiments; their finished runs with the same settings and seed are copied, not repeated",
		complete.Folders)
	fs.List(&from, "from", nil, "document: folders of finished experiments, whose results are stored first",
		complete.Folders)
	fs.Repeated(&o.Set, "set", "change a setting of all arms, as in kindred train: section.key=value", complete.Setting)
	fs.DataDir(&dataDir)
	addRecipes(fs, &o)
	queued.AddLeader(cmd)
	cmd.AddCommand(newTune(a))
	return cmd
}

// shortcutSettings returns the settings that the flags are short for.
func shortcutSettings(path, features, backbone string, size int) []string {
	var set []string
	if path != "" {
		set = append(set, fmt.Sprintf("data.path=%q", path))
	}
	if features != "" {
		set = append(set, fmt.Sprintf("data.path=%q", features), "network.name=linear", "data.augment=none")
	}
	if backbone != "" {
		set = append(set, "network.name="+backbone)
	}
	if size > 0 {
		set = append(set, fmt.Sprintf("data.size=%d", size))
	}
	return set
}

func listExperiments(a *console.Console) error {
	type listed struct {
		Name   string   `json:"name"`
		Title  string   `json:"title"`
		Source string   `json:"source"`
		Arms   []string `json:"arms"`
		Seeds  int      `json:"seeds"`
		Scales []string `json:"scales,omitempty"`
		// Settings says whether a sweep chose them, and at which scale.
		Settings string `json:"settings"`
	}
	var all []listed
	for _, name := range paper.Names() {
		e := paper.Find(name)
		l := listed{Name: e.Name, Title: e.Heading(), Source: e.Source, Arms: complete.ArmNames(e),
			Seeds:  e.DefaultSeeds(false),
			Scales: complete.ScaleNames(e)}
		var err error
		if l.Settings, err = e.SettingsSource(); err != nil {
			return err
		}
		all = append(all, l)
	}
	if a.JSON {
		return a.PrintJSON(all)
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, l := range all {
		fmt.Fprintf(w, "%s\t%s\t%d arms\t%d seeds\t%s\tsettings %s\n", l.Name, l.Title, len(l.Arms), l.Seeds,
			strings.Join(l.Scales, ", "), l.Settings)
	}
	return w.Flush()
}

func runReproduce(cmd *cobra.Command, a *console.Console, e *paper.Experiment, o paper.Options,
	queued *queues.Flags) error {
	out, err := reproduce(cmd, a, e, o, queued)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	fmt.Fprintf(a.Out, "%s\n%s\n\n%s\n%s\nHow the settings were chosen: %s\n\n", out.Title, out.Source,
		out.Table().Narrow(), out.Statements(), out.Tuning)
	if n, needed := out.DecidingSeeds(); needed && !o.Fast {
		fmt.Fprintf(a.Out, "To decide, go on with %d seeds (the finished runs are kept):\n  %s\n\n", n,
			escape.Command(withSeeds(os.Args, n)...))
	}
	_, err = fmt.Fprintf(a.Out, "report: %s\n", filepath.Join(o.Dir, paper.ReportFile))
	return err
}

// withSeeds returns a command line with another --seeds.
func withSeeds(args []string, n int) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--seeds":
			i++ // its value
		case !strings.HasPrefix(args[i], "--seeds="):
			out = append(out, args[i])
		}
	}
	return append(out, "--seeds", strconv.Itoa(n))
}

// reproduce runs an experiment and writes its folder.
func reproduce(cmd *cobra.Command, a *console.Console, e *paper.Experiment, o paper.Options, queued *queues.Flags) (
	*paper.Outcome, error) {
	held, err := paper.LockFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	if err := inputs.FetchData(cmd.Context(), a, e, o); err != nil {
		return nil, err
	}
	if queued.Queue != "" {
		q, err := queued.OpenAsLeader(cmd.Context(), a, queued.NewKit(a))
		if err != nil {
			return nil, err
		}
		defer q.Close()
		o.Runner = shards.ExperimentRunner{Runner: q, Dir: o.Dir}
	}
	bars := map[string]*progress.Bar{}
	o.Weights = inputs.FindWeights(a, cli.WeightsFlags{})
	o.Begin = func(arm string, seed uint64, s run.Setup) {
		name := fmt.Sprintf("%s, seed %d: ", arm, seed)
		bars[name] = progress.New(a.Terminal(), name)
		bars[name].Note(s.Notes)
	}
	o.Observe = func(arm string, seed uint64, ev train.Event) {
		bars[fmt.Sprintf("%s, seed %d: ", arm, seed)].Observe(ev)
	}
	out, err := paper.Reproduce(cmd.Context(), e, o)
	if stopped := (*run.StoppedError)(nil); errors.As(err, &stopped) {
		return nil, cli.ResumableError{Err: err, Where: stopped.Location(), Command: escape.Command(os.Args...)}
	} else if err != nil {
		return nil, err
	}
	return out, out.Write(cmd.Context())
}
