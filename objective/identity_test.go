package objective

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// repeat returns a batch in which every row comes up times times, in an order
// drawn anew, with the identities of its rows.
func repeat(e *matrix.Dense, labels []int64, times int, seed uint64) (*matrix.Dense, Batch) {
	n := e.Rows
	out := matrix.New(n*times, e.Cols)
	b := Batch{Labels: make([]int64, n*times), IDs: make([]int64, n*times)}
	for k, at := range rand.New(rand.NewPCG(seed, 2)).Perm(n * times) {
		copy(out.Row(at), e.Row(k%n))
		b.Labels[at], b.IDs[at] = labels[k%n], int64(100+k%n)
	}
	return out, b
}

// The choices of a policy that does not draw are the same samples however often
// a sample comes up in the batch, so a mean over tuples stays what it is. Copies
// that count as pairs give the easy positive a distance of 0 instead.
func TestRepeatedSamplesChangeNoMean(t *testing.T) {
	e, labels := gaussian(24, 6, 5, 3)
	for _, keys := range [][]any{
		{"loss", "triplet", "positives", "easy", "negatives", "hard"},
		{"loss", "triplet", "positives", "hard", "negatives", "hard"},
		{"loss", "triplet", "positives", "easy", "negatives", "semihard"},
		{"loss", "triplet", "positives", "semihard", "negatives", "hard"},
		{"loss", "triplet", "positives", "all", "negatives", "easy"},
		{"loss", "triplet", "positives", "easy", "negatives", "hard", "trim", 0.25},
		{"loss", "contrastive", "positives", "easy", "negatives", "hard", "margin", 1.0, "trim", 0.5},
		{"loss", "nca", "positives", "easy", "negatives", "hard"},
		{"loss", "contrastive", "margin", 1.0},
		{"loss", "snr-contrastive"},
		{"loss", "triplet", "positives", "easy", "negatives", "hard",
			"plus", []any{map[string]any{"name": "contrastive", "margin": 1.0, "weight": 0.5}}},
	} {
		o := mustParse(t, append(keys, "normalize", true)...)
		want, _ := step(t, o, e, labels)
		if want.Value == 0 {
			t.Fatalf("%v: the loss is 0 and shows nothing", keys)
		}
		for times := 2; times <= 3; times++ {
			obj, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			more, b := repeat(e, labels, times, 7)
			got, err := obj.Step(context.Background(), more, b, matrix.New(more.Rows, more.Cols))
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Value-want.Value) > 1e-5*want.Value || got.NoPositive != times*want.NoPositive {
				t.Errorf("%v: %v with every sample once, %v with %d of each", keys, want.Value, got.Value, times)
			}
		}
	}
}

