package discover

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/compute/cluster"
)

// outcome is what the kinds of one embedding are worth, as means over its classes.
type outcome struct{ nmi, ari, kinds, truth, off, divided float64 }

// TestKindsOfRuns compares the kinds found with those there are, for docs/discover.md.
// The folders of runs match $KINDRED_KINDS, two patterns divided by a comma, the second that of
// the baseline; $KINDRED_KINDS_SET is the start of the files' names, such as seen_. Classes
// are the column coarse, the kinds there are label.
func TestKindsOfRuns(t *testing.T) {
	patterns := strings.Split(os.Getenv("KINDRED_KINDS"), ",")
	if len(patterns) != 2 {
		t.Skip("KINDRED_KINDS names no runs")
	}
	method := Ward
	if os.Getenv("KINDRED_KINDS_METHOD") == "density" {
		method = Density
	}
	var all [2][]outcome
	for side, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil || len(dirs) == 0 {
			t.Fatalf("%s: %d folders, %v", pattern, len(dirs), err)
		}
		slices.Sort(dirs)
		for _, dir := range dirs {
			o := measureOutcome(t, filepath.Join(dir, os.Getenv("KINDRED_KINDS_SET")), method)
			all[side] = append(all[side], o)
			fmt.Printf("%s: NMI %.3f ARI %.3f, %.1f kinds of %.1f (|log ratio| %.2f), %.0f %% of classes divided\n",
				filepath.Base(dir), o.nmi, o.ari, o.kinds, o.truth, o.off, 100*o.divided)
		}
	}
	for name, of := range map[string]func(o outcome) float64{
		"NMI": func(o outcome) float64 { return o.nmi }, "ARI": func(o outcome) float64 { return o.ari }} {
		var d []float64
		for k := range min(len(all[0]), len(all[1])) {
			d = append(d, of(all[0][k])-of(all[1][k]))
		}
		if len(d) < 2 {
			continue // one pair has no deviation
		}
		mean, sd := stat.MeanStdDev(d, nil)
		tv := mean / (sd / math.Sqrt(float64(len(d))))
		p := 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(d) - 1)}.Survival(math.Abs(tv))
		fmt.Printf("%s: ahead by %.3f, sd %.3f of %d pairs, p %.2g\n", name, mean, sd, len(d), p)
	}
}

func measureOutcome(t *testing.T, stem string, method Method) (o outcome) {
	if !strings.HasSuffix(stem, "_") {
		stem += string(filepath.Separator)
	}
	tab, err := embedding.Load(stem+"embeddings.npy", stem+"labels.csv", []string{"label", "coarse"})
	if err != nil {
		t.Fatal(err)
	}
	labels := tab.Labels()
	res := findSubClasses(t, tab.X, labels[1], Options{Method: method, Resamples: -1})
	for _, c := range res.Classes {
		var truth, found []int64
		there := map[int64]bool{}
		for _, k := range c.SubClasses {
			for _, i := range k.Rows {
				truth, found = append(truth, labels[0][i]), append(found, res.SubClassOf[i])
				there[labels[0][i]] = true
			}
		}
		table, err := cluster.NewTable(truth, found)
		if err != nil {
			t.Fatal(err)
		}
		n := float64(len(res.Classes))
		o.nmi += table.NMI(cluster.Arithmetic) / n
		o.ari += table.ARI() / n
		o.kinds += float64(len(c.SubClasses)) / n
		o.truth += float64(len(there)) / n
		o.off += math.Abs(math.Log(float64(len(c.SubClasses))/float64(len(there)))) / n
		if len(c.SubClasses) > 1 {
			o.divided += 1 / n
		}
	}
	return o
}
