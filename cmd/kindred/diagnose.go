package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/diagnosisreport"
	"github.com/kindred-ml/kindred/run"
)

type diagnoseFlags struct {
	outputs.Folder
	embeddings          string
	labels, label, fine string
	distance, set       string
	margin              float64
	anchors, classes    int
	strict              bool
}

func newDiagnose(a *console.Console) *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:               "diagnose EMBEDDINGS|RUN... | --embeddings FILE [--labels FILE]",
		ValidArgsFunction: complete.RunOrFile,
		Short:             "Check whether an embedding has collapsed its classes",
		Long: `diagnose measures how much structure an embedding has kept within its classes:
their extent compared with the distance to the next class, their modes, the spectrum
of singular values, alignment and uniformity, active triplets, NMI as a function of the
number of clusters, and Recall@1 by the training labels and by finer ones. It
prints a verdict with its figures. An argument is a file of embeddings or the
folder of a run; several are compared side by side. --embeddings names a file,
as in kindred eval.

The training labels are the column coarse, else label; the finer ones are the
column fine, or label if the training labels are called coarse.`,
		Example: `  kindred diagnose runs/mnist --out diagnosis
  kindred diagnose E.npy --labels Y.csv --label alphabet --fine letter
  kindred diagnose --embeddings E.npy --labels Y.npy
  kindred diagnose runs/random runs/easy --out comparison`,
		Args: func(_ *cobra.Command, args []string) error {
			if f.embeddings == "" && len(args) == 0 {
				return cli.Usagef("missing argument: a file of embeddings or the folder of a run")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.embeddings != "" {
				args = append([]string{f.embeddings}, args...)
			}
			return runDiagnose(cmd, a, &f, args)
		},
	}
	fs := flags.New(cmd)
	fs.Embeddings(&f.embeddings, "file of embeddings; the same as an argument")
	fs.Labels(&f.labels, "labels for all files of embeddings")
	fs.Text(&f.label, "label", "", "column of the training labels", complete.Nothing)
	fs.Text(&f.fine, "fine", "", "column of finer labels", complete.Nothing)
	fs.Distance(&f.distance, "euclidean", "", "euclidean", "cosine")
	fs.Text(&f.set, "set", "test",
		"which set of a run: test, seen (test samples of the training classes) or train",
		complete.Words("test", "seen", "train"))
	fs.Float64Var(&f.margin, "margin", 0.2, "margin of active triplets, in squared distance")
	fs.IntVar(&f.anchors, "anchors", 5000, "most anchors to use for the triplet measures")
	fs.IntVar(&f.classes, "classes", 20, "most classes to list on the terminal")
	cli.AddStrictRows(fs.FlagSet, &f.strict)
	f.Add(cmd, "folder for diagnosis.json, .md and .html and for the classes and triplets as CSV")
	return cmd
}

func runDiagnose(cmd *cobra.Command, a *console.Console, f *diagnoseFlags, args []string) error {
	d, err := eval.ParseDistance(f.distance)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if err := cmp.Or(flags.CheckPositive("margin", f.margin), flags.CheckAtLeast("anchors", f.anchors, 1),
		flags.CheckAtLeast("classes", f.classes, 0)); err != nil {
		return err
	}
	if set, err := run.ParseSet(f.set); err != nil || set == run.GallerySet {
		return cli.Usagef("--set %q: want test, seen or train", f.set)
	}
	if err := f.Choose("", diagnosisFiles(args)...); err != nil {
		return err
	}
	if err := f.Make(); err != nil {
		return err
	}
	var named []namedDiagnosis
	for _, arg := range args {
		in, err := f.load(a, arg)
		if err != nil {
			return err
		}
		r, err := eval.Diagnose(cmd.Context(), in, eval.DiagnosisOptions{
			Distance: d, Margin: f.margin, Anchors: f.anchors, Seed: a.Seed,
			Progress: func(stage string) { fmt.Fprintf(a.Err, "%s: %s\n", escape.Name(arg), stage) },
		})
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		named = append(named, namedDiagnosis{inputs.BaseName(arg), f.describeInput(arg), r})
	}
	if f.Dir != "" {
		if err := f.writeDiagnoses(named); err != nil {
			return err
		}
	}
	if a.JSON {
		if len(named) == 1 {
			return a.PrintJSON(named[0])
		}
		return a.PrintJSON(named)
	}
	for i, n := range named {
		if len(named) > 1 {
			if i > 0 {
				fmt.Fprintln(a.Out)
			}
			fmt.Fprintf(a.Out, "== %s ==\n", escape.Name(n.Name))
		}
		if err := n.WriteText(a.Out, f.classes); err != nil {
			return err
		}
	}
	return nil
}

