package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/mine"
	"github.com/kindred-ml/kindred/objective"
)

// lossFlags are the options of kindred loss as typed.
type lossFlags struct {
	embeddings, labels   string
	ids                  string
	loss                 string
	positives, negatives string
	set                  []string
	triplets, proxies    string
	grad                 string
}

// lossReport is what kindred loss prints.
type lossReport struct {
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

func newLoss(a *app) *cobra.Command {
	var f lossFlags
	cmd := &cobra.Command{
		Use:   "loss --embeddings FILE [--labels FILE]",
		Short: "Explain a loss on one batch: its value, tuples and gradient",
		Long: fmt.Sprintf(`loss computes a loss and its mining on one batch of embeddings, to check
another toolkit's numbers or to see what a batch offers to learn from.
Embeddings are normalised first unless --set normalize=false.

Losses: %s
Positives: %s
Negatives: %s

Options are set by --set key=value and are those of the loss and mine sections of
a run configuration: margin, distance (squared, euclidean), reduce (mean,
mean-active, sum), normalize, trim, and those of the loss, such as alpha, beta,
lambda, epsilon, scale, temperature. Those of mining beside its policies are
%s:
docs/policies says what they mean. relation is for kindred train only, which
knows all labels of a sample.

--ids says which rows were made from the same sample, such as two crops of one
picture: rows with the same id form no pair, neither positive nor negative.
Without it every row is a sample of its own.`,
			strings.Join(objective.LossNames(), ", "), strings.Join(mine.PositiveNames(), ", "),
			strings.Join(mine.NegativeNames(), ", "), strings.Join(miningOptions(), ", ")),
		Example: `  kindred loss --embeddings E.npy --labels Y.npy --loss triplet --positives easy --negatives semihard --set margin=0.1
  kindred loss --embeddings E.npy --labels Y.npy --loss multisimilarity --grad G.npy --json
  kindred loss --embeddings E.npy --labels Y.npy --loss proxynca --proxies P.npy`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runLoss(cmd.Context(), a, &f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.embeddings, "embeddings", "", "embeddings, one per row (.npy, .csv)")
	fs.StringVar(&f.labels, "labels", "", "labels; default: those in the embeddings file")
	fs.StringVar(&f.ids, "ids", "",
		"identities of the rows (.npy of integers, .csv of one column); default: all different")
	fs.StringVar(&f.loss, "loss", "triplet", "the loss")
	fs.StringVar(&f.positives, "positives", "", "which positives count; default: the loss's own choice")
	fs.StringVar(&f.negatives, "negatives", "", "which negatives count; default: the loss's own choice")
	fs.StringArrayVar(&f.set, "set", nil, "an option, key=value; may be repeated")
	fs.StringVar(&f.triplets, "triplets", "",
		"use these triplets (.npy, n x 3: anchor, positive, negative) instead of mining")
	fs.StringVar(&f.proxies, "proxies", "", "proxies, one per row (.npy); default: drawn from --seed")
	fs.StringVar(&f.grad, "grad", "", "file for the gradient with respect to the embeddings (.npy)")
	return cmd
}

// miningOptions lists the keys of mining that have no flag of their own.
func miningOptions() []string {
	return slices.DeleteFunc(objective.MiningKeys(), func(k string) bool {
		return k == "positives" || k == "negatives"
	})
}

// options reads the flags into an objective's options.
func (f *lossFlags) options(seed uint64) (objective.Options, error) {
	if f.embeddings == "" {
		return objective.Options{}, errors.New("missing --embeddings")
	}
	flat := map[string]any{"loss": f.loss, "normalize": true}
	if f.positives != "" {
		flat["positives"] = f.positives
	}
	if f.negatives != "" {
		flat["negatives"] = f.negatives
	}
	for _, s := range f.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return objective.Options{}, fmt.Errorf("--set %s: want key=value", s)
		}
		key = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(key), "loss."), "mine.")
		flat[key] = strings.TrimSpace(value)
	}
	o, err := objective.ParseFlat(flat)
	o.Seed, o.Mine.Seed = seed, seed
	return o, err
}

