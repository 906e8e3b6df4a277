package eval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/compute/cluster"
)

// Kind is a family of measures.
type Kind string

// Measures of retrieval. The measure of a query is a function of the ranks of its positives. It is
// averaged over the queries that have a positive.
const (
	// Recall is 1 if a positive is among the K nearest, else 0.
	Recall Kind = "recall"
	// Precision is the share of positives among the K nearest.
	Precision Kind = "precision"
	// MAPAtR is (1/R) sum over i = 1..R of P(i) if the i-th nearest is a
	// positive, else 0; P(i) is the precision of the i nearest (Musgrave et al.
	// 2020).
	MAPAtR Kind = "map@r"
	// RPrecision is the share of positives among the R nearest.
	RPrecision Kind = "r-precision"
	// MAP is average precision over the whole ranking: the mean over the R
	// positives of the precision at their rank.
	MAP Kind = "map"
	// MAPAtK is the sum of the precisions at the ranks of the positives among the K nearest,
	// divided by min(K, R) instead of the number of hits.
	MAPAtK Kind = "map@k"
	// MRR is 1 over the rank of the nearest positive.
	MRR Kind = "mrr"
	// NDCG is the sum over positives of 1/log2(1 + rank), divided by the same sum for the ideal
	// ranking. With K > 0 both sums stop at rank K.
	NDCG Kind = "ndcg"
)

// Measures of a clustering against the labels.
const (
	// NMI is the mutual information of clusters and labels, over the arithmetic mean of their entropies.
	NMI Kind = "nmi"
	// NMIGeometric is NMI over the geometric mean of the entropies.
	NMIGeometric Kind = "nmi-geometric"
	// AMI is NMI adjusted for chance: 0 is what random clusters of the same sizes have.
	AMI Kind = "ami"
	// AMIGeometric is AMI with the geometric mean of the entropies.
	AMIGeometric Kind = "ami-geometric"
	// ARI is the Rand index adjusted for chance: the share of pairs on which clusters and labels agree.
	ARI Kind = "ari"
	// Purity is the share of samples whose label is the most frequent one of their cluster.
	Purity Kind = "purity"
	// F1 is the harmonic mean of the precision and the recall of the pairs that share a cluster.
	F1 Kind = "f1"
	// Homogeneity is 1 - H(labels given clusters) / H(labels): 1 if each cluster holds one label.
	Homogeneity Kind = "homogeneity"
	// Completeness is 1 - H(clusters given labels) / H(clusters): 1 if each label is in one cluster.
	Completeness Kind = "completeness"
)

// Measures of decisions by a threshold.
const (
	// FNMR is the share of genuine pairs that are not accepted, at the largest threshold
	// that accepts at most Rate of the impostor pairs.
	FNMR Kind = "fnmr@fmr"
	// TAR is 1 - FNMR.
	TAR Kind = "tar@far"
	// EER is the rate at which FMR and FNMR are equal.
	EER Kind = "eer"
	// AUC is the area under the ROC curve: the share of combinations of a genuine and an impostor
	// pair in which the genuine pair is nearer.
	AUC Kind = "auc"
	// DPrime is the difference between the mean distances of genuine and impostor pairs, divided by
	// their spread.
	DPrime Kind = "dprime"
	// Accuracy is the share of correct decisions about the pairs of a list, by
	// cross-validation over its folds. It needs a list of pairs.
	Accuracy Kind = "accuracy"
	// FNIR is the share of mated queries that find no item of their class. The threshold
	// is the largest at which at most Rate of the queries without their class in the
	// gallery find any item.
	FNIR Kind = "fnir@fpir"
	// DIR is the share of mated queries whose nearest item is of their class and within
	// the threshold of FNIR: rank 1 in an open set.
	DIR Kind = "dir@fpir"
)

// measure describes a kind. It has a function for its family: ranking, clustering, pairs, list or
// probes.
type measure struct {
	kind Kind
	// ranking returns the measure of a query, given the increasing ranks of those of its r > 0
	// positives that are among the k nearest, or more ranks.
	ranking        func(ranks []int32, r, k int) float64
	nameAtK        string // the name before @K; "" if the kind takes no K
	nameWithoutK   bool   // there is also a name without a K
	needsClassSize bool   // the measure needs as many items as the query's class has
	needsOnlyFirst bool   // the measure needs only the rank of the nearest positive

	clustering func(ctx context.Context, t *cluster.Table) (float64, error)
	arithmetic bool // normalised by the arithmetic mean, which its name does not say

	hasRate bool // takes a Rate
	// pairs returns the measure of all pairs, and its threshold if it has one. drawn returns the
	// measure of resampled pairs. levels returns the distances that drawn needs to distinguish, in
	// addition to those that all measures need.
	pairs      func(c *Counts, rate float64) (float64, *Decision)
	ofResample func(r *resampledCounts, rate float64) float64
	levels     func(c *Counts, rate float64) []key
	// list returns the measure of a list of pairs with folds, and its standard error.
	list func(l *PairList) (value, standardError float64, err error)
	// probes returns the measure of probes in an open set.
	probes func(r OpenSetRates) float64
}

