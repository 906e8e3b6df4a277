package eval

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/option"
)

// CollapseState is the verdict in one word or a few.
type CollapseState string

const (
	// Collapsed means that the rows of a class are nearly one point, without inner order.
	Collapsed CollapseState = "collapsed"
	// PartlyCollapsed means some signs of collapse, or weak signs.
	PartlyCollapsed CollapseState = "partly collapsed"
	// Structured means that classes keep an inner structure.
	Structured CollapseState = "structured"
	// Overlapping means that classes are about as wide as the distance between them, that only some
	// rows find their own class, and that nothing shows an inner order. Untrained features are
	// usually overlapping.
	Overlapping CollapseState = "overlapping"
	// NotSeparated means that the embedding does not tell the classes apart, so that collapse cannot
	// be judged.
	NotSeparated CollapseState = "not separated"
)

// UnmarshalText reads a state.
func (s *CollapseState) UnmarshalText(text []byte) error {
	return enum.UnmarshalText("state", s, text, []CollapseState{Collapsed, PartlyCollapsed, Structured, Overlapping,
		NotSeparated})
}

// CollapseVerdict is the finding and the reasons for it.
type CollapseVerdict struct {
	State CollapseState `json:"state"`
	// Score is the mean of the signs, each from -1 (collapse) to 1 (structure).
	Score float64 `json:"score"`
	// Text is the verdict as a sentence. Reasons give the figures.
	Text    string   `json:"text"`
	Reasons []string `json:"reasons"`
	// MostCompact is the most compact and so the most collapsed class. Loosest is the least compact
	// and so the least separated class.
	MostCompact  int64 `json:"tightest_class"`
	LeastCompact int64 `json:"loosest_class"`
}

// evidence are the figures from which the verdict follows.
type evidence struct {
	recall, chance float64  // Recall@1 by the labels, and of a random neighbour
	compactness    float64  // median over classes
	subClasses     *float64 // share of the classes with several sub-classes; nil if unknown
	fineGain       *float64 // FineGain; nil without fine labels
}

// separation returns Recall@1 on a scale from chance (0) to perfect (1).
func (f evidence) separation() float64 { return (f.recall - f.chance) / (1 - f.chance) }

// gradeSign grades v from -1 at collapse to 1 at structure, linearly between.
func gradeSign(v, collapse, structure float64) float64 {
	return max(-1, min(1, 2*(v-collapse)/(structure-collapse)-1))
}

// collapsedCompactness and wide are the values of compactness that are a full sign of collapse, and of structure.
const collapsedCompactness, wideTable = 0.15, 0.6

// signs returns the signs of collapse:
//
//	compactness    collapse up to 0.15, structure from 0.6
//	kinds          share of classes with several sub-classes: collapse at 0,
//	               structure from 0.5; it never adds to the sign of collapse
//	               that compactness gives
//	order          FineGain: collapse up to 0.1, structure from 0.6
//
// The score is the mean of the signs, in which order counts twice.
func (f evidence) signs() (compactness, kinds, order, score float64) {
	compactness = gradeSign(f.compactness, collapsedCompactness, wideTable)
	sum, weight := compactness, 1.0
	if f.subClasses != nil {
		kinds = max(gradeSign(*f.subClasses, 0, 0.5), min(compactness, 0))
		sum, weight = sum+kinds, weight+1
	}
	if f.fineGain != nil {
		order = gradeSign(*f.fineGain, 0.1, 0.6)
		sum, weight = sum+2*order, weight+2
	}
	return compactness, kinds, order, sum / weight
}

// state returns the verdict on the figures. With a separation below one third the classes are not
// separated. Up to two thirds they overlap if they are wide and neither kinds nor order show an inner
// structure. Otherwise a score below -0.4 means collapsed, and one above 0.2 structured.
func (f evidence) state() (CollapseState, float64) {
	_, kinds, order, score := f.signs()
	switch s := f.separation(); {
	case s < 1./3:
		return NotSeparated, score
	case s < 2./3 && f.compactness >= wideTable && kinds <= 0 && order <= 0:
		return Overlapping, score
	case score < -0.4:
		return Collapsed, score
	case score > 0.2:
		return Structured, score
	}
	return PartlyCollapsed, score
}

