package objective

import (
	"fmt"
	"math"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/refdata"
	"github.com/kindred-ml/kindred/matrix"
)

// TestReferenceLosses compares values and gradients with those of
// internal/test/refdata/cases, which come with the repository.
func TestReferenceLosses(t *testing.T) {
	cases := refdata.ReadCases(t)
	seen := map[string]bool{}
	for _, c := range cases.Losses {
		seen[fmt.Sprint(c.Config["loss"])] = true
		t.Run(fmt.Sprintf("%v/%s", c.Config, c.Batch), func(t *testing.T) {
			b := cases.Batches[c.Batch]
			opts, err := ParseFlat(c.Config)
			if err != nil {
				t.Fatal(err)
			}
			opts.Dim = b.Dim
			if n := opts.Loss.Traits().Proxies; n > 0 {
				opts.Classes = len(c.Params) / (b.Dim * n)
			} else { // a number for each class, where the loss has any
				opts.Classes = len(c.Params)
			}
			obj, err := New(opts)
			if err != nil {
				t.Fatal(err)
			}
			given := c.Params
			for _, p := range obj.Params() {
				given = given[copy(p.Value, given):]
			}
			if len(given) > 0 {
				t.Fatalf("%d more parameters than the loss has", len(given))
			}
			grad := matrix.New(len(b.Labels), b.Dim)
			r, err := obj.Step(t.Context(), matrix.FromSlice(len(b.Labels), b.Dim, b.X),
				Batch{Labels: b.Labels, IDs: b.IDs},
				grad)
			if err != nil {
				t.Fatal(err)
			}
			if diff := math.Abs(r.Value - c.Value); !(diff <= 1e-5*math.Abs(c.Value)+1e-7) {
				t.Errorf("value %.9g, want %.9g", r.Value, c.Value)
			}
			if r.Tuples != c.Terms {
				t.Errorf("%d terms, want %d", r.Tuples, c.Terms)
			}
			sameGradient(t, "rows", grad.Data, c.Grad)
			var learned []float32
			for _, p := range obj.Params() {
				learned = append(learned, p.Grad...)
			}
			sameGradient(t, "parameters", learned, c.ParamGrad)
		})
	}
	if len(seen) < 31 {
		t.Errorf("cases of only %d losses: a loss has lost its cases", len(seen))
	}
}

// sameGradient allows single precision its rounding, of the largest number where
// they cancel.
func sameGradient(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	var largest float64
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	worst, at := 0.0, 0
	for k, w := range want {
		if d := math.Abs(float64(got[k])-w) - 1e-4*math.Abs(w); !(d <= worst) {
			worst, at = d, k
		}
	}
	if !(worst <= 2e-5*largest+1e-7) {
		t.Errorf("gradient of %s: number %d is %.9g, want %.9g (largest %.3g)", what, at, got[at], want[at], largest)
	}
}
