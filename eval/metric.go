package eval

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is a family of measures.
type Kind string

// Measures of retrieval: per query a function of the ranks of its positives,
// averaged over the queries that have one.
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
	// MAPAtK is the sum of the precisions at the ranks of the positives among the
	// K nearest, over min(K, R), not over the hits found.
	MAPAtK Kind = "map@k"
	// MRR is 1 over the rank of the nearest positive.
	MRR Kind = "mrr"
	// NDCG is sum over positives of 1/log2(1 + rank), over the same sum for the
	// ideal ranking; with K > 0 both sums stop at rank K.
	NDCG Kind = "ndcg"
)

// Measures of a clustering against the labels.
const (
	NMI          Kind = "nmi"           // normalised by the arithmetic mean of the entropies
	NMIGeometric Kind = "nmi-geometric" // normalised by their geometric mean
	AMI          Kind = "ami"           // adjusted for chance, arithmetic mean
	AMIGeometric Kind = "ami-geometric"
	ARI          Kind = "ari"
	Purity       Kind = "purity"
	F1           Kind = "f1" // of pairs
	Homogeneity  Kind = "homogeneity"
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
	// AUC is the area under the ROC curve: how often a genuine pair is nearer than an
	// impostor pair, over all couples of the two.
	AUC Kind = "auc"
	// DPrime is the distance between the means of genuine and impostor pairs, over their
	// spread.
	DPrime Kind = "dprime"
	// Accuracy is the share of correct decisions about the pairs of a list, by
	// cross-validation over its folds. It needs Config.Pairs.
	Accuracy Kind = "accuracy"
	// FNIR is the share of mated queries that find no item of their class. The threshold
	// is the largest at which at most Rate of the queries without their class in the
	// gallery find any item.
	FNIR Kind = "fnir@fpir"
	// DIR is the share of mated queries whose nearest item is of their class and within
	// the threshold of FNIR: rank 1 in an open set.
	DIR Kind = "dir@fpir"
)

var (
	cutKinds   = []Kind{Recall, Precision, MAPAtK, NDCG} // take a K
	atK        = []Kind{Recall, Precision, MAP, NDCG}    // names before @K
	rankKinds  = []Kind{MAPAtR, RPrecision, MAP, MRR, NDCG}
	groupKinds = []Kind{NMI, NMIGeometric, AMI, AMIGeometric, ARI, Purity, F1, Homogeneity, Completeness}
	atRate     = []Kind{FNMR, TAR, FNIR, DIR} // take a Rate
	pairKinds  = []Kind{FNMR, TAR, EER, AUC, DPrime, Accuracy}
	openKinds  = []Kind{FNIR, DIR}
)

// Metric is one number to compute.
type Metric struct {
	Kind Kind
	// K, for Recall, Precision, MAPAtK and NDCG, is the number of neighbours; 0
	// means the whole ranking: then Recall is 1, Precision is the share of
	// positives in the gallery, and MAPAtK is the same as MAP. The other kinds do
	// not take a K.
	K int
	// Factor, for clusterings, makes the number of clusters Factor times the
	// number of classes; 0 is 1.
	Factor int
	// Rate, for FNMR, TAR, FNIR and DIR, is the error rate (FMR or FPIR) at which they
	// are measured, above 0 and below 1.
	Rate float64
}

// Check returns an error if m is not a valid metric: its Kind is unknown, or K
// or Factor is negative or given to a kind that does not take it.
func (m Metric) Check() error {
	if err := m.Kind.check(); err != nil {
		return err
	}
	switch {
	case m.K < 0:
		return fmt.Errorf("metric %s of %d neighbours: want 1 or more, or 0 for the whole ranking", m.Kind, m.K)
	case m.K > 0 && !slices.Contains(cutKinds, m.Kind):
		return fmt.Errorf("metric %s of %d neighbours: its ranking is not cut off; the kinds with a K are %s", m.Kind,
			m.K, joinKinds(cutKinds))
	case m.Factor < 0:
		return fmt.Errorf("metric %s with %d clusters a class: want 1 or more", m.Kind, m.Factor)
	case m.Factor > 0 && !m.clusters():
		return fmt.Errorf("metric %s with %d clusters a class: it is no measure of a clustering", m.Kind, m.Factor)
	case slices.Contains(atRate, m.Kind) && !(m.Rate > 0 && m.Rate < 1):
		return fmt.Errorf("metric %s=%v: want a rate above 0 and below 1, as in %[1]s=1e-3", m.Kind, m.Rate)
	case m.Rate != 0 && !slices.Contains(atRate, m.Kind):
		return fmt.Errorf("metric %s at the rate %v: it is not measured at a rate; the kinds that are: %s", m.Kind,
			m.Rate, joinKinds(atRate))
	}
	return nil
}

