package diagnose

import (
	"fmt"
	"math"
	"strconv"
)

// State is the verdict in a word.
type State string

const (
	// Collapsed: rows of a class are nearly one point, in no order of their own.
	Collapsed State = "collapsed"
	// Partial: some signs of collapse, or weak ones.
	Partial State = "partly collapsed"
	// Structured: classes keep an inside.
	Structured State = "structured"
	// Unseparated: the classes are not told apart; collapse is not the question.
	Unseparated State = "not separated"
)

// Verdict is the finding and the reasons for it.
type Verdict struct {
	State State `json:"state"`
	// Score is the mean of the signs, each from -1 (collapse) to 1 (structure).
	Score float64 `json:"score"`
	// Text says it in one sentence; Reasons give the figures.
	Text    string   `json:"text"`
	Reasons []string `json:"reasons"`
	// Tightest is the class with the least Intra / Other, the most collapsed;
	// Loosest the one with the most, the least separated.
	Tightest int64 `json:"tightest_class"`
	Loosest  int64 `json:"loosest_class"`
}

// sign grades v from -1 at collapse to 1 at structure, linearly between.
func sign(v, collapse, structure float64) float64 {
	return max(-1, min(1, 2*(v-collapse)/(structure-collapse)-1))
}

// judge weighs the signs of collapse:
//
//	compactness    median of Intra / Other: collapse up to 0.15, structure from 0.6
//	modes          share of classes with several: collapse at 0, structure from 0.5
//	fine order     FineGain, counted twice: collapse up to 0.1, structure from 0.6
//
// The mean below -0.4 is called collapsed, above 0.2 structured. If Recall@1 by
// the labels is less than a third of the way from chance to 1 the classes are not
// separated, and no more is said.
func judge(r *Result) Verdict {
	v := Verdict{}
	tight, loose := math.Inf(1), math.Inf(-1)
	rows, chance := 0, 0.0
	for _, c := range r.Classes {
		rows += c.Size
		chance += float64(c.Size) * float64(c.Size)
		if c.Size < 2 || c.Other == 0 {
			continue
		}
		if q := c.Intra / c.Other; q < tight {
			tight, v.Tightest = q, c.Label
		}
		if q := c.Intra / c.Other; q > loose {
			loose, v.Loosest = q, c.Label
		}
	}
	chance /= float64(rows) * float64(rows)
	var score, weight float64
	add := func(w, s float64, format string, args ...any) {
		score, weight = score+w*s, weight+w
		v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
	}
	add(1, sign(r.Compactness, 0.15, 0.6), "rows of a class are %.2f times as far from each other as from the "+
		"nearest other class (median over classes)", r.Compactness)
	if told := r.modesTold(); told > 0 {
		add(1, sign(r.MultiModal, 0, 0.5), "%.0f%% of %d classes have more than one mode, %.1f modes on average",
			100*r.MultiModal, told, r.MeanModes)
	}
	if r.FineGain != nil {
		add(2, sign(*r.FineGain, 0.1, 0.6), "Recall@1 is %.3f by the training labels and %.3f by the fine ones; "+
			"within a class the nearest neighbour is %.0f%% of the way from chance (%.3f) to perfect order", r.Recall,
			*r.FineRecall, 100**r.FineGain, *r.FineChance)
	}
	v.Reasons = append(v.Reasons,
		fmt.Sprintf("effective rank %.1f of %d for all rows, %.1f for a class (median); %d axes account for 90%% of "+
			"the variance", r.Spectrum.EffectiveRank, r.Dim, r.ClassRank, r.Spectrum.Axes90),
		fmt.Sprintf("alignment %.3f, uniformity %.3f, relative to the spread %.3g", r.Alignment, r.Uniformity,
			r.Spread),
		fmt.Sprintf("%.1f%% of triplets are violated, %.1f%% active at margin %g; the hardest, of class %s, is wrong "+
			"by %.3g, so distances are off by at least %.3g",
			100*r.Triplets.Violated, 100*r.Triplets.Active, r.Triplets.Margin, r.name(r.Triplets.ClassHardest),
			r.Triplets.Hardest, r.Triplets.Isometry))
	if tight <= loose { // else no class has two rows and another place than its neighbour
		v.Reasons = append(v.Reasons, fmt.Sprintf("most collapsed is class %s (ratio %.2f), least separated class %s "+
			"(ratio %.2f)", r.name(v.Tightest), tight, r.name(v.Loosest), loose))
	}
	v.Score = score / weight
	switch separated := (r.Recall - chance) / (1 - chance); {
	case separated < 1./3:
		v.State = Unseparated
		v.Text = fmt.Sprintf("The classes are not separated: Recall@1 is %.3f where chance gives %.3f. Whether they "+
			"have collapsed is not yet the question.", r.Recall, chance)
	case v.Score < -0.4:
		v.State = Collapsed
		v.Text = "The embedding has collapsed: classes are separated, but little is left of the differences within " +
			"them."
	case v.Score > 0.2:
		v.State = Structured
		v.Text = "The embedding keeps the structure within its classes: they are separated, and dissimilar rows of a " +
			"class stay apart."
	default:
		v.State = Partial
		v.Text = "The embedding has collapsed in part: classes are separated, and some of the differences within " +
			"them remain."
	}
	return v
}

// modesTold counts the classes whose modes are known.
func (r *Result) modesTold() int {
	n := 0
	for _, c := range r.Classes {
		if c.Modes > 0 {
			n++
		}
	}
	return n
}

// name is the name of a class, or its label.
func (r *Result) name(label int64) string {
	for _, c := range r.Classes {
		if c.Label == label && c.Name != "" {
			return c.Name
		}
	}
	return strconv.FormatInt(label, 10)
}