func runLoss(ctx context.Context, a *app, f *lossFlags) error {
	o, err := f.options(a.seed)
	if err != nil {
		return usageError(err)
	}
	table, err := formats().Read(f.embeddings)
	if err != nil {
		return err
	}
	if table.X == nil {
		return fmt.Errorf("%s holds no embeddings", f.embeddings)
	}
	labels, err := f.readLabels(a, table)
	if err != nil {
		return err
	}
	ids, err := f.readIDs(a, table)
	if err != nil {
		return err
	}
	if ids == nil && o.Traits().Views {
		return usagef("missing --ids: the loss %s compares rows of the same sample", f.loss)
	}
	var proxies *mat.Dense
	o.Dim = table.X.Cols
	if f.proxies != "" {
		if proxies, err = f.readProxies(o.Loss, o.Dim); err != nil {
			return err
		}
	}
	if n := o.Traits().Proxies; n > 0 {
		rows := 0
		if proxies != nil {
			rows = proxies.Rows
		}
		if labels, o.Classes, err = objective.ClassIndices(labels, rows/n); err != nil {
			return err
		}
	}
	obj, err := objective.New(o)
	if err != nil {
		return usageError(err)
	}
	if proxies != nil {
		for i := range proxies.Rows {
			copy(obj.Params()[0].Value[i*o.Dim:], proxies.Row(i))
		}
	}
	if f.grad != "" {
		if err := atomic.Prepare(f.grad); err != nil {
			return err
		}
	}
	grad := mat.New(table.X.Rows, table.X.Cols)
	r, err := f.step(ctx, obj, table.X, objective.Batch{Labels: labels, IDs: ids}, grad)
	if err != nil {
		return err
	}
	if f.grad != "" {
		if err := atomic.WriteFile(f.grad, func(w io.Writer) error { return embedding.WriteNPY(w, grad) }); err != nil {
			return err
		}
	}
	rep := lossReport{
		Loss: f.loss, Value: r.Value, Tuples: r.Tuples, Active: r.Active, Anchors: r.Anchors,
		NoPositive: r.NoPositive, NoNegative: r.NoNegative, NoCandidate: r.NoCandidate, Fallbacks: r.Fallbacks,
		N: grad.Rows, Dim: grad.Cols, Normalized: o.Normalize, GradNorm: norm(grad.Data),
	}
	for _, p := range obj.Params() {
		if rep.Params == nil {
			rep.Params = map[string]float64{}
		}
		rep.Params[p.Name] = norm(p.Grad)
	}
	if a.json {
		return a.printJSON(rep)
	}
	return rep.write(a.out)
}

// step runs the objective once, on given triplets or mined ones.
func (f *lossFlags) step(ctx context.Context, obj *objective.Objective, x *mat.Dense, b objective.Batch,
	grad *mat.Dense) (objective.Result, error) {
	if f.triplets == "" {
		r, err := obj.Step(ctx, x, b, grad)
		if err != nil {
			err = fmt.Errorf("%s: %w", f.embeddings, err)
		}
		return r, err
	}
	arr, err := embedding.ReadNPYFile(f.triplets)
	if err != nil {
		return objective.Result{}, err
	}
	if len(arr.Shape) != 2 || arr.Shape[1] != 3 || arr.Ints == nil {
		return objective.Result{},
			fmt.Errorf("%s: want integers of shape (n, 3), have %s of shape %v", f.triplets, arr.DType, arr.Shape)
	}
	triplets := make([][3]int32, arr.Shape[0])
	for k := range triplets {
		for c := range 3 {
			v := arr.Ints[3*k+c]
			triplets[k][c] = int32(max(-1, min(v, math.MaxInt32)))
		}
	}
	r, err := obj.StepTriplets(ctx, x, b.IDs, triplets, grad)
	if err != nil {
		err = fmt.Errorf("%s: %w", f.triplets, err)
	}
	return r, err
}

// readLabels returns one label for each embedding.
func (f *lossFlags) readLabels(a *app, table *embedding.Table) ([]int64, error) {
	if f.labels == "" && len(table.Columns) == 0 {
		if f.triplets != "" {
			return make([]int64, table.X.Rows), nil
		}
		return nil, usagef("missing --labels: %s holds none", f.embeddings)
	}
	set, err := a.label(table, f.labels)
	if err != nil {
		return nil, err
	}
	if set, err = set.Select(); err != nil {
		return nil, err
	}
	return set.Labels()[0], nil
}

// readIDs returns one identity for each embedding, nil where none are given.
func (f *lossFlags) readIDs(a *app, table *embedding.Table) ([]int64, error) {
	if f.ids == "" {
		return nil, nil
	}
	return a.assigned(table, f.ids)
}

func (f *lossFlags) readProxies(l loss.Loss, dim int) (*mat.Dense, error) {
	n := l.Traits().Proxies
	if n == 0 {
		return nil, usagef("--proxies: the loss %s has none", f.loss)
	}
	t, err := formats().Read(f.proxies)
	if err != nil {
		return nil, err
	}
	if t.X == nil || t.X.Cols != dim || t.X.Rows == 0 || t.X.Rows%n != 0 {
		return nil, fmt.Errorf("%s: want proxies of %d numbers, %d for each class", f.proxies, dim, n)
	}
	return t.X, nil
}

func norm(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

func (r lossReport) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%s on %d embeddings of %d numbers
value       %.9g
tuples      %d, of which %d active
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
