package objective

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// excluding tells whether two policies do not go together.
func excluding(positives, negatives string) bool {
	_, err := ParseFlat(map[string]any{"positives": positives, "negatives": negatives})
	return err != nil
}

// change is a batch before and after something was done to it: row i of the
// first is row at[i] of the second. Two rows of a class are views of one sample.
type change struct {
	e           *matrix.Dense
	labels, ids []int64
	at          []int
}

// ordinary is a batch of 22 rows in 4 classes.
func ordinary() change {
	e, labels := gaussian(22, 6, 4, 12)
	return change{e: e, labels: labels, ids: inPairs(labels)}
}

// inPairs makes two rows of a class views of one sample.
func inPairs(labels []int64) (ids []int64) {
	open := map[int64]int64{} // per class: the sample that waits for its second view
	for i, y := range labels {
		id, ok := open[y]
		if ok {
			delete(open, y)
		} else {
			id = int64(i)
			open[y] = id
		}
		ids = append(ids, id)
	}
	return ids
}

// batchFor is a batch for a loss, which may ask for identities.
func batchFor(l loss.Loss, labels []int64) Batch {
	b := batch{labels: labels}
	b.identify(l)
	return Batch{Labels: labels, IDs: b.ids}
}

func changes(start change) map[string]change {
	e, labels, ids := start.e, start.labels, start.ids
	n, d := e.Rows, e.Cols
	rng := rand.New(rand.NewPCG(3, 3))
	same := make([]int, n)
	for i := range same {
		same[i] = i
	}
	clone := func() *matrix.Dense {
		c := matrix.New(n, d)
		copy(c.Data, e.Data)
		return c
	}
	permuted := change{clone(), make([]int64, n), make([]int64, n), rng.Perm(n)}
	for i, j := range permuted.at {
		copy(permuted.e.Row(j), e.Row(i))
		permuted.labels[j], permuted.ids[j] = labels[i], ids[i]
	}
	relabelled := change{clone(), make([]int64, n), ids, same}
	for i, y := range labels {
		relabelled.labels[i] = (y + 1) % 4
	}
	scaled := change{clone(), labels, ids, same}
	for k := range scaled.e.Data {
		scaled.e.Data[k] *= 1.7
	}
	rotated := change{clone(), labels, ids, same}
	for a := range d { // a rotation in each of many planes
		b := (a + 1) % d
		sin, cos := math.Sincos(0.4 + float64(a))
		for i := range n {
			r := rotated.e.Row(i)
			x, y := float64(r[a]), float64(r[b])
			r[a], r[b] = float32(cos*x-sin*y), float32(sin*x+cos*y)
		}
	}
	return map[string]change{"permute": permuted, "relabel": relabelled, "rotate": rotated, "scale": scaled}
}

// run returns the value and gradient of an objective on a batch. What the loss
// learns differs from class to class.
func (c change) run(t *testing.T, name string, set map[string]any) (float64, *matrix.Dense) {
	t.Helper()
	o, err := objectiveFor(name, set)
	if err != nil {
		t.Fatal(err)
	}
	o.Classes, o.Dim = 4, c.e.Cols
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := o.Loss.(*loss.Margin); ok {
		for k := range m.Params()[0].Value {
			m.Params()[0].Value[k] += 0.1 * float32(k)
		}
	}
	grad := matrix.New(c.e.Rows, c.e.Cols)
	b := Batch{Labels: c.labels}
	if o.Loss.Traits().Views {
		b.IDs = c.ids
	}
	r, err := obj.Step(context.Background(), c.e, b, grad)
	if err != nil {
		t.Fatal(err)
	}
	return r.Value, grad
}

func TestProperties(t *testing.T) {
	start := ordinary()
	for _, name := range LossNames() {
		want, ok := lossTraits[name]
		if !ok {
			t.Errorf("%s is not in the table of properties", name)
			continue
		}
		for _, normalize := range []bool{true, false} {
			set := map[string]any{"normalize": normalize}
			value, grad := start.run(t, name, set)
			for what, c := range changes(start) {
				got, after := c.run(t, name, set)
				keeps := math.Abs(got-value) <= 2e-5*math.Abs(value)
				expect := map[string]bool{"permute": true, "relabel": want.relabel, "rotate": want.rotate,
					"scale": normalize || want.scale}[what]
				if keeps != expect {
					t.Errorf("%s (normalised: %v), %s: value %.7g becomes %.7g; invariant by the table: %v", name,
						normalize, what, value, got, expect)
				}
				if what != "permute" && what != "relabel" || !expect {
					continue
				}
				for i, j := range c.at {
					for k, g := range grad.Row(i) {
						if math.Abs(float64(g-after.At(j, k))) > 1e-4*(1+math.Abs(float64(g))) {
							t.Fatalf("%s (normalised: %v), %s: gradient %d, %d of %v becomes %v", name, normalize, what,
								i, k, g, after.At(j, k))
						}
					}
				}
			}
		}
	}
}

func TestPolicyProperties(t *testing.T) {
	start := ordinary()
	for _, p := range PositivePolicyNames() {
		for _, n := range NegativePolicyNames() {
			dp, ok := drawnPositives[p]
			dn, ok2 := drawnNegatives[n]
			if !ok || !ok2 {
				t.Errorf("policy %s or %s is not in drawnPositives or drawnNegatives (policy_test.go)", p, n)
				continue
			}
			if excluding(p, n) {
				continue
			}
			set := map[string]any{"positives": p, "negatives": n, "normalize": true}
			value, _ := start.run(t, "triplet", set)
			for what, c := range changes(start) {
				got, _ := c.run(t, "triplet", set)
				keeps := math.Abs(got-value) <= 2e-5*math.Abs(value)
				// Draws are by anchor and rank among the candidates, so only a
				// change of order changes them.
				if expect := what != "permute" || !dp && !dn; keeps != expect {
					t.Errorf("%s + %s, %s: value %.7g becomes %.7g; invariant by the table: %v", p, n, what, value, got,
						expect)
				}
			}
		}
	}
}