// String returns the name that ParseMetric reads: recall@1, map@r, nmi+10,
// fnmr@fmr=0.001. Recall and Precision over the whole ranking have no such name; String
// returns recall and precision.
func (m Metric) String() string {
	switch {
	case m.Kind == MAPAtK && m.K > 0:
		return fmt.Sprintf("map@%d", m.K)
	case m.Kind == MAPAtK:
		return string(MAP)
	case m.K > 0:
		return fmt.Sprintf("%s@%d", m.Kind, m.K)
	case m.Factor > 1:
		return fmt.Sprintf("%s+%d", m.Kind, m.Factor)
	case m.Rate != 0:
		return fmt.Sprintf("%s=%v", m.Kind, m.Rate)
	}
	return string(m.Kind)
}

// MarshalText returns the name that ParseMetric reads. Recall and Precision over the
// whole ranking have none, which is an error.
func (m Metric) MarshalText() ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	name := m.String()
	_, err := ParseMetric(name)
	return []byte(name), err
}

// UnmarshalText is ParseMetric.
func (m *Metric) UnmarshalText(text []byte) error {
	v, err := ParseMetric(string(text))
	if err == nil {
		*m = v
	}
	return err
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

// check returns an error for a kind that there is not.
func (k Kind) check() error {
	for _, family := range [...][]Kind{rankKinds, cutKinds, groupKinds, pairKinds, openKinds} {
		if slices.Contains(family, k) {
			return nil
		}
	}
	return fmt.Errorf("metric of unknown kind %q: there are %s; of a clustering %s; of decisions %s", string(k),
		joinKinds(slices.Concat(cutKinds, rankKinds[:4])), joinKinds(groupKinds), joinKinds(decisionKinds()))
}

// clusters tells whether m measures a clustering.
func (m Metric) clusters() bool { return slices.Contains(groupKinds, m.Kind) }

// pairs tells whether m measures decisions about pairs, opens whether it measures
// identification in an open set.
func (m Metric) pairs() bool { return slices.Contains(pairKinds, m.Kind) }
func (m Metric) opens() bool { return slices.Contains(openKinds, m.Kind) }

// retrieves tells whether m measures retrieval.
func (m Metric) retrieves() bool { return !m.clusters() && !m.pairs() && !m.opens() }

func decisionKinds() []Kind { return slices.Concat(pairKinds, openKinds) }

// ParseMetric reads the name of a metric: recall@K, precision@K, map@r,
// r-precision, map, map@K, mrr, ndcg, ndcg@K, nmi, nmi-geometric, ami,
// ami-geometric, ari, purity, f1, homogeneity, completeness; the name of a
// clustering measure followed by +F asks for F clusters per class. Measures of decisions
// are fnmr@fmr=RATE, tar@far=RATE, eer, auc, dprime, accuracy, fnir@fpir=RATE,
// dir@fpir=RATE.
func ParseMetric(s string) (Metric, error) {
	if slices.Contains(rankKinds, Kind(s)) {
		return Metric{Kind: Kind(s)}, nil
	}
	if slices.Contains(groupKinds, Kind(s)) {
		return Metric{Kind: Kind(s), Factor: 1}, nil
	}
	if name, f, ok := strings.Cut(s, "+"); ok && slices.Contains(groupKinds, Kind(name)) {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 {
			return Metric{}, fmt.Errorf("metric %q: want a whole number of clusters a class after +", s)
		}
		return Metric{Kind: Kind(name), Factor: n}, nil
	}
	if name, rate, _ := strings.Cut(s, "="); slices.Contains(decisionKinds(), Kind(name)) {
		return parseDecision(s, Kind(name), rate)
	}
	if name, k, ok := strings.Cut(s, "@"); ok && slices.Contains(atK, Kind(name)) {
		n, err := strconv.Atoi(k)
		if err != nil || n < 1 {
			return Metric{}, fmt.Errorf("metric %q: want a whole number of neighbours after @", s)
		}
		kind := Kind(name)
		if kind == MAP {
			kind = MAPAtK
		}
		return Metric{Kind: kind, K: n}, nil
	}
	return Metric{}, fmt.Errorf("unknown metric %q: want recall@K, precision@K, map@r, r-precision, map, map@K, mrr, "+
		"ndcg, ndcg@K, or of a clustering %s, with +F for F clusters a class, or of decisions %s, with =RATE after "+
		"an @", s, joinKinds(groupKinds), joinKinds(decisionKinds()))
}

// parseDecision reads the rate at which a decision is measured.
func parseDecision(s string, k Kind, rate string) (Metric, error) {
	m := Metric{Kind: k}
	if !slices.Contains(atRate, k) {
		if s != string(k) {
			return Metric{}, fmt.Errorf("metric %q: %s is not measured at a rate", s, k)
		}
		return m, nil
	}
	v, err := strconv.ParseFloat(rate, 64)
	if m.Rate = v; err != nil || m.Check() != nil {
		return Metric{}, fmt.Errorf("metric %q: want a rate above 0 and below 1 after =, as in %s=1e-3", s, k)
	}
	return m, nil
}

// ParseMetrics reads a list of metrics separated by commas. A range of
// neighbours, as in recall@1..1000, stands for all of them.
func ParseMetrics(s string) ([]Metric, error) {
	var out []Metric
	for name := range strings.SplitSeq(s, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" {
			continue
		}
		names, err := expand(name)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			m, err := ParseMetric(n)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no metric named")
	}
	return out, nil
}