// A batch that is one sample many times over has no pair at all.
func TestOneSampleIsNoPair(t *testing.T) {
	e, _ := gaussian(6, 4, 1, 1)
	for _, name := range LossNames() {
		o, err := objectiveFor(name, map[string]any{"normalize": true})
		if err != nil {
			t.Fatal(err)
		}
		o.Classes, o.Dim = 2, 4
		traits := o.Loss.Traits()
		if _, whole := o.Loss.(loss.Whole); whole || traits.Proxies > 0 || traits.Views || traits.OtherViews {
			continue // it compares rows with something else, or as views of one sample
		}
		obj, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		grad := matrix.New(6, 4)
		r, err := obj.Step(context.Background(), e, Batch{Labels: []int64{0, 0, 0, 1, 1, 1}, IDs: make([]int64, 6)},
			grad)
		if err != nil {
			t.Fatal(err)
		}
		if r.Value != 0 || r.Active != 0 || r.NoPositive != 6 || r.NoNegative != 6 ||
			slices.ContainsFunc(grad.Data, func(g float32) bool { return g != 0 }) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Identities that all differ change no bit, with and without a memory.
func TestDistinctIdentitiesChangeNoBit(t *testing.T) {
	for _, name := range LossNames() {
		for _, memory := range []int{0, 70} {
			build := func() *Objective {
				o, err := objectiveFor(name, map[string]any{"normalize": true, "memory": memory})
				if err != nil {
					t.Fatal(err)
				}
				o.Classes, o.Dim = 9, 12
				if o.Loss.Traits().Views {
					return nil // without identities there is nothing to compare
				}
				obj, _ := New(o)
				return obj
			}
			a, b := build(), build()
			if a == nil {
				continue // takes no memory
			}
			for s := range 4 {
				e, labels := gaussian(40, 12, 9, uint64(s))
				ids := make([]int64, 40)
				for i := range ids {
					ids[i] = int64(-1000*s - i)
				}
				g1, g2 := matrix.New(40, 12), matrix.New(40, 12)
				r1, err1 := a.Step(context.Background(), e, Batch{Labels: labels}, g1)
				r2, err2 := b.Step(context.Background(), e, Batch{Labels: labels, IDs: ids}, g2)
				if err1 != nil || err2 != nil || r1 != r2 || !slices.Equal(g1.Data, g2.Data) {
					t.Fatalf("%s, memory %d, step %d: %+v %v without identities, %+v %v with", name, memory, s, r1,
						err1, r2, err2)
				}
			}
		}
	}
}

// A memory holds the samples of earlier epochs. They are references of others,
// and neither positives nor negatives of the same samples seen again.
//
// Long: it is one story of three epochs.
func TestMemoryKnowsSamplesAgain(t *testing.T) {
	const n, per = 20, 5
	e, labels := gaussian(n, 4, 3, 1)
	o := mustParse(t, "loss", "contrastive", "normalize", true, "memory", 12, "margin", 1.5)
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	var order, queue []int
	moved := matrix.New(n, 4)
	kept := make([][]float32, 0) // what the queue holds
	var restored *Objective
	for k := range 12 { // three epochs
		if len(order) == 0 {
			order = rng.Perm(n)
		}
		now := order[:per]
		order = order[per:]
		x, b := matrix.New(per, 4), Batch{}
		for i, s := range now {
			for d := range 4 { // embeddings move from step to step
				moved.Row(s)[d] = e.Row(s)[d] + 0.1*float32(k)
			}
			copy(x.Row(i), moved.Row(s))
			b.Labels, b.IDs = append(b.Labels, labels[s]), append(b.IDs, int64(s))
		}
		r, err := obj.Step(context.Background(), x, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		if restored != nil {
			if again, err := restored.Step(context.Background(), x, b, nil); err != nil || again != r {
				t.Errorf("step %d after restoring: %+v, %v; want %+v", k, again, err, r)
			}
		}
		// All pairs by their definition.
		ref := &reference{x: toRows(x), unit: true}
		all := slices.Clone(now)
		for q, s := range queue {
			row := make([]float64, 4)
			for d, v := range kept[q] {
				row[d] = float64(v)
			}
			ref.x, all = append(ref.x, row), append(all, s)
		}
		ref.pos, ref.neg = make([][]int, len(all)), make([][]int, len(all))
		none := 0
		for i, s := range now {
			for j, other := range all {
				if s == other {
					continue
				}
				if labels[s] == labels[other] {
					ref.pos[i] = append(ref.pos[i], j)
				} else {
					ref.neg[i] = append(ref.neg[i], j)
				}
			}
			if len(ref.pos[i]) == 0 {
				none++
			}
		}
		if want := ref.value(o.Loss); math.Abs(r.Value-want) > 1e-5*want || r.NoPositive != none {
			t.Errorf("step %d: %v with %d without a positive, by definition %v and %d", k, r.Value, r.NoPositive, want,
				none)
		}
		for i, s := range now {
			queue, kept = append(queue, s), append(kept, slices.Clone(x.Row(i)))
		}
		if len(queue) > 12 {
			queue, kept = queue[len(queue)-12:], kept[len(kept)-12:]
		}
		if k == 6 {
			state := obj.State()
			if restored, err = New(o); err != nil {
				t.Fatal(err)
			}
			if err := restored.Restore(state); err != nil {
				t.Fatal(err)
			}
			if _, err := restored.Step(context.Background(), x, Batch{Labels: b.Labels}, nil); err == nil ||
				!strings.Contains(err.Error(), "identities") {
				t.Errorf("a batch without identities after those with: %v", err)
			}
			if err := restored.Restore(state); err != nil {
				t.Fatal(err)
			}
		}
	}
	state := obj.State()
	state.Memory[0].IDs = state.Memory[0].IDs[1:]
	if err := obj.Restore(state); err == nil {
		t.Error("a memory that lacks an identity was accepted")
	}
}

// With every sample of the data set in the memory an easy positive is another
// sample, not what was made of the anchor a step ago, and so the loss goes on.
func TestMemoryLeavesEasyPositives(t *testing.T) {
	e, labels := gaussian(32, 6, 4, 5)
	b := Batch{Labels: labels, IDs: make([]int64, 32)}
	for i := range b.IDs {
		b.IDs[i] = int64(i)
	}
	o := mustParse(t, "positives", "easy", "negatives", "hard", "normalize", true, "memory", 1024)
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var first Result
	for k := range 5 {
		r, err := obj.Step(context.Background(), e, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			first = r
		}
		// Nothing moves, so copies of others give the same choices as they.
		if math.Abs(r.Value-first.Value) > 1e-6 || r.Active != first.Active || r.Active == 0 {
			t.Errorf("step %d: %+v, first %+v", k, r, first)
		}
	}
}

// Identity goes before a relation of labels.
func TestIdentityGoesBeforeRelations(t *testing.T) {
	e, _ := gaussian(6, 3, 1, 6)
	ids := []int64{0, 1, 2, 0, 4, 4}
	labels := []int64{0, 1, 2, 0, 4, 4}
	shares := SharesLabel([][]int64{{1, 2}, {2, 3}, {3}, nil, {}})
	o := mustParse(t, "loss", "contrastive", "margin", 2)
	o.Relate = shares
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := obj.Step(context.Background(), e, Batch{labels, ids}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &reference{x: toRows(e)}
	r.pos, r.neg = make([][]int, 6), make([][]int, 6)
	for i := range 6 {
		for j := range 6 {
			switch {
			case ids[i] == ids[j]:
			case shares(labels[i], labels[j]) == Positive:
				r.pos[i] = append(r.pos[i], j)
			default:
				r.neg[i] = append(r.neg[i], j)
			}
		}
	}
	// 4 and 5 are one sample without labels: not even negatives of each other.
	if want := r.value(o.Loss); math.Abs(got.Value-want) > 1e-5*want || got.Tuples != 6*5-4 {
		t.Errorf("%v of %d pairs, want %v of %d", got.Value, got.Tuples, want, 6*5-4)
	}
}

// Steps with repeated samples and a memory allocate nothing either.
func TestRepeatedSamplesDoNotAllocate(t *testing.T) {
	e, labels := gaussian(200, 16, 10, 1)
	b := Batch{Labels: labels, IDs: make([]int64, 200)}
	for i := range b.IDs {
		b.IDs[i] = int64(i / 2)
	}
	grad := matrix.New(200, 16)
	obj, err := New(mustParse(t, "positives", "easy", "negatives", "hard", "memory", 300))
	if err != nil {
		t.Fatal(err)
	}
	run := func() {
		if _, err := obj.Step(context.Background(), e, b, grad); err != nil {
			t.Fatal(err)
		}
	}
	for range 8 {
		run()
	}
	testing.AllocsPerRun(5, run)
	if n := testing.AllocsPerRun(5, run); n > 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// The angular loss holds for relations in which a positive has its anchor's
// negatives; under others it is an error, not a wrong gradient.
func TestAngularWantsSharedNegatives(t *testing.T) {
	e, _ := gaussian(4, 3, 2, 1)
	coarse := func(fine int64) int64 { return fine / 2 }
	for name, c := range map[string]struct {
		relation func(a, b int64) Relation
		ok       bool
	}{
		"equal":     {nil, true},
		"hierarchy": {CoarseNotFine(coarse), true},
		"chain":     {SharesLabel([][]int64{{0}, {0, 1}, {1}, {2}}), false},
		"partition": {SharesLabel([][]int64{{0}, {0}, {1}, {1}}), true},
	} {
		obj, err := New(Options{Loss: loss.Angular{},
			Mine: MiningConfig{Positives: AllPositives, Negatives: AllNegatives}, Relate: c.relation})
		if err != nil {
			t.Fatal(err)
		}
		_, err = obj.Step(context.Background(), e, Batch{Labels: []int64{0, 1, 2, 3}}, matrix.New(4, 3))
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// counting is a loss whose terms are positives, and whose value is the number of negatives.
type counting struct{}

func (counting) Traits() loss.Traits { return loss.Traits{Reduction: loss.Sum, OtherViews: true} }

func (l counting) Terms() loss.Terms { return loss.SetTerms(l) }

func (counting) Set(s *loss.Set) { s.Terms, s.Value = len(s.Pos), float64(len(s.Neg)) }

// Other views of a sample are positives for a loss with the trait OtherViews if they have the anchor's label.
// Under another label, and in the memory, they are no pair.
func TestOtherViewsArePositives(t *testing.T) {
	obj, err := New(Options{Loss: counting{}, Memory: 5,
		Mine: MiningConfig{Positives: AllPositives, Negatives: AllNegatives}})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := gaussian(5, 3, 1, 1)
	b := Batch{Labels: []int64{0, 0, 0, 1, 0}, IDs: []int64{7, 7, 8, 8, 9}}
	for step, want := range [][2]int{{4 * 3, 2 * 3}, {4*3 + 2 + 2 + 3 + 3, 2*3 + 2*3}} {
		r, err := obj.Step(context.Background(), e, b, nil)
		if err != nil || r.Tuples != want[0] || r.Value != float64(want[1]) {
			t.Errorf("step %d: %d positives, %v negatives, %v; want %v", step, r.Tuples, r.Value, err, want)
		}
	}
}
