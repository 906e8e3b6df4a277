package paper

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/report"
)

// Load reads the outcome that Write left in dir.
func Load(dir string) (*Outcome, error) {
	path := filepath.Join(dir, ResultsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no %s: give folders that kindred reproduce has written", dir, ResultsFile)
	} else if err != nil {
		return nil, err
	}
	var out Outcome
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if out.e = Find(out.Experiment); out.e == nil {
		return nil, fmt.Errorf("%s is of experiment %q, which this program does not know", path, out.Experiment)
	}
	var arms []string
	for _, a := range out.Arms {
		arms = append(arms, a.Name)
		if len(a.Measures) != len(out.e.Measures) {
			return nil, fmt.Errorf("%s was made by another version of experiment %s: repeat it", path, out.Experiment)
		}
	}
	if len(arms) == 0 {
		return nil, fmt.Errorf("%s holds no arm", path)
	}
	if out.e, err = out.e.only(arms); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out.o.Dir = dir
	return &out, nil
}

// WriteDocument writes outcomes as one Markdown page, and copies the figures that
// it shows into a folder beside it, called as the page is without its ending.
func WriteDocument(path string, outcomes []*Outcome) error {
	var b strings.Builder
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	b.WriteString("# The papers' experiments, repeated\n\nThis page is written by `kindred reproduce document` from finished runs; edits here are lost.\n" +
		"Published numbers stand in the columns headed \"paper\". Every table comes from `kindred reproduce NAME`, which also writes a page with the figures, the settings and the curves.\n")
	for _, out := range outcomes {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\nSource: %s.\n\n", out.Title, out.e.About, out.Source)
		fmt.Fprintf(&b, "    kindred reproduce %s --seeds %d", out.Experiment, len(out.Seeds))
		if out.Scale != "" {
			fmt.Fprintf(&b, " --scale %s", out.Scale)
		}
		if out.Fast {
			b.WriteString(" --fast")
		}
		for _, s := range out.Set {
			fmt.Fprintf(&b, " --set '%s'", s)
		}
		fmt.Fprintf(&b, "\n\nTraining and evaluation took %s.%s", report.Duration(time.Duration(out.Took*float64(time.Second))), out.taken())
		if s, err := out.e.scale(out.Scale); err == nil && s.Name != "" {
			fmt.Fprintf(&b, " Scale %s: %s.", s.Name, s.About)
		}
		b.WriteString("\n\n" + out.Table().Markdown() + "\n")
		for _, f := range out.documented() {
			name := out.Experiment + "-" + f.Name + ".png"
			if err := copyFile(filepath.Join(out.o.Dir, f.Name+".png"), filepath.Join(folder, name)); err != nil {
				return err
			}
			fmt.Fprintf(&b, "![%s](%s)\n\n%s\n\n", f.Caption, filepath.Base(folder)+"/"+name, f.Caption)
		}
		for _, holds := range []bool{false, true} {
			for _, c := range out.Claims {
				if c.Holds != holds {
					continue
				}
				verdict := "holds"
				if !holds {
					verdict = "**does not hold here**"
				}
				fmt.Fprintf(&b, "- %s %s: %s\n", c.Text, verdict, c.Evidence)
			}
		}
	}
	return writeText(path, b.String())
}

// documented are the figures for the Markdown page: the experiment's own, and the
// curves over the epochs where it has none. Rows of photographs stay in the
// report: they are large, and not ours to publish.
func (out *Outcome) documented() []NamedFigure {
	figures := slices.DeleteFunc(slices.Clone(out.Figures), func(f NamedFigure) bool { return strings.HasPrefix(f.Name, queriesFigure) })
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
