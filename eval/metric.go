package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Metric is a number to compute.
type Metric struct {
	Kind Kind
	// K, for Recall, Precision, MAPAtK and NDCG, is the number of neighbours. 0 means the whole
	// ranking: then Recall is 1, Precision is the share of positives in the gallery, and MAPAtK is
	// the same as MAP. The other kinds do not take a K.
	K int
	// Factor, for clusterings, is the number of clusters divided by the number of classes; 0 means
	// 1.
	Factor int
	// Rate, for FNMR, TAR, FNIR and DIR, is the error rate (FMR or FPIR) at which they are measured.
	// It is above 0 and below 1.
	Rate float64
}

// Check returns an error if m is not a valid metric: its Kind is unknown, or K or Factor is negative or
// set for a kind that does not take it.
func (m Metric) Check() error {
	if err := m.Kind.check(); err != nil {
		return err
	}
	switch e := m.Kind.measure(); {
	case m.K < 0:
		return fmt.Errorf("metric %s of %d neighbours: must be 1 or more, or 0 for the whole ranking", m.Kind, m.K)
	case m.K > 0 && !e.takesK():
		return fmt.Errorf("metric %s of %d neighbours: this kind takes no K; the kinds with a K are %s", m.Kind,
			m.K, joinKinds((*measure).takesK))
	case m.Factor < 0:
		return fmt.Errorf("metric %s with %d clusters a class: must be 1 or more", m.Kind, m.Factor)
	case m.Factor > 0 && !e.isClustering():
		return fmt.Errorf("metric %s with %d clusters a class: it does not measure a clustering", m.Kind, m.Factor)
	case e.hasRate && !(m.Rate > 0 && m.Rate < 1):
		return fmt.Errorf("metric %s=%v: the rate must be above 0 and below 1, as in %[1]s=1e-3", m.Kind, m.Rate)
	case m.Rate != 0 && !e.hasRate:
		return fmt.Errorf("metric %s at the rate %v: this kind takes no rate; the kinds with a rate are %s", m.Kind,
			m.Rate, joinKinds((*measure).takesRate))
	}
	return nil
}

// String returns the name that ParseMetric reads, such as recall@1, map@r, nmi+10 or fnmr@fmr=0.001.
// Recall and Precision over the whole ranking have no such name. For them String returns recall and
// precision.
func (m Metric) String() string {
	name := cmp.Or(m.Kind.measure().nameAtK, string(m.Kind))
	switch {
	case m.K > 0:
		return fmt.Sprintf("%s@%d", name, m.K)
	case m.Factor > 1:
		return fmt.Sprintf("%s+%d", m.Kind, m.Factor)
	case m.Rate != 0:
		return fmt.Sprintf("%s=%v", m.Kind, m.Rate)
	}
	return name
}

// MarshalText returns the name that ParseMetric reads. It is an error for Recall and Precision over the
// whole ranking, which have no such name.
func (m Metric) MarshalText() ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	name := m.String()
	_, err := ParseMetric(name)
	return []byte(name), err
}

// UnmarshalText sets m to what ParseMetric returns.
func (m *Metric) UnmarshalText(text []byte) error {
	v, err := ParseMetric(string(text))
	if err == nil {
		*m = v
	}
	return err
}

// The following methods report the family of a metric. pairs is for decisions about pairs, opens for
// identification in an open set, and retrieves for retrieval.
func (m Metric) isClustering() bool { return m.Kind.measure().isClustering() }
func (m Metric) isPairs() bool      { return m.Kind.measure().isPairs() }
func (m Metric) isOpenSet() bool    { return m.Kind.measure().isProbes() }
func (m Metric) isRetrieval() bool  { return m.Kind.measure().isRanking() }

// ParseMetric reads the name of a metric: its kind, such as map@r, nmi or eer. Recall, Precision, MAPAtK
// and NDCG have the names recall@K, precision@K, map@K and ndcg@K. The name of a clustering measure may
// be followed by +F, for F clusters for each class. The name of a measure at a rate is followed by
// =RATE, as in fnmr@fmr=1e-3. Names lists all names.
func ParseMetric(s string) (Metric, error) {
	switch e := Kind(s).measure(); {
	case e.isRanking() && (!e.takesK() || e.nameWithoutK):
		return Metric{Kind: e.kind}, nil
	case e.isClustering():
		return Metric{Kind: e.kind, Factor: 1}, nil
	}
	if name, f, ok := strings.Cut(s, "+"); ok && Kind(name).measure().isClustering() {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 {
			return Metric{}, fmt.Errorf("metric %q: after + must be a whole number of clusters a class", s)
		}
		return Metric{Kind: Kind(name), Factor: n}, nil
	}
	if name, rate, _ := strings.Cut(s, "="); Kind(name).measure().isDecision() {
		return parseDecision(s, Kind(name), rate)
	}
	name, k, ok := strings.Cut(s, "@")
	for i := range measures {
		if e := &measures[i]; ok && e.takesK() && e.nameAtK == name {
			n, err := strconv.Atoi(k)
			if err != nil || n < 1 {
				return Metric{}, fmt.Errorf("metric %q: after @ must be a whole number of neighbours", s)
			}
			return Metric{Kind: e.kind, K: n}, nil
		}
	}
	rankings, _, _, _ := MetricNames()
	return Metric{},
		fmt.Errorf("unknown metric %q: must be %s, or of a clustering %s, with +F for F clusters a class, "+
			"or of decisions %s, with =RATE after an @", s, strings.Join(rankings, ", "),
			joinKinds((*measure).isClustering),
			joinKinds((*measure).isDecision))
}

// parseDecision reads the rate at which a decision is measured.
func parseDecision(s string, k Kind, rate string) (Metric, error) {
	m := Metric{Kind: k}
	if !k.measure().hasRate {
		if s != string(k) {
			return Metric{}, fmt.Errorf("metric %q: %s takes no rate", s, k)
		}
		return m, nil
	}
	v, err := strconv.ParseFloat(rate, 64)
	if m.Rate = v; err != nil || m.Check() != nil {
		return Metric{}, fmt.Errorf("metric %q: after = must be a rate above 0 and below 1, as in %s=1e-3", s, k)
	}
	return m, nil
}

// ParseMetrics reads a list of metrics separated by commas. A range of neighbours, as in recall@1..1000,
// means a metric for each number.
func ParseMetrics(s string) ([]Metric, error) {
	var out []Metric
	for name := range strings.SplitSeq(s, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" {
			continue
		}
		names, err := expandRange(name)
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

// maxRange is the largest number of metrics from a range of neighbours.
const maxRange = 10000

func expandRange(name string) ([]string, error) {
	kind, span, ok := strings.Cut(name, "@")
	from, to, isRange := strings.Cut(span, "..")
	if !ok || !isRange {
		return []string{name}, nil
	}
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	if errA != nil || errB != nil || a < 1 || b < a || b-a >= maxRange {
		return nil, fmt.Errorf("metric %q: must be a range of neighbours such as recall@1..1000, at most %d long", name,
			maxRange)
	}
	var names []string
	for k := a; k <= b; k++ {
		names = append(names, fmt.Sprintf("%s@%d", kind, k))
	}
	return names, nil
}
