package paper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/page/report"
)

// pageExcerpt is a part of a page that quotes the kept results, between two marks with its name.
type pageExcerpt struct{ page, name, text string }

func pageExcerpts(outcomes []*Outcome) []pageExcerpt {
	return []pageExcerpt{
		{"collapse.md", "found", describeCures(outcomes)},
		{"decisions.md", "collapse", decisionsExcerpt(outcomes)},
		{"discover.md", "kinds", kindsExcerpt(outcomes)},
		{"discover.md", "suspects", suspectsExcerpt(outcomes)},
	}
}

// writeExcerpts updates the digests in the pages of a folder. It skips pages that are missing or
// have no marks.
func writeExcerpts(folder string, outcomes []*Outcome) error {
	for _, d := range pageExcerpts(outcomes) {
		path := filepath.Join(folder, d.page)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if with, ok := d.insert(string(text)); ok && with != string(text) {
			if err := writeText(path, with); err != nil {
				return err
			}
		}
	}
	return nil
}

// insert returns a page's text with the digest between its marks; false if the text has no marks.
func (d pageExcerpt) insert(text string) (string, bool) {
	begin, end := "<!-- "+d.name+" -->\n", "\n<!-- /"+d.name+" -->"
	head, rest, ok := strings.Cut(text, begin)
	_, tail, ok2 := strings.Cut(rest, end)
	return head + begin + d.text + end + tail, ok && ok2
}

// kindsExcerpt is a table of the sub-classes that discover found in the embeddings of its
// experiments.
func kindsExcerpt(outcomes []*Outcome) string {
	t := report.Table{Columns: []report.Column{{Name: "data"}, {Name: "trained with"},
		{Name: "NMI"}, {Name: "gain, p uncorrected"}, {Name: "ARI"}, {Name: "sub-classes found, %"},
		{Name: "R@1 of sub-classes"}}}
	for _, out := range outcomes {
		if !out.isOfFamily("discover") {
			continue
		}
		for i, a := range out.Arms {
			gain := report.BlankCell()
			if b := out.e.arm(a.Baseline); b >= 0 {
				p := out.compare(i, b, 0)
				gain = report.TextCell(formatGain(&p) + " over " + a.Baseline)
			}
			row := []report.Cell{report.TextCell(""), report.TextCell(a.Name)}
			if i == 0 {
				row[0] = out.dataAndSeeds()
			}
			for k, m := range a.Measures {
				row = append(row, meanStd(m.Summary))
				if k == 0 {
					row = append(row, gain)
				}
			}
			t.Rows = append(t.Rows, report.Row{Cells: row})
		}
	}
	return strings.TrimSpace(t.Markdown())
}

// decisionsExcerpt is the table of decisions about classes that training did not know.
func decisionsExcerpt(outcomes []*Outcome) string {
	var tables []string
	for _, out := range outcomes {
		if out.isOfFamily("decide") {
			t := out.Table()
			tables = append(tables, strings.TrimSpace(t.Markdown())+"\n\n"+t.Note)
		}
	}
	return strings.Join(tables, "\n\n")
}

// suspectsExcerpt is a table of the precision of finding wrong labels, for each way of training and
// judging, as the mean over the shares of wrong labels. The experiments' own pages also show trimming.
func suspectsExcerpt(outcomes []*Outcome) string {
	ways := []string{"at random", "to look-alikes"}
	t := report.Table{Columns: []report.Column{{Name: "data"}, {Name: "embedding"}}}
	for _, way := range ways {
		for _, j := range labelJudges() {
			t.Columns = append(t.Columns, report.Column{Name: j.name, Group: way})
		}
	}
	for _, out := range outcomes {
		if !out.isOfFamily("clean") {
			continue
		}
		for k, series := range out.series(", " + ways[0]) {
			if strings.HasPrefix(series, trimmedName) {
				continue
			}
			row := report.Row{Cells: []report.Cell{report.TextCell(""), report.TextCell(series)}}
			if k == 0 {
				row.Cells[0] = out.dataAndSeeds()
			}
			for _, way := range ways {
				for _, j := range labelJudges() {
					row.Cells = append(row.Cells, meanStd(out.seriesMean(series+", "+way, j.precision())))
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return strings.TrimSpace(t.Markdown())
}

// dataAndSeeds names the data and the number of seeds.
func (out *Outcome) dataAndSeeds() report.Cell {
	seeds := "1 seed"
	if n := len(out.Seeds); n != 1 {
		seeds = fmt.Sprintf("%d seeds", n)
	}
	return report.TextCell(out.Data.On + ", " + seeds)
}

// isOfFamily reports whether the experiment is the named one or one of its family.
func (out *Outcome) isOfFamily(family string) bool {
	name, _, _ := strings.Cut(out.Experiment, "-")
	return name == family
}

// series lists the arms' series with an ending, without that ending.
func (out *Outcome) series(ending string) []string {
	var names []string
	for _, a := range out.e.Arms {
		if name, ok := strings.CutSuffix(a.Series, ending); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// seriesMean is the mean of a measure over the arms of a series, seed by seed.
func (out *Outcome) seriesMean(series, key string) Summary {
	var sum []Number
	n := Number(0)
	for i := range out.e.Arms {
		if out.e.Arms[i].Series != series {
			continue
		}
		values := out.measure(out.e.Arms[i].Name, key).Values
		if sum == nil {
			sum = make([]Number, len(values))
		}
		for k, v := range values {
			sum[k] += v
		}
		n++
	}
	for k := range sum {
		sum[k] /= n
	}
	return summarize(sum)
}

// meanStd returns a summary as a cell.
func meanStd(s Summary) report.Cell {
	return report.MeanStdCell(float64(s.Mean), float64(s.Std), s.N, 1)
}
