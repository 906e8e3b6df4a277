package paper

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/app/page/report"
)

// WriteDocument writes the Markdown page of all experiments whose results are kept in the
// folder with the page's name without its extension. Before that it copies the results of
// finished experiments in the folders from to that folder (a row of the defaults' table is
// added to the kept arms of that row if nothing else has changed), and updates all results
// to this program's titles and verdicts. It also updates the pages beside it that quote the
// results (digests). The same results give the same bytes. If a folder cannot be read,
// nothing changes.
func WriteDocument(page string, from ...string) error {
	folder := keptFolder(page)
	var finished []*Outcome
	from, err := withRows(from)
	if err != nil {
		return err
	}
	for _, dir := range from {
		out, err := Load(dir)
		if err != nil {
			return err
		}
		finished = append(finished, out)
	}
	for i, out := range finished {
		if finished[i], err = out.joined(folder); err != nil {
			return err
		}
	}
	for _, out := range finished {
		if err := out.keep(folder); err != nil {
			return err
		}
	}
	all, err := keptResults(folder)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s holds no results: give folders of finished experiments by --from",
			filepath.Join(folder, resultsFolder))
	}
	for i := range all {
		if all[i], err = all[i].stoodIn(); err != nil {
			return err
		}
		if err := all[i].keepNumbers(folder); err != nil {
			return err
		}
	}
	if err := writeText(filepath.Join(folder, DefaultsPage), defaultsPage(all)); err != nil {
		return err
	}
	if err := writeDigests(filepath.Dir(page), all); err != nil {
		return err
	}
	return writeText(page, document(filepath.Base(folder), all))
}

// keptFolder is the folder of the figures and results behind a page.
func keptFolder(page string) string { return strings.TrimSuffix(page, filepath.Ext(page)) }

func document(folder string, outcomes []*Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The papers' experiments, repeated

This page is written by %[1]skindred reproduce document%[1]s from the results in [%[2]s/results](%[2]s/results);
edits here are lost. Every table comes from %[1]skindred reproduce NAME%[1]s, which also writes a page with the
figures, the settings and the curves.

- %[3]s
- Published numbers are in the columns headed "paper", and only if the data set is the paper's own. Network, image
  size and training are seldom the paper's: the scale says what they are.
- A number in bold is ahead of those of all other arms with p < 0.05 over at least three seeds; the highest mean alone
  is not a reason for bold.
- Where settings were chosen by a sweep, that used a part of the training data and not the test, and every arm had the
  same number of trials and epochs; the command is given. Where it says otherwise, the level of the scores may flatter.
- Times are wall-clock times on two cores that may have had other work too.
- What kindred train gives without any settings, beside doing nothing, is on a page of its own: [%[2]s/%[4]s](%[2]s/%[4]s).
`, "`", folder, verdictRule, DefaultsPage)
	for _, out := range outcomes {
		if out.e.Stranger == nil {
			out.document(&b, folder)
		}
	}
	return b.String()
}

func (out *Outcome) document(b *strings.Builder, folder string) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\nSource: %s.\n\n", out.Title, out.about(), out.Source)
	fmt.Fprintf(b, "    kindred reproduce %s --seeds %d", out.Experiment, len(out.Seeds))
	if out.Scale != "" {
		fmt.Fprintf(b, " --scale %s", out.Scale)
	}
	if out.Fast {
		b.WriteString(" --fast")
	}
	if len(out.Arms) < len(Find(out.Experiment).Arms) {
		for _, a := range out.Arms {
			fmt.Fprintf(b, " --arm %q", a.Name)
		}
	}
	for _, s := range out.Set {
		fmt.Fprintf(b, " --set '%s'", s)
	}
	if out.Took > 0 { // experiments that train nothing have no runs to time
		fmt.Fprintf(b, "\n\nTraining and evaluation took %s.%s",
			report.Duration(time.Duration(out.Took*float64(time.Second))), out.taken())
	}
	fmt.Fprintf(b, "\n\nHow the settings were chosen: %s\n", out.Tuning)
	if out.chosen != nil {
		fmt.Fprintf(b, "\n%s", out.chosen.table(out.e).Markdown())
	}
	if left := out.notRun(); left != nil {
		fmt.Fprintf(b, "\nNot run: %s.\n", strings.Join(left, "; "))
	}
	t := out.Table()
	fmt.Fprintf(b, "\n%s\n%s\n", t.Markdown(), t.Note)
	for _, f := range out.Figures {
		fmt.Fprintf(b, "\n![%s](%s)\n\n%s\n", f.Caption, folder+"/"+out.figureFile(f), f.Caption)
	}
	for _, v := range verdicts() {
		claims, sentence := out.judged(v)
		if claims == nil {
			continue
		}
		fmt.Fprintf(b, "\n%s\n\n", sentence)
		for _, c := range claims {
			fmt.Fprintf(b, "- **%s** %s\n", c.Verdict, c.line())
		}
	}
}

// notRun names the arms of the experiment that out does not have.
func (out *Outcome) notRun() []string {
	var left []string
	for _, a := range Find(out.Experiment).Arms {
		if out.e.arm(a.Name) < 0 {
			left = append(left, a.Name)
		}
	}
	return left
}