type namedDiagnosis struct {
	Name string `json:"name"`
	set  string // of a run's samples, or the file
	*eval.Diagnosis
}

// describeInput names what is read for an argument: a set of samples of a run, or a file.
func (f *diagnoseFlags) describeInput(arg string) string {
	if st, err := os.Stat(arg); err != nil || !st.IsDir() {
		return filepath.Base(arg) + ", "
	}
	return map[string]string{"test": "the test set, ", "seen": "test samples of the training classes, ",
		"train": "the training set, "}[f.set]
}

// load reads the embeddings of an argument: a file, or a run's folder.
func (f *diagnoseFlags) load(a *console.Console, arg string) (eval.DiagnosisInput, error) {
	l, err := f.open(a, arg)
	if err != nil {
		return eval.DiagnosisInput{}, err
	}
	if l, err = l.Coarse(f.label, f.fine); err != nil {
		return eval.DiagnosisInput{}, fmt.Errorf("%s: %w", arg, err)
	}
	if l, _, err = inputs.KeepLabelled(a, l, arg, f.strict); err != nil {
		return eval.DiagnosisInput{}, err
	}
	ids, names := l.NamedLabels()
	in := eval.DiagnosisInput{X: l.X, Labels: ids[0], Names: names[0]}
	if len(ids) > 1 {
		in.Fine = ids[1]
	}
	return in, nil
}

// open reads the table of an argument, with the labels of --labels if they are
// given.
func (f *diagnoseFlags) open(a *console.Console, arg string) (*embedding.Table, error) {
	st, err := inputs.StatArg(arg, inputs.WantRun, inputs.WantVectors)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return inputs.ReadTable(a, arg, f.labels)
	}
	set, err := run.ParseSet(f.set)
	if err != nil {
		return nil, err
	}
	r, err := run.Open(arg)
	if err != nil {
		return nil, err
	}
	t, err := r.Embeddings(set)
	if err != nil || f.labels == "" {
		return t, err
	}
	return inputs.AddLabels(a, t, f.labels)
}

// diagnosisPrefix begins the names of the files of the i-th of n diagnoses.
func diagnosisPrefix(i, n int, name string) string {
	if n == 1 {
		return ""
	}
	return strconv.Itoa(i+1) + "_" + name + "_"
}

// diagnosisFiles are the files that writeDiagnoses writes of what args name.
func diagnosisFiles(args []string) []string {
	names := []string{"diagnosis.html"}
	for i, arg := range args {
		for _, name := range []string{"diagnosis.json", "diagnosis.md", "classes.csv", "triplets.csv"} {
			names = append(names, diagnosisPrefix(i, len(args), inputs.BaseName(arg))+name)
		}
	}
	return names
}

// writeDiagnoses writes the files of all diagnoses, prefixed by their names if
// there are several, and one page.
func (f *diagnoseFlags) writeDiagnoses(named []namedDiagnosis) error {
	var texts []results.Text
	var drawn []diagnosisreport.Diagnosis
	for i, n := range named {
		prefix := diagnosisPrefix(i, len(named), n.Name)
		texts = append(texts,
			results.NewText(prefix+"diagnosis.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(n) }),
			results.NewText(prefix+"diagnosis.md", n.WriteMarkdown),
			results.NewText(prefix+"classes.csv", n.WriteClassesCSV),
			results.NewText(prefix+"triplets.csv", n.WriteTripletsCSV))
		d := diagnosisreport.NewDiagnosis(n.Name, n.Diagnosis)
		d.About = n.set + d.About + "."
		drawn = append(drawn, d)
	}
	page := report.Page{Title: "Diagnosis", Lead: "Has the embedding collapsed its classes, and does it order the " +
		"samples within a class?", Sections: diagnosisreport.Sections(drawn...)}
	_, err := f.WriteResults(append(texts, results.NewText("diagnosis.html", outputs.HTMLWriter(page)))...)
	return err
}
