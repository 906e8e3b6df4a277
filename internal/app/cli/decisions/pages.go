// Package decisions lays out the pages of kindred identify: each decision with what decided it.
package decisions

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/retrieval"
	"github.com/kindred-ml/kindred/serve/api"
)

// PhotosPerPage is the number of decisions on a page.
const PhotosPerPage = 20

// PageName is the name of the i-th page, from 0.
func PageName(i int) string {
	if i == 0 {
		return "identify.html"
	}
	return fmt.Sprintf("identify-%d.html", i+1)
}

// Pages lays decisions out for pages.
type Pages struct {
	*lookup.Identifier
	Queries *lookup.Set
	Results *lookup.Decisions
	// Same has the probabilities that neighbours are the same.
	Same *decide.GalleryRates
	// Strangers is the expected share of photos whose class is not in the gallery.
	Strangers float64
	// Shown is the number of decisions to show, and Neighbours that of the neighbours of each photo.
	Shown, Neighbours int
	// query and item show the pictures of both sides.
	query, item func(p lookup.Picture) (report.Picture, error)
}

// Write writes the pages to a folder and returns their paths. unread is told of each picture that cannot be read.
func (s *Pages) Write(ctx context.Context, to *outputs.Folder, unread func(name string, err error)) ([]string, error) {
	rows := s.Results.SortedForReview()
	rows = rows[:min(len(rows), s.Shown)]
	// Every picture of a page is held until the page is made, and all pages until they are
	// written.
	const pictureBytes, thumbBytes = 1 << 20, 16 << 10
	photos := 0
	for _, q := range rows {
		photos += len(q.Of)
	}
	shown := int64(min(s.Neighbours, s.Decider.NumVoters())) + 1
	what := fmt.Sprintf("--neighbours %d of %d photos", s.Neighbours, photos)
	if err := budget.CheckProduct(what, int64(min(photos, PhotosPerPage)), shown, pictureBytes); err != nil {
		return nil, err
	}
	if err := budget.CheckProduct(what, int64(photos), shown, thumbBytes); err != nil {
		return nil, err
	}
	file := filepath.Join(to.Dir, PageName(0))
	s.query, s.item = retrieval.PictureReader(ctx, file, unread), retrieval.PictureReader(ctx, file,
		unread)
	var names []string
	for i := 0; i == 0 || i*PhotosPerPage < len(rows); i++ {
		names = append(names, PageName(i))
	}
	var files []results.File
	for i, name := range names {
		page, err := s.newPage(rows[i*PhotosPerPage:min((i+1)*PhotosPerPage, len(rows))], len(rows))
		if err != nil {
			return nil, err
		}
		turn := report.Section{Blocks: []report.Block{report.PageLinks{Pages: names, At: i}}}
		page.Sections = append(append([]report.Section{turn}, page.Sections...), turn)
		made, err := results.MakeFiles(results.NewText(name, outputs.HTMLWriter(page)))
		if err != nil {
			return nil, err
		}
		files = append(files, made...)
	}
	paths, err := results.WriteResults(to.Dir, to.Signature(), files...)
	if err != nil {
		return nil, err
	}
	for i := len(names); err == nil; i++ { // an earlier command may have written more
		err = os.Remove(filepath.Join(to.Dir, PageName(i)))
	}
	return paths, nil
}

// newPage lays out some of the shown decisions.
func (s *Pages) newPage(rows []lookup.Decision, shown int) (report.Page, error) {
	lead := fmt.Sprintf("%s looked up among %d items of %d classes by %s distance; %d unknown.",
		enum.Count(len(s.Results.Queries), "decision"), s.Results.Items, s.Results.Classes, s.Results.Distance,
		s.Results.Summary.Unknown)
	if shown < len(s.Results.Queries) {
		lead += fmt.Sprintf(" The %d least decided are shown.", shown)
	} else if shown > 1 {
		lead += " The undecided come first."
	}
	lead += " Each neighbour has its distance and the probability that it shows the same thing"
	if s.Decider.IsKnownGallery() {
		lead += fmt.Sprintf(", and its share of the vote of the nearest %d.", s.Decider.NumVoters())
	} else {
		lead += fmt.Sprintf("; %s of all photos are expected to be of no class of the gallery. A class counts by the "+
			"mean of its items and the nearest of them, and not by their number.", decide.Percent(s.Strangers))
	}
	page := report.Page{Title: "Who is it, and why", Lead: lead, Footer: s.describeCalibration()}
	if s.Results.Coverage > 0 && !s.Decider.IsKnownGallery() {
		page.Footer += fmt.Sprintf(" Sets are computed from the class's own items for %d of %d classes, and from "+
			"those of the calibration for the others.", s.Results.ByClass, s.Results.Classes)
	}
	for _, q := range rows {
		section, err := s.decisionSection(&q)
		if err != nil {
			return page, err
		}
		page.Sections = append(page.Sections, section)
	}
	return page, nil
}

