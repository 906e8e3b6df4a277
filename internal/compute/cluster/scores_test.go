package cluster

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allScores lists all measures by name.
func allScores(t *testing.T, classes, clusters []int64) map[string]float64 {
	t.Helper()
	tab, err := NewTable(classes, clusters)
	if err != nil {
		t.Fatal(err)
	}
	ami := func(m Mean) float64 {
		v, err := tab.AMI(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return map[string]float64{
		"nmi_arithmetic": tab.NMI(Arithmetic), "nmi_geometric": tab.NMI(Geometric),
		"ami_arithmetic": ami(Arithmetic), "ami_geometric": ami(Geometric),
		"ari": tab.ARI(), "homogeneity": tab.Homogeneity(), "completeness": tab.Completeness(),
		"purity": tab.Purity(), "f1": tab.F1(), "mi": tab.MutualInformation(),
	}
}

func randomLabels(rng *rand.Rand, n, k int) []int64 {
	y := make([]int64, n)
	for i := range y {
		y[i] = int64(rng.IntN(k)) * int64(rng.IntN(2)+1) // of uneven sizes
	}
	return y
}

// The definitions, in plain loops over pairs of items and over values.
func TestScoresAgreeWithLoops(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for range 60 {
		n := 2 + rng.IntN(40)
		a, b := randomLabels(rng, n, 1+rng.IntN(6)), randomLabels(rng, n, 1+rng.IntN(9))
		got := allScores(t, a, b)
		var tp, fp, fn, tn float64
		for i := range n {
			for j := range i {
				switch sameA, sameB := a[i] == a[j], b[i] == b[j]; {
				case sameA && sameB:
					tp++
				case sameB:
					fp++
				case sameA:
					fn++
				default:
					tn++
				}
			}
		}
		want := map[string]float64{"f1": 0, "ari": 1}
		if tp > 0 {
			p, r := tp/(tp+fp), tp/(tp+fn)
			want["f1"] = 2 * p * r / (p + r)
		}
		if fp+fn > 0 { // Hubert and Arabie, in the form of pair counts
			want["ari"] = 2 * (tp*tn - fn*fp) / ((tp+fn)*(fn+tn) + (tp+fp)*(fp+tn))
		}
		share := func(match func(i int) bool) float64 {
			c := 0
			for i := range n {
				if match(i) {
					c++
				}
			}
			return float64(c) / float64(n)
		}
		var mi, ha, hb, pure float64
		as, bs := slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b)))
		for _, x := range as {
			p := share(func(i int) bool { return a[i] == x })
			ha -= p * math.Log(p)
		}
		for _, y := range bs {
			q := share(func(i int) bool { return b[i] == y })
			hb -= q * math.Log(q)
			most := 0.0
			for _, x := range as {
				p, pq := share(func(i int) bool { return a[i] == x }),
					share(func(i int) bool { return a[i] == x && b[i] == y })
				most = max(most, pq)
				if pq > 0 {
					mi += pq * math.Log(pq/p/q)
				}
			}
			pure += most
		}
		want["purity"], want["mi"] = pure, mi
		if ha > 0 && hb > 0 {
			want["nmi_arithmetic"], want["nmi_geometric"] = 2*mi/(ha+hb), mi/math.Sqrt(ha*hb)
			want["homogeneity"], want["completeness"] = mi/ha, mi/hb
		}
		for name, w := range want {
			if math.Abs(got[name]-w) > 1e-12 {
				t.Errorf("%s = %.15g, by loops %.15g\nclasses %v\nclusters %v", name, got[name], w, a, b)
			}
		}
	}
}

// The expected mutual information against the mean over all arrangements of a
// small labeling, each equally likely.
func TestAMIExpectationOverAllArrangements(t *testing.T) {
	classes := []int64{0, 0, 0, 1, 1, 2, 2}
	clusters := []int64{0, 0, 1, 1, 1, 1, 2}
	var sum float64
	count := 0
	var permute func(k int)
	permute = func(k int) {
		if k == len(clusters) {
			tab, err := NewTable(classes, clusters)
			if err != nil {
				t.Fatal(err)
			}
			sum += tab.MutualInformation()
			count++
			return
		}
		for i := k; i < len(clusters); i++ {
			clusters[k], clusters[i] = clusters[i], clusters[k]
			permute(k + 1)
			clusters[k], clusters[i] = clusters[i], clusters[k]
		}
	}
	permute(0)
	tab, err := NewTable(classes, clusters)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tab.expectedInformation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := sum / float64(count); math.Abs(got-want) > 1e-12 {
		t.Errorf("expected information %.15g, over %d arrangements %.15g", got, count, want)
	}
}

