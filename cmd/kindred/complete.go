package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/app/remote/datasets"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run"
)

// completion completes the word that is being typed.
type completion = cobra.CompletionFunc

// addCompletions turns off the completion of files for the arguments and the flags below cmd that take no file
// and have no completion of their own.
func addCompletions(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = completeNothing
	}
	visit := func(f *pflag.Flag) {
		if _, there := cmd.GetFlagCompletionFunc(f.Name); !there && isNumber(f.Value.Type()) {
			newFlags(cmd).complete(f.Name, completeNothing)
		}
	}
	cmd.Flags().VisitAll(visit)
	cmd.PersistentFlags().VisitAll(visit)
	for _, c := range cmd.Commands() {
		addCompletions(c)
	}
}

// mapList applies of to every entry of a list. It returns nil for an empty list.
func mapList[S, T any](list []S, of func(S) T) (out []T) {
	for _, s := range list {
		out = append(out, of(s))
	}
	return out
}

// isNumber reports whether a type of flags, as package pflag names it, has values that
// cannot be files.
func isNumber(typ string) bool {
	typ = strings.TrimPrefix(typ, "u")
	return typ == "duration" || strings.HasPrefix(typ, "int") || strings.HasPrefix(typ, "float")
}

// completeNothing offers no completion, not even files.
func completeNothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func completeWords(list ...string) completion {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

func completeYAML(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// completeOne applies f to the only argument of a command.
func completeOne(f completion) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, typed)
	}
}

// completeTwo completes a first argument and a second one.
func completeTwo(first, second completion) completion {
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

// completeList completes the last entry of a list, with entries that it does not have yet.
func completeList(list ...string) completion {
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

// metricNames returns the names of all metrics, with some K and a usual rate.
func metricNames() (names []string) {
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

func fieldLosses() []string {
	return append([]string{"first", "second", "vanilla"}, objective.LossNames()...)
}

func completeKnownSets(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := mapList(datasets.Catalog(), func(s datasets.Set) string { return s.Name + "\t" + s.About })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeDatasets completes the name of a data set that is on this machine, or a path.
func completeDatasets(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	dir := ""
	if f := cmd.Flag(cli.DataDir); f != nil {
		dir = f.Value.String()
	}
	home, err := data.Home(dir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	for _, s := range listSets(home) {
		if s.Present && strings.HasPrefix(s.Name, typed) {
			names = append(names, s.Name+"\t"+s.About)
		}
	}
	return names, cobra.ShellCompDirectiveDefault
}

func completeWeights(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := mapList(weights.Catalog(), func(e weights.Entry) string {
		return fmt.Sprintf("%s\t%s, %s", e.Name, bytesUnit(e.Bytes), e.Trained)
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeNetwork completes the name or the file of a network.
func completeNetwork(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	names, _ := completeWeights(cmd, args, typed)
	return names, cobra.ShellCompDirectiveDefault
}

// completeRuns completes the folder of a run: runs here and in runs/, or any folder
// on the way to one.
func completeRuns(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
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

// completeRunOrFile completes the folder of a run, or else any file.
func completeRunOrFile(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	dirs, _ := completeRuns(cmd, args, typed)
	return dirs, cobra.ShellCompDirectiveDefault
}

func completeExperiments(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := append(paper.Names(), paper.DefaultsTable, paper.RecipesTable, "list", "document")
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeTunable completes the experiments whose settings a sweep can choose.
func completeTunable(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := slices.DeleteFunc(paper.Names(), func(name string) bool {
		e := paper.Find(name)
		return e.Space == nil || e.Space.Of != ""
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeOfExperiment completes names that belong to an experiment, such as its arms, once the experiment is typed.
func completeOfExperiment(names func(e *paper.Experiment) []string) completion {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			if e := paper.Find(args[0]); e != nil {
				return names(e), cobra.ShellCompDirectiveNoFileComp
			}
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func armNames(e *paper.Experiment) []string {
	return mapList(e.Arms, func(a paper.Arm) string { return a.Name })
}

func scaleNames(e *paper.Experiment) []string {
	return mapList(e.Scales, func(s paper.Scale) string { return s.Name })
}

// completeSetting completes section.key=value: first the key, then the value if it has
// only a few.
func completeSetting(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if key, _, ok := strings.Cut(typed, "="); ok {
		return keyValues(key), cobra.ShellCompDirectiveNoFileComp
	}
	keys := mapList(run.Keys(), func(k run.Key) string { return strings.TrimSuffix(k.Name+"=\t"+k.Help, "\t") })
	return keys, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeLossOption completes key=value of kindred loss.
func completeLossOption(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if key, _, ok := strings.Cut(typed, "="); ok {
		list := append(keyValues("loss."+key), keyValues("mine."+key)...)
		bare := func(v string) string { return strings.SplitN(v, ".", 2)[1] }
		return mapList(list, bare), cobra.ShellCompDirectiveNoFileComp
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
		list = mapList(datasets.Catalog(), func(s datasets.Set) string { return s.Name })
	case "network.pretrained":
		if home, err := weights.Home(""); err == nil {
			list = mapList(weights.Cached(home), func(e weights.Entry) string { return e.Path(home) })
		}
	case "eval.metrics":
		list = metricNames()
	default:
		for _, k := range run.Keys() {
			if k.Name == key {
				list = k.Values
			}
		}
	}
	return mapList(list, func(v string) string { return key + "=" + v })
}
