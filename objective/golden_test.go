package objective

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/refdata"
	"github.com/kindred-ml/kindred/matrix"
)

type goldenCase struct {
	Name   string
	Kind   string
	Config map[string]any
	Value  float64
	N, Dim int
	Extra  []string
}

func TestGolden(t *testing.T) {
	dir := refdata.Path(t, "golden")
	text, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range cases {
		if c.Kind == "eval" || c.Kind == "clustering" {
			continue
		}
		flat := map[string]any{}
		for k, v := range c.Config {
			flat[strings.TrimSuffix(k, "_")] = v // lambda_ is lambda here
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			opts, err := ParseFlat(flat)
			if err != nil {
				t.Fatal(err)
			}
			var proxies []float32
			if slices.Contains(c.Extra, "proxies") {
				proxies = refdata.ReadNPY[float32](t, filepath.Join(dir, c.Name+".proxies.npy"))
				opts.Dim = c.Dim
				opts.Classes = len(proxies) / c.Dim
			}
			obj, err := New(opts)
			if err != nil {
				t.Fatal(err)
			}
			if proxies != nil {
				copy(obj.Params()[0].Value, proxies)
			}
			e := matrix.FromSlice(c.N, c.Dim, refdata.ReadNPY[float32](t, filepath.Join(dir, c.Name+".x.npy")))
			labels := refdata.ReadNPY[int64](t, filepath.Join(dir, c.Name+".y.npy"))
			want := refdata.ReadNPY[float32](t, filepath.Join(dir, c.Name+".grad.npy"))
			grad := matrix.New(c.N, c.Dim)
			r, err := obj.Step(context.Background(), e, Batch{Labels: labels}, grad)
			if err != nil {
				t.Fatal(err)
			}
			if diff := math.Abs(r.Value - c.Value); diff > 1e-5*math.Abs(c.Value) {
				t.Errorf("value %.9g, want %.9g", r.Value, c.Value)
			}
			var worst float64
			for k, w := range want {
				diff := math.Abs(float64(grad.Data[k] - w))
				worst = max(worst, diff-1e-4*math.Abs(float64(w)))
			}
			if worst > 1e-6 {
				t.Errorf("gradient: off by %.3g beyond 1e-4 relative", worst)
			}
		})
	}
	if ran == 0 {
		t.Fatal("no case ran")
	}
}
