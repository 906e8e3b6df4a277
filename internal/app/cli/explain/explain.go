// Package explain computes a loss on one batch of embeddings and reports the value, the tuples and the
// gradient.
package explain

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
)

// LossSettings names a loss and its settings, as a user writes them.
type LossSettings struct {
	Loss                 string
	Positives, Negatives string   // "": the loss's own choice
	Set                  []string // settings, key=value, of the sections loss and mine
	Seed                 uint64
}

// Options returns the options of the loss. Embeddings are normalised unless normalize=false.
func (w *LossSettings) Options() (objective.Options, error) {
	flat := map[string]any{"loss": w.Loss, "normalize": true}
	if w.Positives != "" {
		flat["positives"] = w.Positives
	}
	if w.Negatives != "" {
		flat["negatives"] = w.Negatives
	}
	for _, s := range w.Set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return objective.Options{}, fmt.Errorf("--set %s: want key=value", s)
		}
		key = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(key), "loss."), "mine.")
		flat[key] = strings.TrimSpace(value)
	}
	o, err := objective.ParseFlat(flat)
	o.Seed, o.Mine.Seed = w.Seed, w.Seed
	return o, err
}

// Batch is the input of a loss.
type Batch struct {
	X *matrix.Dense
	objective.Batch
	Triplets [][3]int32    // used instead of mining; nil: mined
	Proxies  *matrix.Dense // nil: drawn from the seed
	// From is the file of the triplets, or of the embeddings if triplets are mined, for errors.
	From string
}

// Report is the outcome.
type Report struct {
	Loss        string             `json:"loss"`
	Value       float64            `json:"value"`
	Tuples      int                `json:"tuples"`
	Active      int                `json:"active"`
	Anchors     int                `json:"anchors"`
	NoPositive  int                `json:"no_positive"`
	NoNegative  int                `json:"no_negative"`
	NoCandidate int                `json:"no_candidate"`
	Fallbacks   int                `json:"fallbacks"`
	N           int                `json:"n"`
	Dim         int                `json:"dim"`
	Normalized  bool               `json:"normalized"`
	GradNorm    float64            `json:"grad_norm"`
	Params      map[string]float64 `json:"param_grad_norms,omitempty"`
}

// NumberLabels completes options and a batch for a loss: the dimension, and the labels numbered as a loss with
// proxies needs them.
func NumberLabels(o *objective.Options, b *Batch) (err error) {
	o.Dim = b.X.Cols
	if n := o.Traits().Proxies; n > 0 {
		rows := 0
		if b.Proxies != nil {
			rows = b.Proxies.Rows
		}
		b.Labels, o.Classes, err = objective.ClassIndices(b.Labels, rows/n)
	}
	return err
}

// Step runs an objective once, on the batch's proxies if it has some, and returns the report with the
// gradient with respect to the embeddings. w and o are what the objective was made from.
func (w *LossSettings) Step(ctx context.Context, obj *objective.Objective, o *objective.Options, b *Batch) (
	*Report, *matrix.Dense, error) {
	if b.Proxies != nil {
		for i := range b.Proxies.Rows {
			copy(obj.Params()[0].Value[i*b.X.Cols:], b.Proxies.Row(i))
		}
	}
	grad := matrix.New(b.X.Rows, b.X.Cols)
	var r objective.Result
	var err error
	if b.Triplets == nil {
		r, err = obj.Step(ctx, b.X, b.Batch, grad)
	} else {
		r, err = obj.StepTriplets(ctx, b.X, b.IDs, b.Triplets, grad)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", b.From, err)
	}
	rep := &Report{
		Loss: w.Loss, Value: r.Value, Tuples: r.Tuples, Active: r.Active, Anchors: r.Anchors, NoPositive: r.NoPositive,
		NoNegative: r.NoNegative, NoCandidate: r.NoCandidate, Fallbacks: r.Fallbacks, N: grad.Rows, Dim: grad.Cols,
		Normalized: o.Normalize, GradNorm: norm(grad.Data),
	}
	for _, p := range obj.Params() {
		if rep.Params == nil {
			rep.Params = map[string]float64{}
		}
		rep.Params[p.Name] = norm(p.Grad)
	}
	return rep, grad, nil
}

func norm(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

// ReadTriplets reads triplets from a file of integers of shape (n, 3): anchor, positive, negative. An index
// beyond int32 becomes an index that is invalid in every batch.
func ReadTriplets(path string) ([][3]int32, error) {
	arr, err := embedding.ReadNPYFile(path)
	if err != nil {
		return nil, err
	}
	if len(arr.Shape) != 2 || arr.Shape[1] != 3 || arr.Ints == nil {
		return nil, fmt.Errorf("%s: want integers of shape (n, 3), have %s of shape %v", path, arr.DType, arr.Shape)
	}
	out := make([][3]int32, arr.Shape[0])
	for k := range out {
		for c := range 3 {
			out[k][c] = int32(max(-1, min(arr.Ints[3*k+c], math.MaxInt32)))
		}
	}
	return out, nil
}

// SelectProxies takes the proxies for a loss from the embeddings of a file, for a batch of dim numbers.
func SelectProxies(t *embedding.Table, file string, o *objective.Options, dim int) (*matrix.Dense, error) {
	n := o.Traits().Proxies
	if n == 0 {
		return nil, fmt.Errorf("%s: this loss has no proxies: leave the file out", file)
	}
	if t.X == nil || t.X.Cols != dim || t.X.Rows == 0 || t.X.Rows%n != 0 {
		return nil, fmt.Errorf("%s: want proxies of %d numbers, %d for each class", file, dim, n)
	}
	return t.X, nil
}

// Write writes the report for people.
func (r *Report) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%s on %d embeddings of %d numbers
value       %.9g
tuples      %d, %d of them active
anchors     %d used; %d without a positive, %d without a negative
mining      %d choices without a candidate, %d fallbacks
gradient    norm %.6g
`, r.Loss, r.N, r.Dim, r.Value, r.Tuples, r.Active, r.Anchors, r.NoPositive, r.NoNegative, r.NoCandidate, r.Fallbacks, r.GradNorm)
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-11s gradient norm %.6g\n", name, r.Params[name])
		}
	}
	return err
}
