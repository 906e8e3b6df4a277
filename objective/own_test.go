package objective_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"

	"github.com/kindred-ml/kindred/objective"
)

// The types below are losses as somebody outside the module would write them:
// they repeat one of package loss, or have a method too few.

type bare struct{ traits loss.Traits }

func (b bare) Traits() loss.Traits { return b.traits }

// ownBatch is half the sum of squares of the embeddings, times the label of each row.
type ownBatch struct{ bare }

func (l ownBatch) Terms() loss.Terms { return loss.BatchTerms(l) }

func (ownBatch) Batch(e *matrix.Dense, labels []int64, grad *matrix.Dense) (float64, error) {
	value := 0.0
	for i := range e.Rows {
		for j, v := range e.Row(i) {
			value += float64(labels[i]) * float64(v) * float64(v) / 2
			grad.Row(i)[j] += float32(labels[i]) * v
		}
	}
	return value, nil
}

// TestOwnBatch: value and gradient are those of the loss, in each step anew, weighted and beside another loss.
func TestOwnBatch(t *testing.T) {
	e := matrix.FromSlice(3, 2, []float32{1, 2, 3, 4, 5, 6})
	b := objective.Batch{Labels: []int64{1, 0, 2}}
	step := func(o objective.Options, times int) (value float64, grad []float32) {
		t.Helper()
		obj, err := objective.New(o)
		if err != nil {
			t.Fatal(err)
		}
		g := matrix.New(3, 2)
		for range times {
			r, err := obj.Step(t.Context(), e, b, g)
			if err != nil {
				t.Fatal(err)
			}
			value = r.Value
		}
		return value, g.Data
	}
	value, grad := step(objective.Options{Loss: ownBatch{}}, 2)
	if value != 63.5 || !slices.Equal(grad, []float32{1, 2, 0, 0, 10, 12}) {
		t.Errorf("%v, %v", value, grad)
	}
	one, part := step(objective.Options{Loss: loss.Triplet{}}, 1)
	value, grad = step(objective.Options{Loss: loss.Triplet{}, Plus: []objective.Weighted{{Weight: 2,
		Options: objective.Options{Loss: ownBatch{}}}}}, 1)
	if value != one+2*63.5 || grad[4] != part[4]+20 {
		t.Errorf("%v beside %v, %v beside %v", value, one, grad, part)
	}
	for _, o := range []objective.Options{{Memory: 4}, {Trim: 0.1}, {Rule: 1}} {
		if o.Loss = (ownBatch{}); objectiveError(o) == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func objectiveError(o objective.Options) error {
	_, err := objective.New(o)
	return err
}

type ownTriplet struct{ bare }

func (l ownTriplet) Terms() loss.Terms { return loss.TupleTerms(l) }

func (ownTriplet) Tuples(ap, an, val, dap, dan []float32) {
	for k := range ap {
		val[k], dap[k], dan[k] = max(0, ap[k]-an[k]+0.2), 0, 0
		if val[k] > 0 {
			dap[k], dan[k] = 1, -1
		}
	}
}

type ownSet struct{ bare }

func (l ownSet) Terms() loss.Terms { return loss.SetTerms(l) }

func (ownSet) Set(s *loss.Set) { s.Term(0) }

// noTerms is a loss that is a sum of nothing, borrowed one with the terms of another.
type (
	noTerms  struct{ bare }
	borrowed struct{ ownTriplet }
)

func (noTerms) Terms() loss.Terms { return loss.Terms{} }

// ownProxies is loss.ProxyNCA with two classes.
type ownProxies struct {
	ownSet
	params []*loss.Param
}

func (l *ownProxies) Terms() loss.Terms { return loss.SetTerms(l) }

func (l *ownProxies) Learn(int, int, uint64) error { return nil }
func (l *ownProxies) Params() []*loss.Param        { return l.params }

// ownLabels learns a number for each label but is not a loss over pairs.
type ownLabels struct{ ownProxies }

func (l *ownLabels) Terms() loss.Terms { return loss.SetTerms(l) }

func (l *ownLabels) Learned([]int64, []float64, float64) {}

func batchOf(n, d int) (*matrix.Dense, objective.Batch) {
	rng := rand.New(rand.NewPCG(1, 9))
	e, b := matrix.New(n, d), objective.Batch{}
	for i := range n {
		b.Labels = append(b.Labels, int64(i%3))
		for k := range d {
			e.Row(i)[k] = float32(rng.NormFloat64())
		}
	}
	return e, b
}

// TestOwnLoss: a triplet loss of one's own gives the bits of loss.Triplet.
func TestOwnLoss(t *testing.T) {
	e, b := batchOf(20, 5)
	var grads []*matrix.Dense
	var results []objective.Result
	for _, l := range []loss.Loss{loss.Triplet{}, ownTriplet{bare{loss.Traits{Measure: loss.Squared}}}} {
		hard := objective.MiningConfig{Negatives: objective.HardNegative}
		obj, err := objective.New(objective.Options{Normalize: true, Loss: l, Mine: hard})
		if err != nil {
			t.Fatal(err)
		}
		grad := matrix.New(20, 5)
		r, err := obj.Step(context.Background(), e, b, grad)
		if err != nil {
			t.Fatal(err)
		}
		grads, results = append(grads, grad), append(results, r)
	}
	if results[0] != results[1] || !slices.Equal(grads[0].Data, grads[1].Data) || results[0].Active == 0 {
		t.Errorf("loss.Triplet gives %+v, a loss that repeats it %+v", results[0], results[1])
	}
}

// TestLossLacksAMethod: New says what a loss lacks for its traits.
func TestLossLacksAMethod(t *testing.T) {
	proxies := func(shape ...int) *ownProxies {
		n := 1
		for _, s := range shape {
			n *= s
		}
		p := &loss.Param{Name: "proxies", Shape: shape, Value: make([]float32, n), Grad: make([]float32, n)}
		return &ownProxies{ownSet{bare{loss.Traits{Proxies: 1}}}, []*loss.Param{p}}
	}
	short := proxies(2, 5)
	short.params[0].Grad = nil
	noParams := proxies(2, 5)
	noParams.params = nil
	for _, c := range []struct {
		loss loss.Loss
		says string // nothing for a loss that is fine
	}{
		{ownTriplet{}, ""},
		{ownSet{}, ""},
		{proxies(2, 5), ""},
		{noTerms{}, "the terms of the loss itself, not of <nil>"},
		{borrowed{}, "the terms of the loss itself, not of objective_test.ownTriplet"},
		{ownTriplet{bare{loss.Traits{Measure: 7}}}, "no measure"},
		{ownTriplet{bare{loss.Traits{Reduction: 7}}}, "no reduction"},
		{ownTriplet{bare{loss.Traits{CrossRows: true}}}, "CrossRows"},
		{ownSet{bare{loss.Traits{Passes: 1}}}, "loss.MultiPass"},
		{ownSet{bare{loss.Traits{Passes: 3}}}, "3 passes"},
		{ownSet{bare{loss.Traits{Passes: -1}}}, "-1 passes"},
		{ownSet{bare{loss.Traits{Proxies: 1}}}, "loss.Learner"},
		{ownTriplet{bare{loss.Traits{Proxies: 1}}}, "loss.Sets and a loss.Learner"},
		{ownSet{bare{loss.Traits{Proxies: -1}}}, "-1 proxies"},
		{ownSet{bare{loss.Traits{ProxyAnchors: true}}}, "0 proxies"},
		{&ownLabels{*proxies(2, 5)}, "loss.Pairs"},
		{proxies(3, 5), "2 proxies of 5 numbers"},
		{proxies(2, 4), "2 proxies of 5 numbers"},
		{proxies(10), "2 proxies of 5 numbers"},
		{short, "as many in Grad"},
		{noParams, "2 proxies of 5 numbers"},
	} {
		all := objective.MiningConfig{Positives: objective.AllPositives, Negatives: objective.AllNegatives}
		_, err := objective.New(objective.Options{Loss: c.loss, Mine: all, Classes: 2, Dim: 5})
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%T with %+v: %v, want %q", c.loss, c.loss.Traits(), err, c.says)
		}
	}
}

// TestViewsNeedIdentities: a loss between views says what a batch lacks, and what it
// does not go with.
func TestViewsNeedIdentities(t *testing.T) {
	e, b := batchOf(8, 4)
	all := objective.MiningConfig{Positives: objective.AllPositives, Negatives: objective.AllNegatives}
	o := objective.Options{Loss: loss.Spread{}, Mine: all}
	obj, err := objective.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := obj.Step(context.Background(), e, b, nil); err == nil || !strings.Contains(err.Error(), "identities") {
		t.Errorf("a batch without identities: %v", err)
	}
	o.Memory = 5
	if _, err := objective.New(o); err == nil || !strings.Contains(err.Error(), "neither a memory") {
		t.Errorf("with a memory: %v", err)
	}
	o.Memory, o.Relate = 0, objective.CoarseNotFine(func(y int64) int64 { return y })
	if _, err := objective.New(o); err == nil || !strings.Contains(err.Error(), "a relation of labels") {
		t.Errorf("with a relation: %v", err)
	}
}