// describeCalibration describes what the calibration was learned from.
func (s *Pages) describeCalibration() string {
	says, file := s.Says, escape.Name(s.File)
	if !s.Decider.IsKnownGallery() {
		return fmt.Sprintf("Calibration %s: %d photos of %d classes that training did not see; on such classes the "+
			"probability of a label is off by %.3f on average, and that of \"the same\" by %.3f (ECE).", file,
			says.Photos, says.Classes, says.LabelECE(), says.Reliability.ECE)
	}
	k := says.Closed
	text := fmt.Sprintf("Calibration %s: %d photos of the %d classes of the run, looked up among %d; the probability "+
		"of a label is off by %.3f on average (ECE).", file, k.Photos, k.Classes, k.Items, k.Vote.Reliability.ECE)
	if !s.Decider.IsClosed() {
		text += fmt.Sprintf(" Unknown photos are recognised by %d photos of %d classes", k.Gate.Photos, k.Gate.Classes)
		if says.ClassSource != "" {
			text += " " + says.ClassSource
		}
		text += "."
	}
	return text
}

// decisionSection is one decision with its reasons and the neighbours that voted.
func (s *Pages) decisionSection(q *lookup.Decision) (report.Section, error) {
	vote := q.EvaluatedVote()
	said := fmt.Sprintf("%s, %s", vote.Label, decide.Percent(vote.Probability))
	v := report.Verdict{Text: said, Tone: report.Good}
	if vote.Unknown {
		said = "unknown"
		v = report.Verdict{Text: fmt.Sprintf("Unknown. The likeliest label would be %s, %s.", vote.Label,
			decide.Percent(vote.Probability))}
	}
	if vote.RunnerUp != "" {
		v.Reasons = append(v.Reasons, fmt.Sprintf("Then %s, %s.", vote.RunnerUp,
			decide.Percent(vote.RunnerUpProbability)))
	}
	if q.Answer == api.AnswerPicture {
		v.Reasons = append([]string{"It has no vote. The other items say: " + v.Text}, v.Reasons...)
		said = "this very picture: " + lookup.FormatSelf(q.PhotoIDs, q.PhotoLabels)
		v.Text, v.Tone = "This very picture is in the gallery: "+lookup.FormatSelf(q.PhotoIDs, q.PhotoLabels),
			report.Good
	}
	v.Reasons = append(v.Reasons, s.describeBound(q))
	if vote.Set != nil {
		v.Reasons = append(v.Reasons, s.describeSet(vote))
	}
	rows := report.Retrieval{Side: 176}
	for k, i := range q.Of {
		row, note, err := s.newRow(i, q.Voters[k], vote.Label)
		if err != nil {
			return report.Section{}, err
		}
		rows.Rows = append(rows.Rows, row)
		if len(q.Of) == 1 {
			v.Reasons = append(v.Reasons, fmt.Sprintf("%s Among such photos of the calibration the label was right in "+
				"%s of cases.", note, decide.Percent(vote.Probability)))
		}
	}
	title := fmt.Sprintf("%s: %s", said, filepath.Base(q.Query))
	if len(q.Of) > 1 {
		title = fmt.Sprintf("%s: %d photos of one thing", said, len(q.Of))
	}
	return report.Section{Title: title, Blocks: []report.Block{v, rows}}, nil
}

