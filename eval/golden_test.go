package eval_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"

	"github.com/kindred-ml/kindred/internal/compute/cluster"
	"github.com/kindred-ml/kindred/internal/test/refdata"
)

type goldenCase struct {
	Name     string
	Kind     string
	Config   struct{ Distance string }
	Metrics  map[string]float64
	Excluded int
	N        int

	NMIArithmetic float64 `json:"nmi_arithmetic"`
	NMIGeometric  float64 `json:"nmi_geometric"`
	AMIArithmetic float64 `json:"ami_arithmetic"`
}

func goldenCases(t *testing.T, dir, kind string) []goldenCase {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []goldenCase
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	for _, r := range raw {
		var head struct{ Kind string }
		if err := json.Unmarshal(r, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != kind {
			continue
		}
		var c goldenCase
		if err := json.Unmarshal(r, &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		t.Fatalf("no cases of kind %q", kind)
	}
	return out
}

func TestGoldenRetrieval(t *testing.T) {
	dir := refdata.Path(t, "golden")
	for _, c := range goldenCases(t, dir, "eval") {
		t.Run(c.Name, func(t *testing.T) {
			l, err := embedding.Load(filepath.Join(dir, c.Name+".x.npy"), filepath.Join(dir, c.Name+".y.npy"), nil)
			if err != nil {
				t.Fatal(err)
			}
			d, err := eval.ParseDistance(c.Config.Distance)
			if err != nil {
				t.Fatal(err)
			}
			var cfg eval.Config
			cfg.Distance = d
			for name := range c.Metrics {
				m, err := eval.ParseMetric(name)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Metrics = append(cfg.Metrics, m)
			}
			rep, err := eval.Evaluate(context.Background(), eval.Set{X: l.X, Labels: l.Labels()}, nil, cfg)
			if err != nil {
				t.Fatal(err)
			}
			col := rep.Columns[0]
			if col.Excluded != c.Excluded || col.Queries+col.Excluded != c.N {
				t.Errorf("%d queries, %d excluded; want %d excluded of %d", col.Queries, col.Excluded, c.Excluded, c.N)
			}
			for _, v := range col.Values {
				if want := c.Metrics[v.Metric.String()]; math.Abs(v.Value-want) > 1e-6 {
					t.Errorf("%s = %.9f, want %.9f", v.Metric, v.Value, want)
				}
			}
		})
	}
}

func TestGoldenClustering(t *testing.T) {
	dir := refdata.Path(t, "golden")
	for _, c := range goldenCases(t, dir, "clustering") {
		classes, err := embedding.Formats{}.ReadAssignments(filepath.Join(dir, c.Name+".true.npy"))
		if err != nil {
			t.Fatal(err)
		}
		clusters, err := embedding.Formats{}.ReadAssignments(filepath.Join(dir, c.Name+".pred.npy"))
		if err != nil {
			t.Fatal(err)
		}
		tab, err := cluster.NewTable(classes, clusters)
		if err != nil {
			t.Fatal(err)
		}
		ami, err := tab.AMI(t.Context(), cluster.Arithmetic)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []struct {
			name      string
			got, want float64
		}{
			{"nmi, arithmetic", tab.NMI(cluster.Arithmetic), c.NMIArithmetic},
			{"nmi, geometric", tab.NMI(cluster.Geometric), c.NMIGeometric},
			{"ami, arithmetic", ami, c.AMIArithmetic},
		} {
			if math.Abs(m.got-m.want) > 1e-6 {
				t.Errorf("%s: %s = %.9f, want %.9f", c.Name, m.name, m.got, m.want)
			}
		}
	}
}