// measures lists all kinds in the order of messages.
var measures = [...]measure{
	{kind: Recall, nameAtK: "recall", needsOnlyFirst: true, ranking: func(ranks []int32, _, k int) float64 {
		if len(ranks) > 0 && int(ranks[0]) <= k {
			return 1
		}
		return 0
	}},
	{kind: Precision, nameAtK: "precision", ranking: func(ranks []int32, _, k int) float64 {
		return float64(countWithin(ranks, k)) / float64(k)
	}},
	{kind: MAPAtR, needsClassSize: true, ranking: func(ranks []int32, r, _ int) float64 {
		return precisionSum(ranks[:countWithin(ranks, r)]) / float64(r)
	}},
	{kind: RPrecision, needsClassSize: true, ranking: func(ranks []int32, r, _ int) float64 {
		return float64(countWithin(ranks, r)) / float64(r)
	}},
	{kind: MAP, ranking: func(ranks []int32, r, _ int) float64 { return precisionSum(ranks) / float64(r) }},
	{kind: MAPAtK, nameAtK: "map", ranking: func(ranks []int32, r, k int) float64 {
		return precisionSum(ranks[:countWithin(ranks, k)]) / float64(min(k, r))
	}},
	{kind: MRR, needsOnlyFirst: true, ranking: func(ranks []int32, _, _ int) float64 {
		if len(ranks) == 0 {
			return 0
		}
		return 1 / float64(ranks[0])
	}},
	{kind: NDCG, nameAtK: "ndcg", nameWithoutK: true, ranking: ndcg},

	{kind: NMI, arithmetic: true,
		clustering: withoutError(func(t *cluster.Table) float64 { return t.NMI(cluster.Arithmetic) })},
	{kind: NMIGeometric, clustering: withoutError(func(t *cluster.Table) float64 { return t.NMI(cluster.Geometric) })},
	{kind: AMI, arithmetic: true, clustering: func(ctx context.Context, t *cluster.Table) (float64, error) {
		return t.AMI(ctx, cluster.Arithmetic)
	}},
	{kind: AMIGeometric, clustering: func(ctx context.Context, t *cluster.Table) (float64, error) {
		return t.AMI(ctx, cluster.Geometric)
	}},
	{kind: ARI, clustering: withoutError((*cluster.Table).ARI)},
	{kind: Purity, clustering: withoutError((*cluster.Table).Purity)},
	{kind: F1, clustering: withoutError((*cluster.Table).F1)},
	{kind: Homogeneity, clustering: withoutError((*cluster.Table).Homogeneity)},
	{kind: Completeness, clustering: withoutError((*cluster.Table).Completeness)},

	{kind: FNMR, hasRate: true, ofResample: (*resampledCounts).fnmrAt, levels: (*Counts).thresholdsNearFMR,
		pairs: func(c *Counts, rate float64) (float64, *Decision) {
			r := c.RatesAtFMR(rate)
			return r.FNMR, &Decision{r.Threshold, r.FMR}
		}},
	{kind: TAR, hasRate: true, ofResample: func(r *resampledCounts, rate float64) float64 { return 1 - r.fnmrAt(rate) },
		levels: (*Counts).thresholdsNearFMR,
		pairs: func(c *Counts, rate float64) (float64, *Decision) {
			r := c.RatesAtFMR(rate)
			return r.TAR(), &Decision{r.Threshold, r.FMR}
		}},
	{kind: EER, ofResample: func(r *resampledCounts, _ float64) float64 { return r.eer() },
		levels: func(c *Counts, _ float64) []key {
			rate, _ := c.EER()
			return c.thresholdsNearFMR(rate)
		},
		pairs: func(c *Counts, _ float64) (float64, *Decision) {
			rate, threshold := c.EER()
			return rate, &Decision{threshold, c.RatesAt(threshold).FMR}
		}},
	{kind: AUC, ofResample: func(r *resampledCounts, _ float64) float64 { return r.auc() },
		pairs: func(c *Counts, _ float64) (float64, *Decision) { return c.AUC(), nil }},
	{kind: DPrime, ofResample: func(r *resampledCounts, _ float64) float64 { return r.dPrime() },
		levels: (*Counts).evenThresholds,
		pairs:  func(c *Counts, _ float64) (float64, *Decision) { return c.DPrime(), nil }},
	{kind: Accuracy, list: (*PairList).Accuracy},

	{kind: FNIR, hasRate: true, probes: func(r OpenSetRates) float64 { return r.FNIR }},
	{kind: DIR, hasRate: true, probes: func(r OpenSetRates) float64 { return r.DIR }},
}