// maxRange bounds what a range of neighbours may expand to.
const maxRange = 10000

func expand(name string) ([]string, error) {
	kind, span, ok := strings.Cut(name, "@")
	from, to, isRange := strings.Cut(span, "..")
	if !ok || !isRange {
		return []string{name}, nil
	}
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	if errA != nil || errB != nil || a < 1 || b < a || b-a >= maxRange {
		return nil, fmt.Errorf("metric %q: want a range of neighbours such as recall@1..1000, at most %d long", name,
			maxRange)
	}
	var names []string
	for k := a; k <= b; k++ {
		names = append(names, fmt.Sprintf("%s@%d", kind, k))
	}
	return names, nil
}

func joinKinds(kinds []Kind) string {
	s := make([]string, len(kinds))
	for i, k := range kinds {
		s[i] = string(k)
	}
	return strings.Join(s, ", ")
}

// depth returns the rank beyond which m does not look, given the largest R of
// any query; 0 means that m looks at the whole ranking.
func (m Metric) depth(maxR int) int {
	switch m.Kind {
	case MAPAtR, RPrecision:
		return max(maxR, 1)
	}
	return m.K
}

// firstOnly tells whether the rank of the nearest positive is all that m needs.
func (m Metric) firstOnly() bool { return m.Kind == Recall || m.Kind == MRR }

// value is the measure of one query from the increasing ranks of its r > 0
// positives in a ranking of n items.
func (m Metric) value(ranks []int32, r, n int) float64 {
	k := m.K
	if k == 0 {
		k = n
	}
	switch m.Kind {
	case Recall:
		if len(ranks) > 0 && int(ranks[0]) <= k {
			return 1
		}
		return 0
	case MRR:
		if len(ranks) > 0 {
			return 1 / float64(ranks[0])
		}
		return 0
	case Precision:
		return float64(within(ranks, k)) / float64(k)
	case RPrecision:
		return float64(within(ranks, r)) / float64(r)
	case MAPAtR:
		return precisionSum(ranks[:within(ranks, r)]) / float64(r)
	case MAP:
		return precisionSum(ranks) / float64(r)
	case MAPAtK:
		return precisionSum(ranks[:within(ranks, k)]) / float64(min(k, r))
	case NDCG:
		return ndcg(ranks, r, k)
	}
	panic("eval: " + m.String() + " is not a measure of a ranking") // Metric.Check has let it pass
}

// within counts the ranks up to k.
func within(ranks []int32, k int) int {
	n, _ := slices.BinarySearchFunc(ranks, k+1, func(r int32, k int) int { return int(r) - k })
	return n
}

// precisionSum adds the precisions at the given ranks.
func precisionSum(ranks []int32) float64 {
	var s float64
	for i, r := range ranks {
		s += float64(i+1) / float64(r)
	}
	return s
}

func ndcg(ranks []int32, r, k int) float64 {
	ranks = ranks[:within(ranks, k)]
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
