package clean

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// TestMislabels changes labels and looks for them, for docs/discover.md, beside the share
// of the neighbours with another label and confident learning (Northcutt, Jiang and
// Chuang 2021) on the same embedding. $KINDRED_MISLABELS lists embeddings as FILE:LABELS:COLUMN,
// divided by commas.
func TestMislabels(t *testing.T) {
	list := os.Getenv("KINDRED_MISLABELS")
	if list == "" {
		t.Skip("KINDRED_MISLABELS names no embeddings")
	}
	for _, entry := range strings.Split(list, ",") {
		part := strings.Split(entry, ":")
		tab, err := embedding.Load(part[0], part[1], []string{part[2]})
		if err != nil {
			t.Fatal(err)
		}
		x, labels := tab.X, tab.Labels()[0]
		if x.Rows > 6000 { // by a sample: the peers take n^2
			at := rand.New(rand.NewPCG(0, 0)).Perm(x.Rows)[:6000]
			few := make([]int64, len(at))
			for k, i := range at {
				few[k] = labels[i]
			}
			x, labels = gather(x, at), few
		}
		fmt.Println(part[0], part[2], x.Rows, "items")
		for _, kind := range []string{"random", "look-alike"} {
			for _, rate := range []float64{0.05, 0.1, 0.2} {
				var sum [3][2]float64
				var share, there, sure, hit float64
				const seeds = 3
				for seed := range uint64(seeds) {
					noisy, wrong := changed(x, labels, kind, rate, seed)
					j := judge(t, noisy, Fold{X: x})
					for k, score := range [][]float64{j.Raw, disagreement(t, x, noisy), confident(t, x, noisy)} {
						p, a := ranked(score, wrong)
						sum[k][0] += p / seeds
						sum[k][1] += a / seeds
					}
					share += j.Wrong / seeds
					for i, w := range wrong {
						if w {
							there += 1 / float64(len(wrong)) / seeds
						}
						if j.Score[i] >= 0.5 {
							if sure++; w {
								hit++
							}
						}
					}
				}
				fmt.Printf("%-10s %2.0f %%: clean %.3f %.4f  neighbours %.3f %.4f  confident %.3f %.4f  "+
					"estimated share %.3f of %.3f, right from 0.5 on %.2f of %.0f\n", kind, 100*rate, sum[0][0],
					sum[0][1], sum[1][0], sum[1][1], sum[2][0], sum[2][1], share, there, hit/max(sure, 1), sure/seeds)
			}
		}
	}
}

// changed changes labels: to any other, or to one of the two nearest classes.
func changed(x *mat.Dense, labels []int64, kind string, rate float64, seed uint64) (noisy []int64, wrong []bool) {
	y, ids := dense(labels)
	alike := lookalikes(x, y, len(ids))
	rng := rand.New(rand.NewPCG(seed, 77))
	noisy, wrong = slices.Clone(labels), make([]bool, len(labels))
	for i := range noisy {
		if rng.Float64() >= rate {
			continue
		}
		c := rng.IntN(len(ids))
		if kind == "look-alike" {
			c = alike[y[i]][rng.IntN(min(2, len(alike[y[i]])))]
		}
		noisy[i], wrong[i] = ids[c], c != y[i]
	}
	return noisy, wrong
}

// ranked is the precision among as many as are wrong, and the area under the ROC.
func ranked(score []float64, wrong []bool) (precision, area float64) {
	at := make([]int, len(score))
	n := 0
	for i := range at {
		if at[i] = i; wrong[i] {
			n++
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	for _, i := range at[:n] {
		if wrong[i] {
			precision += 1 / float64(n)
		}
	}
	var ranks float64
	for k := 0; k < len(at); {
		end := k
		for end < len(at) && score[at[end]] == score[at[k]] {
			end++
		}
		middle := float64(len(at)) - float64(k+end-1)/2 // the mean rank of equals, from below
		for ; k < end; k++ {
			if wrong[at[k]] {
				ranks += middle
			}
		}
	}
	m := float64(n)
	return precision, (ranks - m*(m+1)/2) / m / (float64(len(at)) - m)
}

// disagreement is the share of the neighbours with another label.
func disagreement(t *testing.T, x *mat.Dense, labels []int64) []float64 {
	const k = 15
	nb, err := rank.Nearest(t.Context(), x, nil, k, rank.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(labels))
	for e, j := range nb.Row {
		if labels[j] != labels[e/k] {
			out[e/k] += 1.0 / k
		}
	}
	return out
}

// confident is the normalised margin of confident learning with probabilities that
// are out of sample: those of the regression, each item left out, at least 0 and scaled to
// the sum 1. The threshold of a class is the mean probability of those labelled so.
func confident(t *testing.T, x *mat.Dense, labels []int64) []float64 {
	y, ids := dense(labels)
	p := &part{x: x}
	for i := range labels {
		p.held = append(p.held, i)
	}
	p.rest = p.held
	h := &hearing{y: y, classes: len(ids), trust: slices.Repeat([]float64{1}, len(y))}
	head, err := p.fit(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	prob := mat.New(len(y), len(ids))
	head.predict(p, h, 0, len(y), prob)
	threshold, size := make([]float64, len(ids)), make([]float64, len(ids))
	for i, c := range y {
		var sum float32
		for _, v := range prob.Row(i) {
			sum += max(v, 0)
		}
		for k, v := range prob.Row(i) {
			prob.Row(i)[k] = max(v, 0) / max(sum, 1e-9)
		}
		threshold[c] += float64(prob.Row(i)[c])
		size[c]++
	}
	out := make([]float64, len(y))
	for i, c := range y {
		best := -2.0
		for k, v := range prob.Row(i) {
			if k != c {
				best = max(best, float64(v)-threshold[k]/max(size[k], 1))
			}
		}
		out[i] = best - (float64(prob.Row(i)[c]) - threshold[c]/size[c])
	}
	return out
}
