package clean

import (
	"math"
	"math/rand/v2"
	"testing"

	gonum "gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/matrix"
)

// leaveOneOut is what a ridge regression says of row i that was fitted to the rows of rest
// but i, with the centre, the shares and the penalty of all of rest.
func leaveOneOut(x *matrix.Dense, rest []int, y []int, classes int, trust []float64, i int) []float64 {
	d := x.Cols
	mean, share, sum := make([]float64, d), make([]float64, classes), 0.0
	for _, k := range rest {
		sum += trust[k]
		share[y[k]] += trust[k]
		for j, v := range x.Row(k) {
			mean[j] += trust[k] * float64(v)
		}
	}
	centred := func(k, j int) float64 { return float64(x.Row(k)[j]) - mean[j]/sum }
	gram, target, trace := gonum.NewDense(d, d, nil), gonum.NewDense(d, classes, nil), 0.0
	for _, k := range rest {
		for a := range d {
			trace += trust[k] * centred(k, a) * centred(k, a)
			if k == i {
				continue
			}
			for b := range d {
				gram.Set(a, b, gram.At(a, b)+trust[k]*centred(k, a)*centred(k, b))
			}
			for c := range classes {
				v := -share[c] / sum
				if c == y[k] {
					v++
				}
				target.Set(a, c, target.At(a, c)+trust[k]*centred(k, a)*v)
			}
		}
	}
	for a := range d {
		gram.Set(a, a, gram.At(a, a)+lambda*trace/float64(d))
	}
	var beta gonum.Dense
	if err := beta.Solve(gram, target); err != nil {
		return nil
	}
	out := make([]float64, classes)
	for c := range out {
		out[c] = share[c] / sum
		for a := range d {
			out[c] += centred(i, a) * beta.At(a, c)
		}
	}
	return out
}

// The head says of an item what one says that was fitted without it, whether all judge
// each other or halves of the same size do.
func TestHeadWithout(t *testing.T) {
	x, labels := drawClasses(rand.New(rand.NewPCG(1, 7)), 3, 8, 4, 1.5)
	y, _ := lists.Rank[int](labels)
	trust := make([]float64, len(y))
	var even, odd []int
	for i := range y {
		trust[i] = 0.2 + float64(i%5)/6
		if i%2 == 0 {
			even = append(even, i)
		} else {
			odd = append(odd, i)
		}
	}
	for name, folds := range map[string][]Fold{"whole": {{X: x}},
		"halves": {{X: x, HeldOut: even}, {X: x, HeldOut: odd}}} {
		parts, err := splitFolds(t.Context(), folds, len(y), &Options{Neighbours: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if p.isWhole() != (name == "whole") {
				t.Errorf("%s: whole is %v", name, p.isWhole())
			}
			h := &evidence{y: y, classes: 3, trust: trust}
			head, err := p.fit(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			out := matrix.New(len(p.heldOut), 3)
			head.predict(p, h, 0, len(p.heldOut), out)
			for k, i := range p.heldOut {
				for c, want := range leaveOneOut(x, p.judges, y, 3, trust, i) {
					if have := float64(out.Row(k)[c]); math.Abs(have-want) > 1e-4 {
						t.Errorf("%s: of item %d and class %d %.6f, want %.6f", name, i, c, have, want)
					}
				}
			}
		}
	}
}

// Candidates come in the order of their scores, each once.
func TestCandidates(t *testing.T) {
	said := []float64{0.2, 0.9, 0.5, 0.9}
	var of []candidate
	for _, want := range []int{1, 3, 2, 0, -1} {
		c := argmax(said, of)
		if c != want {
			t.Fatalf("after %v comes %d, want %d", of, c, want)
		}
		of = append(of, candidate{class: c})
	}
}

// A vote counts by how near it is and how far its own label is believed; the item's own
// label has none.
func TestVotes(t *testing.T) {
	x := matrix.New(5, 1)
	copy(x.Data, []float32{0, 1, 2, 3, 10})
	y := []int{0, 0, 1, 1, 2}
	parts, err := splitFolds(t.Context(), []Fold{{X: x}}, 5, &Options{Neighbours: 2})
	if err != nil {
		t.Fatal(err)
	}
	h := &evidence{y: y, wrong: []int{1, 1, 0, 0, 0}, classes: 3, trust: []float64{1, 0.5, 1, 1, 1},
		candidates: make([][]candidate, 5), asIs: make([]margins, 5), given: make([]margins, 5)}
	if err := parts[0].computeEvidence(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	// The nearest of item 0 are 1 and 2, at squared distances of 1 and 4, 2.5 on average.
	near, far := 0.5*math.Exp(-1/2.5), math.Exp(-4/2.5)
	own := near / (near + far)
	if have := 1 - h.asIs[0][1]; math.Abs(have-own) > 1e-6 {
		t.Errorf("%.6f of the votes are for its label, want %.6f", have, own)
	}
	if have := h.asIs[0][0]; math.Abs(have-(1-own-own)) > 1e-6 {
		t.Errorf("the best other is ahead by %.6f, want %.6f", have, 1-2*own)
	}
	if have := 1 - h.given[0][1]; math.Abs(have-(1-own)) > 1e-6 {
		t.Errorf("%.6f of the votes are for the wrong label, want %.6f", have, 1-own)
	}
}
