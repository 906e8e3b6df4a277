package eval

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/option"
)

// DiagnosisMeasure is a figure for the whole embedding, with its meaning.
type DiagnosisMeasure struct {
	Name   string
	Value  float64
	Digits int
	// Structure is 1 if a larger value indicates structure, -1 if a smaller value does, and 0 if
	// neither does.
	Structure int
	Meaning   string
}

// Measures returns the figures for the whole embedding.
func (r *Diagnosis) Measures() []DiagnosisMeasure {
	m := []DiagnosisMeasure{
		{"Recall@1", r.Recall, 4, 0, "share of rows whose nearest neighbour has their training label"},
		{"compactness", r.Compactness, 3, 1, "distance within a class over distance to the nearest other class, " +
			"median over classes; near 0 a class is a point"},
		{"classes with several sub-classes", r.DividedShare, 3, 1, "share of the classes of at least 10 rows, as in " +
			"kindred discover"},
		{"sub-classes of a class", r.MeanSubClasses, 2, 1, "mean over the classes of at least 10 rows"},
		{"effective rank", r.Spectrum.EffectiveRank, 2, 1, "number of directions that all rows use"},
		{"effective rank of a class", r.ClassRank, 2, 0, "median over classes"},
		{"axes for 90 %", float64(r.Spectrum.Axes90), 0, 1, "directions that account for 90 % of the variance"},
		{"decay of the spectrum", r.Spectrum.Decay, 3, 0, "slope of -ln(singular value) against its rank"},
		{"alignment", r.Alignment, 3, 1, "mean squared distance within classes, relative to the spread; 0 is collapse"},
		{"uniformity", r.Uniformity, 3, -1, "log mean exp(-2 d^2) over pairs; lower is more even"},
		{"violated triplets", r.Triplets.Violated, 4, 0,
			"negative nearer than positive, over all positives and negatives"},
		{"active triplets", r.Triplets.Active, 4, 0,
			fmt.Sprintf("within the margin %g, over all positives and negatives", r.Triplets.Margin)},
		{"nearest positive first", r.Triplets.EasyCorrect, 4, 0,
			"anchors nearer to their nearest positive than to any negative"},
		{"farthest positive first", r.Triplets.HardCorrect, 4, 0,
			"anchors nearer to their whole class than to any negative"},
		{"isometric error, at least", r.Triplets.Isometry, 4, 0,
			"half of the hardest triplet's violation: how far the distances are from separating the classes"},
	}
	if r.FineRecall != nil {
		m = append(m,
			DiagnosisMeasure{"fine Recall@1", option.OrDefault(r.FineRecall, 0), 4, 1,
				"share of rows whose nearest neighbour has their fine label"},
			DiagnosisMeasure{"fine Recall@1 by chance", option.OrDefault(r.FineChance, 0), 4, 0,
				"if the neighbour were a random row of the class"},
			DiagnosisMeasure{"order inside classes", option.OrDefault(r.FineGain, 0), 4, 1,
				"share of fine hits among neighbours of the query's own class, scaled from chance (0) to perfect (1)"})
	}
	return m
}

