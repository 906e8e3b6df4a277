package objective

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// TestRunning follows losses that keep something of the batches over three of
// them, against its definition, and continues them from what they saved.
func TestRunning(t *testing.T) {
	for _, c := range []struct {
		name string
		loss func() loss.Running
		mine MiningConfig
		// next is what is kept after a batch, given what was kept before.
		next func(l loss.Running, r *reference, first bool, before []float64) []float64
	}{
		{"curricularface", func() loss.Running { return &loss.CurricularFace{Momentum: new(0.3)} },
			MiningConfig{Positives: AllPositives, Negatives: AllNegatives},
			func(_ loss.Running, r *reference, _ bool, before []float64) []float64 {
				var mean float64
				for i, y := range r.labels {
					mean += dot64(r.e[i], r.p[y]) / float64(len(r.labels))
				}
				return []float64{0.3*mean + 0.7*before[0]}
			}},
		{"dynamic-soft-margin", func() loss.Running { return &loss.DynamicSoftMargin{Bins: 9, Momentum: new(0.3)} },
			MiningConfig{Negatives: HardNegative},
			func(_ loss.Running, r *reference, first bool, before []float64) []float64 {
				out, share := make([]float64, 9), 0.3
				if first {
					share = 1
				}
				n := 0
				for a := range r.x {
					n += len(r.pos[a]) * len(r.neg[a])
				}
				for k := range out {
					for a := range r.x {
						for _, p := range r.pos[a] {
							for _, q := range r.neg[a] {
								at := (r.D(a, p) - r.D(a, q) + 2) / 0.5
								out[k] += share * hinge(1-math.Abs(at-float64(k))) / float64(n)
							}
						}
					}
					out[k] += (1 - share) * before[k]
				}
				return out
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Normalize: true, Loss: c.loss(), Mine: c.mine, Classes: 4, Dim: 6, Seed: 3}
			obj, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			kept := obj.Params()[len(obj.Params())-1]
			want := make([]float64, len(kept.Value))
			for step := range 3 {
				e, labels := gaussian(22, 6, 4, uint64(20+step))
				r := newReference(o, obj, batch{e: e, labels: labels})
				r.prepare()
				want = c.next(c.loss(), r, step == 0, want)
				grad := matrix.New(22, 6)
				saved := slices.Clone(kept.Value)
				res, err := obj.Step(context.Background(), e, Batch{Labels: labels}, grad)
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range kept.Value {
					if math.Abs(float64(v)-want[k]) > 1e-5 {
						t.Fatalf("step %d: keeps %v, want %v", step, kept.Value, want)
					}
				}
				o.Loss = c.loss()
				resumes(t, o, obj, saved, batch{e: e, labels: labels}, res, grad)
			}
		})
	}
}

// resumes repeats a step of an objective from what it had learned, and kept before
// the step, and asks for the same bits.
func resumes(t *testing.T, o Options, obj *Objective, kept []float32, b batch, want Result, grad *matrix.Dense) {
	t.Helper()
	again, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	params := again.Params()
	for k, p := range params {
		copy(p.Value, obj.Params()[k].Value)
	}
	copy(params[len(params)-1].Value, kept)
	other := matrix.New(grad.Rows, grad.Cols)
	got, err := again.Step(context.Background(), b.e, Batch{Labels: b.labels}, other)
	if err != nil || got != want || !slices.Equal(other.Data, grad.Data) {
		t.Errorf("%+v, after restoring %+v, %v", want, got, err)
	}
}
