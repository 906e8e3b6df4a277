package cluster

import (
	"math"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/refdata"
)

func TestReferenceScores(t *testing.T) {
	scores := map[string]func(*Table) float64{
		"nmi":           func(c *Table) float64 { return c.NMI(Arithmetic) },
		"nmi-geometric": func(c *Table) float64 { return c.NMI(Geometric) },
		"ari":           (*Table).ARI, "purity": (*Table).Purity, "f1": (*Table).F1,
		"homogeneity": (*Table).Homogeneity, "completeness": (*Table).Completeness,
	}
	for _, c := range refdata.ReadCases(t).Clustering {
		table, err := NewTable(c.Classes, c.Clusters)
		if err != nil {
			t.Fatal(err)
		}
		for name, score := range scores {
			if got, want := score(table), c.Scores[name]; !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s: %s = %.15g, want %.15g", c.Name, name, got, want)
			}
		}
	}
}
