// Package complete completes the words of a command line that is being typed.
package complete

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/app/remote/datasets"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run"
)

// Func completes the word that is being typed.
type Func = cobra.CompletionFunc

// Nothing offers no completion, not even files.
func Nothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// Words completes one of a list of words.
func Words(list ...string) Func {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// YAML completes files of YAML.
func YAML(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// Folders completes folders.
func Folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// Files completes any file.
func Files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// One applies f to the only argument of a command.
func One(f Func) Func {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, typed)
	}
}

// Two completes a first argument and a second one.
func Two(first, second Func) Func {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return first(cmd, args, typed)
		case 1:
			return second(cmd, args, typed)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// List completes the last entry of a list, with entries that it does not have yet.
func List(list ...string) Func {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		have := strings.Split(before, ",")
		var out []string
		for _, w := range list {
			if !slices.Contains(have, w) {
				out = append(out, before+w)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// KnownSets completes the names of data sets that can be fetched.
func KnownSets(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := cli.Map(datasets.Catalog(), func(s datasets.Set) string { return s.Name + "\t" + s.About })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Datasets completes the name of a data set that is on this machine, or a path.
func Datasets(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	dir := ""
	if f := cmd.Flag(cli.DataDir); f != nil {
		dir = f.Value.String()
	}
	home, err := data.Home(dir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	for _, s := range datasets.List(home) {
		if s.Present && strings.HasPrefix(s.Name, typed) {
			names = append(names, s.Name+"\t"+s.About)
		}
	}
	return names, cobra.ShellCompDirectiveDefault
}

// Weights completes the names of pretrained networks.
func Weights(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := cli.Map(weights.Catalog(), func(e weights.Entry) string {
		return fmt.Sprintf("%s\t%s, %s", e.Name, console.Bytes(e.Bytes), e.Trained)
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Network completes the name or the file of a network.
func Network(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	names, _ := Weights(cmd, args, typed)
	return names, cobra.ShellCompDirectiveDefault
}

// Runs completes the folder of a run: runs here and in runs/, or any folder
// on the way to one.
func Runs(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	patterns := []string{typed + "*"}
	if !strings.ContainsRune(typed, os.PathSeparator) {
		patterns = append(patterns, filepath.Join("runs", typed+"*"))
	}
	var dirs []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil { // the name looks like a pattern
			continue
		}
		for _, dir := range found {
			if run.Exists(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	if len(dirs) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return dirs, cobra.ShellCompDirectiveNoFileComp
}

// RunOrFile completes the folder of a run, or else any file.
func RunOrFile(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	dirs, _ := Runs(cmd, args, typed)
	return dirs, cobra.ShellCompDirectiveDefault
}

// Experiments completes the names of experiments and of their tables.
func Experiments(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := append(paper.Names(), paper.DefaultsTable, paper.RecipesTable, "list", "document")
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Tunable completes the experiments whose settings a sweep can choose.
func Tunable(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := slices.DeleteFunc(paper.Names(), func(name string) bool {
		e := paper.Find(name)
		return e.Space == nil || e.Space.Of != ""
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// OfExperiment completes names that belong to an experiment, such as its arms, once the experiment is typed.
func OfExperiment(names func(e *paper.Experiment) []string) Func {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			if e := paper.Find(args[0]); e != nil {
				return names(e), cobra.ShellCompDirectiveNoFileComp
			}
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// Setting completes section.key=value: first the key, then the value if it has
// only a few.
func Setting(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if key, _, ok := strings.Cut(typed, "="); ok {
		return keyValues(key), cobra.ShellCompDirectiveNoFileComp
	}
	keys := cli.Map(run.Keys(), func(k run.Key) string { return strings.TrimSuffix(k.Name+"=\t"+k.Help, "\t") })
	return keys, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// LossOption completes key=value of kindred loss.
func LossOption(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if key, _, ok := strings.Cut(typed, "="); ok {
		list := append(keyValues("loss."+key), keyValues("mine."+key)...)
		bare := func(v string) string { return strings.SplitN(v, ".", 2)[1] }
		return cli.Map(list, bare), cobra.ShellCompDirectiveNoFileComp
	}
	mining, ofLoss := objective.Keys(cmd.Flag("loss").Value.String())
	var out []string
	for _, k := range append(ofLoss, mining...) {
		// These keys have a flag of their own, or kindred loss does not know them.
		if !slices.Contains([]string{"name", "positives", "negatives", "relation", "plus"}, k.Name) {
			out = append(out, k.Name+"=")
		}
	}
	slices.Sort(out)
	return slices.Compact(out), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// keyValues returns key=value for all values of a key that has only a few.
func keyValues(key string) []string {
	var list []string
	switch key {
	case "data.name":
		list = cli.Map(datasets.Catalog(), func(s datasets.Set) string { return s.Name })
	case "network.pretrained":
		if home, err := weights.Home(""); err == nil {
			list = cli.Map(weights.Cached(home), func(e weights.Entry) string { return e.Path(home) })
		}
	case "eval.metrics":
		list = MetricNames()
	default:
		for _, k := range run.Keys() {
			if k.Name == key {
				list = k.Values
			}
		}
	}
	return cli.Map(list, func(v string) string { return key + "=" + v })
}

// MetricNames returns the names of all metrics, with some K and a usual rate.
func MetricNames() (names []string) {
	for _, name := range slices.Concat(eval.MetricNames()) {
		name = strings.Replace(name, "RATE", "1e-3", 1)
		if kind, ok := strings.CutSuffix(name, "@K"); ok {
			names = append(names, kind+"@1", kind+"@5", kind+"@10")
		} else {
			names = append(names, name)
		}
	}
	return names
}

// FieldLosses returns the losses of which kindred theory draws a field.
func FieldLosses() []string {
	return append([]string{"first", "second", "vanilla"}, objective.LossNames()...)
}

// ArmNames returns the names of an experiment's arms.
func ArmNames(e *paper.Experiment) []string {
	return cli.Map(e.Arms, func(a paper.Arm) string { return a.Name })
}

// ScaleNames returns the names of an experiment's scales.
func ScaleNames(e *paper.Experiment) []string {
	return cli.Map(e.Scales, func(s paper.Scale) string { return s.Name })
}
