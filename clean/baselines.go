package clean

import (
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/matrix"
)

// Disagreement scores every item by the share of its k nearest items with another label; k 0 means 15. It
// is the simple method with which Labels is compared. Folds and errors are as in Labels.
func Disagreement(ctx context.Context, labels []int64, k int, folds ...Fold) ([]float64, error) {
	opt := Options{Neighbours: k}
	y, _, err := opt.setDefaults(labels)
	if err != nil {
		return nil, err
	}
	parts, err := splitFolds(ctx, folds, len(y), &opt)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(y))
	for _, p := range parts {
		for e, j := range p.neighbours {
			if i := p.heldOut[e/p.k]; y[j] != y[i] {
				out[i] += 1 / float64(p.k)
			}
		}
	}
	return out, nil
}

// ConfidentLearning scores every item by the normalised margin of confident learning (Northcutt,
// Jiang and Chuang 2021), with which Labels is compared: the probability of another class
// minus that class's threshold, at its largest, minus the same for the item's own class.
// The threshold of a class is the mean probability of the items with its label.
// Probabilities are out of sample: those of a ridge regression of the labels' indicators
// without the item, at least 0 and scaled to the sum 1. Folds and errors are those of
// Labels.
func ConfidentLearning(ctx context.Context, labels []int64, folds ...Fold) ([]float64, error) {
	var opt Options
	y, ids, err := opt.setDefaults(labels)
	if err != nil {
		return nil, err
	}
	parts, err := splitFolds(ctx, folds, len(y), &opt)
	if err != nil {
		return nil, err
	}
	h := &evidence{y: y, classes: len(ids), trust: slices.Repeat([]float64{1}, len(y))}
	prob := matrix.New(len(y), len(ids))
	for _, p := range parts {
		head, err := p.fit(ctx, h)
		if err != nil {
			return nil, err
		}
		said := matrix.New(len(p.heldOut), len(ids))
		head.predict(p, h, 0, len(p.heldOut), said)
		for k, i := range p.heldOut {
			copy(prob.Row(i), said.Row(k))
		}
	}
	threshold, size := make([]float64, len(ids)), make([]float64, len(ids))
	for i, c := range y {
		row := prob.Row(i)
		var sum float32
		for k, v := range row {
			row[k] = max(v, 0)
			sum += row[k]
		}
		for k := range row {
			row[k] /= max(sum, 1e-9)
		}
		threshold[c] += float64(row[c])
		size[c]++
	}
	for c := range threshold {
		threshold[c] /= size[c]
	}
	out := make([]float64, len(y))
	for i, c := range y {
		best := math.Inf(-1)
		for k, v := range prob.Row(i) {
			if k != c {
				best = max(best, float64(v)-threshold[k])
			}
		}
		out[i] = best - (float64(prob.Row(i)[c]) - threshold[c])
	}
	return out, nil
}
