package paper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Load reads the outcome that Write wrote in dir.
func Load(dir string) (*Outcome, error) {
	path := filepath.Join(dir, ResultsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no %s: give folders that kindred reproduce has written", dir, ResultsFile)
	} else if err != nil {
		return nil, err
	}
	out, err := parseOutcome(path, text)
	if err != nil {
		return nil, err
	}
	out.o.Dir = dir
	return out, nil
}

// parseOutcome reads an outcome. It computes titles, published numbers and verdicts again from the
// kept numbers; path is for messages.
func parseOutcome(path string, text []byte) (*Outcome, error) {
	var out Outcome
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if out.e = Find(out.Experiment); out.e == nil {
		return nil, fmt.Errorf("%s is of experiment %q, which this program does not know", path, out.Experiment)
	}
	other := fmt.Errorf("%s was made by another version of experiment %s: give the same 'kindred reproduce' command "+
		"again, which keeps finished runs", path, out.Experiment)
	if out.Data.On == "" || len(out.Seeds) == 0 {
		return nil, other
	}
	var arms []string
	for _, a := range out.Arms {
		arms = append(arms, a.Name)
		if len(a.Measures) != len(out.e.Measures) {
			return nil, other
		}
		for k, m := range a.Measures {
			if m.Key != out.e.Measures[k].Key || len(m.Values) != len(out.Seeds) {
				return nil, other
			}
		}
	}
	if len(arms) == 0 {
		return nil, fmt.Errorf("%s has no arm", path)
	}
	var err error
	if out.e, err = out.e.withArms(arms); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range out.e.Arms {
		if len(out.Arms) != len(out.e.Arms) || out.Arms[i].Name != out.e.Arms[i].Name {
			return nil, other
		}
	}
	if out.chosen, err = out.e.readTuned(out.Scale); err != nil {
		return nil, err
	}
	for i, a := range out.Arms {
		if !slices.Equal(a.Chosen, out.chosen.arm(out.e.Arms[i].tunedArm())) {
			return nil, other
		}
	}
	out.Data = out.Data.forExperiment(out.e)
	out.describe()
	out.compute()
	// The experiment's own claims may need the runs, so their comparisons are kept.
	claims := out.Claims
	out.Claims = nil
	for i, c := range out.e.Claims {
		if i >= len(claims) || claims[i].Text != c.Text {
			return nil, other
		}
		out.addClaim(&out.e.Claims[i], claims[i].Evidence, claims[i].Tests)
	}
	out.addGains()
	judgeOutcomes(&out)
	return &out, nil
}

// resultsFolder is the folder of the kept results, in the folder of a page.
const resultsFolder = "results"

// writeKept writes the numbers and the figures of the page, which must outlast the runs, into the folder
// of a page. Load must have read out.
func (out *Outcome) writeKept(folder string) error {
	if err := os.MkdirAll(filepath.Join(folder, resultsFolder), 0o777); err != nil {
		return err
	}
	short := *out
	short.Figures = out.documentFigures()
	for _, f := range short.Figures {
		if err := copyFile(filepath.Join(out.o.Dir, f.Name+".png"),
			filepath.Join(folder, out.figureFile(f))); err != nil {
			return err
		}
	}
	short.Arms = slices.Clone(out.Arms)
	for i := range short.Arms {
		short.Arms[i].Runs = nil
	}
	return short.writeNumbers(folder)
}

// writeNumbers writes results/NAME.json.
func (out *Outcome) writeNumbers(folder string) error {
	return writeJSON(filepath.Join(folder, resultsFolder, out.Experiment+".json"), out)
}

// readKeptResults reads the results in the folder of a page, in the order of Names.
func readKeptResults(folder string) ([]*Outcome, error) {
	dir := filepath.Join(folder, resultsFolder)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []*Outcome
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if name, ok := strings.CutSuffix(entry.Name(), ".md"); ok && slices.ContainsFunc(entries,
			func(e fs.DirEntry) bool { return e.Name() == name+".json" }) {
			continue // the page of an experiment
		}
		name, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok {
			return nil, fmt.Errorf("%s is neither a result of an experiment nor the page of one: remove it", path)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out, err := parseOutcome(path, text)
		if err != nil {
			return nil, err
		}
		if out.Experiment != name {
			return nil, fmt.Errorf("%s is of experiment %s: its name must be %s.json", path, out.Experiment,
				out.Experiment)
		}
		all = append(all, out)
	}
	names := Names()
	slices.SortFunc(all, func(a, b *Outcome) int {
		return slices.Index(names, a.Experiment) - slices.Index(names, b.Experiment)
	})
	return all, nil
}

// figureFile is the name of a figure's file in the folder of a page.
func (out *Outcome) figureFile(f NamedFigure) string { return out.Experiment + "-" + f.Name + ".png" }

// documentFigures returns the figures of the Markdown page: the experiment's own or, without any, the
// curves over the epochs. Rows of photographs stay in the report: they are large, and not ours to
// publish.
func (out *Outcome) documentFigures() []NamedFigure {
	if out.e.Stranger != nil { // a table of many sets
		return nil
	}
	figures := slices.DeleteFunc(slices.Clone(out.Figures),
		func(f NamedFigure) bool { return strings.HasPrefix(f.Name, queriesFigure) })
	if len(figures) < 2 {
		return figures
	}
	return slices.DeleteFunc(figures, func(f NamedFigure) bool { return f.Name == curvesFigure })
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeText(to, string(content))
}