func TestScoresOfSpecialPartitions(t *testing.T) {
	one, each := []int64{4, 4, 4, 4}, []int64{1, 2, 3, 4}
	two := []int64{1, 1, 2, 2}
	for _, c := range []struct {
		name              string
		classes, clusters []int64
		want              map[string]float64
	}{
		{"equal", two, []int64{-9, -9, 1 << 60, 1 << 60},
			map[string]float64{"nmi_arithmetic": 1, "ami_arithmetic": 1, "ari": 1, "f1": 1, "purity": 1,
				"homogeneity": 1, "completeness": 1}},
		{"one group each", one, one, map[string]float64{"nmi_arithmetic": 1, "ami_arithmetic": 1, "ari": 1, "f1": 1,
			"purity": 1, "homogeneity": 1, "completeness": 1}},
		{"singletons each", each, each, map[string]float64{"nmi_arithmetic": 1, "ami_arithmetic": 1, "ari": 1, "f1": 0,
			"purity": 1, "homogeneity": 1, "completeness": 1}},
		{"one class, singletons", one, each, map[string]float64{"nmi_arithmetic": 0, "ami_arithmetic": 0, "ari": 0,
			"f1": 0, "purity": 1, "homogeneity": 1, "completeness": 0}},
		{"singletons, one cluster", each, one, map[string]float64{"nmi_arithmetic": 0, "ami_arithmetic": 0, "ari": 0,
			"f1": 0, "purity": 0.25, "homogeneity": 0, "completeness": 1}},
		{"independent", two, []int64{1, 2, 1, 2},
			map[string]float64{"nmi_arithmetic": 0, "ami_arithmetic": -0.5, "ari": -0.5, "f1": 0, "purity": 0.5,
				"homogeneity": 0, "completeness": 0}},
	} {
		got := allScores(t, c.classes, c.clusters)
		for name, w := range c.want {
			if math.Abs(got[name]-w) > 1e-12 {
				t.Errorf("%s: %s = %g, want %g", c.name, name, got[name], w)
			}
		}
	}
}

func TestScoresAreSymmetricAndIgnoreNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	a, b := randomLabels(rng, 200, 7), randomLabels(rng, 200, 12)
	renamed := make([]int64, len(b))
	for i, y := range b {
		renamed[i] = -1000 * y
	}
	ab, ba, other := allScores(t, a, b), allScores(t, b, a), allScores(t, a, renamed)
	for name, v := range ab {
		if math.Abs(other[name]-v) > 1e-12 {
			t.Errorf("%s: %g, with other names %g", name, v, other[name])
		}
		switch name {
		case "purity":
		case "homogeneity":
			if math.Abs(v-ba["completeness"]) > 1e-12 {
				t.Errorf("homogeneity %g, completeness the other way %g", v, ba["completeness"])
			}
		case "completeness":
		default:
			if math.Abs(v-ba[name]) > 1e-12 {
				t.Errorf("%s: %g one way, %g the other", name, v, ba[name])
			}
		}
	}
}

func TestNewTableRejects(t *testing.T) {
	for _, c := range [][2][]int64{{nil, nil}, {{1}, {1, 2}}} {
		if _, err := NewTable(c[0], c[1]); err == nil {
			t.Errorf("%v: no error", c)
		}
	}
}

const sklearnScript = `
import json, sys
from sklearn import metrics as m
out = []
for a, b in json.load(sys.stdin):
    h, c, _ = m.homogeneity_completeness_v_measure(a, b)
    out.append({
        "nmi_arithmetic": m.normalized_mutual_info_score(a, b, average_method="arithmetic"),
        "nmi_geometric": m.normalized_mutual_info_score(a, b, average_method="geometric"),
        "ami_arithmetic": m.adjusted_mutual_info_score(a, b, average_method="arithmetic"),
        "ami_geometric": m.adjusted_mutual_info_score(a, b, average_method="geometric"),
        "ari": m.adjusted_rand_score(a, b), "homogeneity": h, "completeness": c,
        "mi": m.mutual_info_score(a, b)})
json.dump(out, sys.stdout)
`

// Agreement with scikit-learn on random clusterings, where it is installed.
func TestScoresAgreeWithScikitLearn(t *testing.T) {
	const python = "/usr/bin/python3"
	if out, err := exec.Command(python, "-c", "import sklearn.metrics").CombinedOutput(); err != nil {
		t.Skipf("scikit-learn is not installed for %s: %v %s", python, err, out)
	}
	rng := rand.New(rand.NewPCG(4, 5))
	var cases [][2][]int64
	for i := range 20 {
		n := 2 + rng.IntN(60*(1+i%3))
		a := randomLabels(rng, n, 1+rng.IntN(20))
		b := randomLabels(rng, n, 1+rng.IntN(20))
		if i%3 == 0 { // related ones
			for j := range b {
				if rng.IntN(3) > 0 {
					b[j] = a[j] / 2
				}
			}
		}
		if i%10 == 9 {
			for j := range b {
				b[j] = int64(j) // more clusters than fit
			}
		}
		cases = append(cases, [2][]int64{a, b})
	}
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", sklearnScript)
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []map[string]float64
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(cases) {
		t.Fatalf("%d answers to %d cases", len(want), len(cases))
	}
	for i, c := range cases {
		got := allScores(t, c[0], c[1])
		for name, w := range want[i] {
			if math.Abs(got[name]-w) > 1e-9 {
				t.Errorf("case %d (%s): %s = %.12g, scikit-learn %.12g", i, fmt.Sprint(len(c[0])), name, got[name], w)
			}
		}
	}
}