// describe describes the state in a sentence with figures.
func (f evidence) describe(s CollapseState) string {
	separated := "separated"
	switch v := f.separation(); {
	case v < 2./3:
		separated = fmt.Sprintf("separated only in part (Recall@1 %.3f, by chance %.3f)", f.recall, f.chance)
	case v < 0.9:
		separated = "mostly separated"
	}
	switch s {
	case NotSeparated:
		return fmt.Sprintf("The classes are not separated: Recall@1 is %.3f, and chance gives %.3f. "+
			"So collapse cannot be judged yet.", f.recall, f.chance)
	case Overlapping:
		return fmt.Sprintf("The classes overlap: Recall@1 is %.3f, chance gives %.3f, and rows of a class are "+
			"%.2f times as far from each other as from the nearest other class. They have not collapsed, but they "+
			"lack separation.", f.recall, f.chance, f.compactness)
	case Collapsed:
		return "The embedding has collapsed: the classes are " + separated +
			", but little is left of the differences within them."
	case Structured:
		return "The embedding keeps the structure within its classes: they are " + separated +
			", and dissimilar rows of a class stay apart."
	}
	if compactness, _, order, _ := f.signs(); compactness > 0 && order < 0 {
		return "The embedding has collapsed in part: the classes are " + separated +
			" and keep their width, but the rows within them are in little order by the fine labels."
	}
	return "The embedding has collapsed in part: the classes are " + separated +
		", and some of the differences within them remain."
}

// newVerdict returns the verdict on r with its reasons.
func newVerdict(r *Diagnosis) CollapseVerdict {
	f := evidence{recall: r.Recall, chance: r.Chance, compactness: r.Compactness, fineGain: r.FineGain}
	told := r.SubClasses.NumTested
	if told > 0 {
		f.subClasses = new(r.DividedShare)
	}
	v := CollapseVerdict{}
	v.State, v.Score = f.state()
	v.Text = f.describe(v.State)
	reason := func(format string, args ...any) { v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...)) }
	reason("rows of a class are %.2f times as far from each other as from the nearest other class "+
		"(median over classes)", r.Compactness)
	if told > 0 {
		reason("%v, %.1f sub-classes on average", &r.SubClasses, r.MeanSubClasses)
	}
	if r.FineGain != nil {
		reason("Recall@1 is %.3f by the training labels and %.3f by the fine ones; "+
			"within a class the nearest neighbour is %.0f%% of the way from chance (%.3f) to perfect order", r.Recall,
			option.OrDefault(r.FineRecall, 0), 100*option.OrDefault(r.FineGain, 0), option.OrDefault(r.FineChance, 0))
	} else {
		reason("Recall@1 is %.3f by the training labels; chance gives %.3f", r.Recall, r.Chance)
	}
	reason("effective rank %.1f of %d for all rows, %.1f for a class (median); "+
		"%d axes account for 90%% of the variance", r.Spectrum.EffectiveRank, r.Dim, r.ClassRank, r.Spectrum.Axes90)
	reason("alignment %.3f, uniformity %.3f, relative to the spread %.3g", r.Alignment, r.Uniformity, r.Spread)
	reason("%.1f%% of triplets are violated, %.1f%% active at margin %g; the hardest, of class %s, "+
		"is wrong by %.3g, so distances are off by at least %.3g", 100*r.Triplets.Violated, 100*r.Triplets.Active,
		r.Triplets.Margin, r.className(r.Triplets.ClassHardest), r.Triplets.Hardest, r.Triplets.Isometry)
	tight, loose := math.Inf(1), math.Inf(-1)
	for _, c := range r.Classes {
		if c.Compactness == nil {
			continue
		}
		q := *c.Compactness
		if q < tight {
			tight, v.MostCompact = q, c.Label
		}
		if q > loose {
			loose, v.LeastCompact = q, c.Label
		}
	}
	if tight <= loose { // false if no class has a compactness
		reason("most collapsed is class %s (compactness %.2f), least separated class %s (compactness %.2f)",
			r.className(v.MostCompact), tight, r.className(v.LeastCompact), loose)
	}
	return v
}

// className returns the name of a class, or its label.
func (r *Diagnosis) className(label int64) string {
	for _, c := range r.Classes {
		if c.Label == label && c.Name != "" {
			return c.Name
		}
	}
	return strconv.FormatInt(label, 10)
}