// WriteText writes the diagnosis for a terminal: the verdict, its reasons, the measures, and at most
// limit classes, beginning with the most collapsed.
func (r *Diagnosis) WriteText(w io.Writer, limit int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", escape.Name(r.Verdict.Text))
	for _, s := range r.Verdict.Reasons {
		fmt.Fprintf(&b, "  - %s\n", escape.Name(s))
	}
	b.WriteByte('\n')
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, m := range r.Measures() {
		fmt.Fprintf(tw, "%s\t%.*f\t%s\n", m.Name, m.Digits, m.Value, m.Meaning)
	}
	tw.Flush()
	b.WriteByte('\n')
	fmt.Fprint(tw, "class\trows\tdiameter\tintra\tother\tcompactness\tkinds\trank\trecall@1\n")
	for _, c := range r.ByCompactness(limit) {
		fmt.Fprintf(tw, "%s\t%d\t%.4g\t%.4g\t%.4g\t%s\t%d\t%.1f\t%.3f\n", escape.Name(r.className(c.Label)), c.Size,
			c.Diameter, c.Intra, c.NearestDistance, formatCompactness(c), c.SubClasses, c.Spectrum.EffectiveRank,
			c.Recall)
	}
	tw.Flush()
	if n := len(r.Classes); n > limit {
		fmt.Fprintf(&b, "... and %d more classes\n", n-limit)
	}
	b.WriteByte('\n')
	fmt.Fprint(tw, "clusters\tNMI\tNMI by fine labels\n")
	for _, c := range r.Curve {
		fine := "-"
		if c.FineNMI != nil {
			fine = fmt.Sprintf("%.4f", *c.FineNMI)
		}
		fmt.Fprintf(tw, "%d\t%.4f\t%s\n", c.K, c.NMI, fine)
	}
	tw.Flush()
	fmt.Fprintf(&b, "\ndistance %s, seed %d; k-means from k-means++, one start, up to 30 iterations; NMI by the "+
		"arithmetic mean\n", r.Distance, r.Seed)
	for _, n := range r.Notes {
		fmt.Fprintln(&b, escape.Name(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the verdict, the measures and the classes in Markdown.
func (r *Diagnosis) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", escape.Markdown(r.Verdict.Text))
	for _, s := range r.Verdict.Reasons {
		fmt.Fprintf(&b, "- %s\n", escape.Markdown(s))
	}
	b.WriteString("\n| measure | value | what it says |\n|---|---:|---|\n")
	for _, m := range r.Measures() {
		fmt.Fprintf(&b, "| %s | %.*f | %s |\n", m.Name, m.Digits, m.Value, m.Meaning)
	}
	b.WriteString("\n| class | rows | diameter | intra | other | compactness | kinds | rank | recall@1 " +
		"|\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, c := range r.ByCompactness(len(r.Classes)) {
		fmt.Fprintf(&b, "| %s | %d | %.4g | %.4g | %.4g | %s | %d | %.1f | %.3f |\n",
			escape.Markdown(r.className(c.Label)),
			c.Size, c.Diameter, c.Intra, c.NearestDistance, formatCompactness(c), c.SubClasses,
			c.Spectrum.EffectiveRank, c.Recall)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteClassesCSV writes a line for each class.
func (r *Diagnosis) WriteClassesCSV(w io.Writer) error {
	rows := [][]string{{"label", "name", "rows", "diameter", "intra", "other", "compactness", "nearest", "kinds",
		"p", "effective_rank", "recall_1"}}
	for _, c := range r.Classes {
		compactness := ""
		if c.Compactness != nil {
			compactness = formatExact(*c.Compactness)
		}
		rows = append(rows, []string{
			strconv.FormatInt(c.Label, 10), c.Name, strconv.Itoa(c.Size), formatExact(c.Diameter), formatExact(c.Intra),
			formatExact(c.NearestDistance), compactness,
			strconv.FormatInt(c.NearestClass, 10), strconv.Itoa(c.SubClasses), formatExact(c.P),
			formatExact(c.Spectrum.EffectiveRank), formatExact(c.Recall),
		})
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// WriteTripletsCSV writes a line for each anchor with its four similarities.
func (r *Diagnosis) WriteTripletsCSV(w io.Writer) error {
	rows := [][]string{{"s_ap_easy", "s_ap_hard", "s_an_hard", "s_an_easy"}}
	t := &r.Triplets
	for i := range t.EasyPositive {
		rows = append(rows, []string{formatExact(t.EasyPositive[i]), formatExact(t.HardPositive[i]),
			formatExact(t.HardNegative[i]),
			formatExact(t.EasyNegative[i])})
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// ByCompactness returns up to limit classes, beginning with the most compact. Classes without a
// compactness are last.
func (r *Diagnosis) ByCompactness(limit int) []ClassDiagnosis {
	out := slices.Clone(r.Classes)
	slices.SortStableFunc(out, func(a, b ClassDiagnosis) int {
		return cmp.Compare(option.OrDefault(a.Compactness, math.Inf(1)), option.OrDefault(b.Compactness, math.Inf(1)))
	})
	return out[:min(limit, len(out))]
}

func formatCompactness(c ClassDiagnosis) string {
	if c.Compactness == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *c.Compactness)
}