// describeBound describes the distance that decides about unknown, and its promise.
func (s *Pages) describeBound(q *lookup.Decision) string {
	if s.Decider.IsClosed() {
		return fmt.Sprintf("The nearest item is at %.4g. Every photo gets a label, as the calibration is closed.",
			q.Nearest)
	}
	t, err := s.Decider.UnknownThreshold(len(q.Of))
	if err != nil { // without a bound there is no decision
		return ""
	}
	var b strings.Builder
	if !s.Decider.IsKnownGallery() {
		fmt.Fprintf(&b, "A label needs %s. At most %.3g %% of unknown photos get that much, in 95 of 100 cases: "+
			"%.2g %% did in the calibration, and the bound for new classes is %.2g %%. Of photos whose class is in "+
			"such a gallery, %.3g %% do.", decide.Percent(q.NeededProbability), 100*t.Rate, 100*t.Measured, 100*t.Bound,
			100*t.TrueMatch)
		if s.Basis.Estimate {
			b.Reset()
			fmt.Fprintf(&b, "A label needs %s. About %.3g %% of unknown photos get that much: an estimate, without a "+
				"bound.",
				decide.Percent(q.NeededProbability), 100*t.Rate)
		}
		return b.String() + s.describeGroup(q)
	}
	if len(q.Of) > 1 {
		fmt.Fprintf(&b, "Half of the photos have their nearest item at %.4g or less", q.Nearest)
	} else {
		fmt.Fprintf(&b, "The nearest item is at %.4g", q.Nearest)
	}
	if q.EvaluatedVote().Unknown {
		fmt.Fprintf(&b, ", which is too far for a label: it needs %.4g or less.", q.Within)
	} else {
		fmt.Fprintf(&b, "; a label needs %.4g or less.", q.Within)
	}
	fmt.Fprintf(&b, " At most %.3g %% of unknown photos come that near, in 95 of 100 cases: "+
		"%.2g %% did in the calibration, and the bound for new classes is %.2g %%. Of photos whose class is "+
		"in the gallery, %.3g %% have an item of it that "+
		"near.", 100*t.Rate, 100*t.Measured, 100*t.Bound, 100*t.TrueMatch)
	return b.String() + s.describeGroup(q)
}

// describeGroup says how several photos are decided about.
func (s *Pages) describeGroup(q *lookup.Decision) string {
	if len(q.Of) == 1 {
		return ""
	}
	return " Half of the photos of one thing must reach it at half of the rate, so that the bound holds for similar " +
		"photos too."
}

// describeSet describes a prediction set.
func (s *Pages) describeSet(vote *api.Vote) string {
	const most = 20
	labels := vote.Set
	more := ""
	if len(labels) > most {
		more = fmt.Sprintf(" and %d more", len(labels)-most)
		labels = labels[:most]
	}
	text := fmt.Sprintf("If its class is in the gallery, it is one of these with %.3g %%: ", 100*s.Results.Coverage)
	if len(labels) == 0 {
		return text + "none, as no class is near enough."
	}
	return text + strings.Join(labels, ", ") + more + "."
}

// newRow returns a photo with the neighbours that voted and the text about their votes.
func (s *Pages) newRow(i int, voters []api.Neighbour, label string) (
	report.RetrievalRow, string, error) {
	var row report.RetrievalRow
	var err error
	if row.Item, err = s.query(s.Queries.Picture(i)); err != nil {
		return row, "", err
	}
	row.Item.Name = cmp.Or(row.Item.Name, s.Identifier.Queries[i].Name)
	weights := s.Decider.VoteWeights(lookup.VotingNeighbours(voters)) // nil: there is no vote
	won := 0.0
	for k := range voters {
		n := &voters[k]
		if weights != nil && n.Label == label {
			won += weights[k]
		}
		if k >= s.Neighbours {
			continue
		}
		p, err := s.item(s.Gallery.Picture(n))
		if err != nil {
			return row, "", err
		}
		same := lookup.FormatProbability(n, s.Results.Distance, s.Same.MatchProbability(n.Distance))
		p.Distance = fmt.Sprintf("%.4g; %s", n.Distance, same)
		if weights != nil {
			p.Distance += "; vote: " + decide.Percent(weights[k])
		}
		row.Neighbours = append(row.Neighbours, p)
	}
	if weights == nil {
		return row, "", nil
	}
	return row, fmt.Sprintf("%s voted; %s has %s of the vote.", enum.Count(len(voters), "neighbour"), label,
		decide.Percent(won)), nil
}