// withoutError makes the function of a clustering measure that has no error.
func withoutError(f func(*cluster.Table) float64) func(context.Context, *cluster.Table) (float64, error) {
	return func(_ context.Context, t *cluster.Table) (float64, error) { return f(t), nil }
}

// measure returns the measure of a kind. It is empty for an unknown kind.
func (k Kind) measure() *measure {
	for i := range measures {
		if measures[i].kind == k {
			return &measures[i]
		}
	}
	return &measure{}
}

// isRanking and the following methods report the family of a measure.
func (e *measure) isRanking() bool    { return e.ranking != nil }
func (e *measure) isClustering() bool { return e.clustering != nil }
func (e *measure) isDecision() bool   { return e.isPairs() || e.isProbes() }
func (e *measure) isPairs() bool      { return e.pairs != nil || e.list != nil }
func (e *measure) isProbes() bool     { return e.probes != nil }

func (e *measure) takesK() bool      { return e.nameAtK != "" }
func (e *measure) takesRate() bool   { return e.hasRate }
func (e *measure) isResampled() bool { return e.ofResample != nil }

// nameForms returns the names that ParseMetric reads, with K and RATE for the numbers.
func (e *measure) nameForms() (out []string) {
	if !e.takesK() || e.nameWithoutK {
		out = append(out, string(e.kind)+map[bool]string{true: "=RATE"}[e.hasRate])
	}
	if e.takesK() {
		out = append(out, e.nameAtK+"@K")
	}
	return out
}

// MetricNames returns the names that ParseMetric reads, with K and RATE for numbers: measures of rankings, of
// clusterings, of decisions about pairs, and of probes in an open set.
func MetricNames() (rankings, clusterings, pairs, probes []string) {
	for i := range measures {
		e := &measures[i]
		list := &probes
		switch {
		case e.isRanking():
			list = &rankings
		case e.isClustering():
			list = &clusterings
		case e.isPairs():
			list = &pairs
		}
		*list = append(*list, e.nameForms()...)
	}
	return rankings, clusterings, pairs, probes
}

// joinKinds returns a list of the kinds that satisfy are, for a message.
func joinKinds(are func(*measure) bool) string {
	var names []string
	for i := range measures {
		if are(&measures[i]) {
			names = append(names, string(measures[i].kind))
		}
	}
	return strings.Join(names, ", ")
}

// UnmarshalText reads the name of a kind, such as recall or nmi.
func (k *Kind) UnmarshalText(text []byte) error {
	v := Kind(text)
	if err := v.check(); err != nil {
		return err
	}
	*k = v
	return nil
}

// check returns an error for an unknown kind.
func (k Kind) check() error {
	if e := k.measure(); e.kind == k && k != "" {
		return nil
	}
	return fmt.Errorf("metric of unknown kind %q: there are %s; of a clustering %s; of decisions %s", string(k),
		joinKinds((*measure).isRanking), joinKinds((*measure).isClustering), joinKinds((*measure).isDecision))
}

// countWithin returns the number of ranks up to k.
func countWithin(ranks []int32, k int) int {
	n, _ := slices.BinarySearchFunc(ranks, k+1, func(r int32, k int) int { return int(r) - k })
	return n
}

// precisionSum returns the sum of the precisions at the given ranks.
func precisionSum(ranks []int32) float64 {
	var s float64
	for i, r := range ranks {
		s += float64(i+1) / float64(r)
	}
	return s
}

func ndcg(ranks []int32, r, k int) float64 {
	ranks = ranks[:countWithin(ranks, k)]
	ideal := min(r, k)
	var gain, best float64
	for _, rank := range ranks {
		gain += 1 / math.Log2(1+float64(rank))
	}
	for i := 1; i <= ideal; i++ {
		best += 1 / math.Log2(1+float64(i))
	}
	return gain / best
}
