package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/explain"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/objective"
)

// lossFlags are the options of kindred loss as typed.
type lossFlags struct {
	explain.LossSettings
	embeddings, labels string
	ids                string
	triplets, proxies  string
	grad               string
	strict             bool
}

func newLoss(a *console.Console) *cobra.Command {
	var f lossFlags
	cmd := &cobra.Command{
		Use:   "loss --embeddings FILE [--labels FILE]",
		Short: "Explain a loss on one batch: its value, tuples and gradient",
		Long: fmt.Sprintf(`loss computes a loss and its mining on one batch of embeddings, to check
another toolkit's numbers or to see which tuples a batch has.
Embeddings are normalised first unless --set normalize=false.

Losses: %s
Positives: %s
Negatives: %s

--set key=value sets the keys of the loss and mine sections of a run configuration:
margin, distance (squared, euclidean), reduce (mean, mean-active, sum), normalize,
trim, and the loss's own keys, such as alpha, beta, lambda, epsilon, scale and
temperature. Besides policies, mining has the keys
%s
(docs/policies explains them). The key relation is for kindred train only, which
knows all labels of a sample.

--ids names the sample that each row was made from, such as the picture of two
crops. Rows with the same id do not form a pair, neither positive nor negative.
Without --ids every row is a different sample.`,
			strings.Join(objective.LossNames(), ", "), strings.Join(objective.PositivePolicyNames(), ", "),
			strings.Join(objective.NegativePolicyNames(), ", "), strings.Join(miningOptions(), ", ")),
		Example: `  kindred loss --embeddings E.npy --labels Y.npy --loss triplet --positives easy --negatives semihard --set margin=0.1
  kindred loss --embeddings E.npy --labels Y.npy --loss multisimilarity --grad G.npy --json
  kindred loss --embeddings E.npy --labels Y.npy --loss proxynca --proxies P.npy`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runLoss(cmd.Context(), a, &f) },
	}
	fs := flags.New(cmd)
	fs.Text(&f.embeddings, "embeddings", "", "embeddings, one per row (.npy, .csv)", complete.Files)
	fs.Text(&f.labels, "labels", "", "labels; default: those in the file of embeddings", complete.Files)
	fs.Text(&f.ids, "ids", "",
		"identities of the rows (.npy of integers, .csv of one column); default: all different", complete.Files)
	fs.Text(&f.Loss, "loss", "triplet", "the loss", complete.Words(objective.LossNames()...))
	fs.Text(&f.Positives, "positives", "", "which positives count; default: the loss's own choice",
		complete.Words(objective.PositivePolicyNames()...))
	fs.Text(&f.Negatives, "negatives", "", "which negatives count; default: the loss's own choice",
		complete.Words(objective.NegativePolicyNames()...))
	fs.Repeated(&f.Set, "set", "an option, key=value; may be repeated", complete.LossOption)
	fs.Text(&f.triplets, "triplets", "",
		"triplets to use instead of mining (.npy, n x 3: anchor, positive, negative)", complete.Files)
	fs.Text(&f.proxies, "proxies", "", "proxies, one per row (.npy); default: drawn from --seed", complete.Files)
	cli.AddStrictRows(fs.FlagSet, &f.strict)
	fs.Text(&f.grad, "grad", "",
		"file to write the gradient by the embeddings to (.npy); replaced if it exists", complete.Files)
	return cmd
}

// miningOptions lists the keys of mining that have no flag of their own.
func miningOptions() []string {
	return slices.DeleteFunc(objective.MiningKeys(), func(k string) bool {
		return k == "positives" || k == "negatives"
	})
}

func runLoss(ctx context.Context, a *console.Console, f *lossFlags) error {
	f.Seed = a.Seed
	if f.embeddings == "" {
		return cli.Usagef("missing --embeddings")
	}
	o, err := f.Options()
	if err != nil {
		return cli.UsageError{Err: err}
	}
	b, err := f.batch(a, &o)
	if err != nil {
		return err
	}
	// Each row needs its label, its identity, its gradient and its tuples.
	if err := budget.CheckProduct(fmt.Sprintf("a loss of %d rows", b.X.Rows), int64(b.X.Rows),
		int64(256+16*b.X.Cols)); err != nil {
		return err
	}
	if err := explain.NumberLabels(&o, b); err != nil {
		return err
	}
	obj, err := objective.New(o)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if f.grad != "" {
		if err := atomic.Prepare(f.grad); err != nil {
			return err
		}
	}
	rep, grad, err := f.Step(ctx, obj, &o, b)
	if err != nil {
		return err
	}
	if f.grad != "" {
		if err := atomic.WriteFile(f.grad, func(w io.Writer) error { return embedding.WriteNPY(w, grad) }); err != nil {
			return err
		}
	}
	return a.PrintResult(rep, func() error { return rep.Write(a.Out) })
}

// batch reads the files that the flags name.
func (f *lossFlags) batch(a *console.Console, o *objective.Options) (*explain.Batch, error) {
	table, err := cli.EmbeddingFormats().Read(f.embeddings)
	if err != nil {
		return nil, err
	}
	if table.X == nil {
		return nil, table.NoEmbeddingsError()
	}
	b := &explain.Batch{X: table.X, From: f.embeddings}
	if err = f.readLabels(a, table, b); err != nil {
		return nil, err
	}
	switch {
	case f.ids != "":
		if b.IDs, err = inputs.AddAssignments(a, table, f.ids); err != nil {
			return nil, err
		}
	case o.Traits().Views:
		return nil, cli.Usagef("missing --ids: the loss %s compares rows of the same sample", f.Loss)
	}
	if f.proxies != "" {
		if o.Traits().Proxies == 0 {
			return nil, cli.Usagef("--proxies: the loss %s has no proxies", f.Loss)
		}
		t, err := cli.EmbeddingFormats().Read(f.proxies)
		if err != nil {
			return nil, err
		}
		if b.Proxies, err = explain.SelectProxies(t, f.proxies, o, table.X.Cols); err != nil {
			return nil, err
		}
	}
	if f.triplets != "" {
		b.From = f.triplets
		b.Triplets, err = explain.ReadTriplets(f.triplets)
	}
	return b, err
}

// readLabels gives the batch one label for each embedding. Rows without a label are left out, unless
// other files refer to rows by number.
func (f *lossFlags) readLabels(a *console.Console, table *embedding.Table, b *explain.Batch) error {
	if f.labels == "" && len(table.Columns) == 0 {
		if f.triplets != "" {
			b.Labels = make([]int64, table.X.Rows)
			return nil
		}
		return cli.Usagef("missing --labels: %s has no labels", f.embeddings)
	}
	set, err := inputs.AddLabels(a, table, f.labels)
	if err != nil {
		return err
	}
	if set, err = set.Select(); err != nil {
		return err
	}
	if out := set.UnlabelledRows(); len(out) > 0 && f.ids+f.triplets+f.grad != "" {
		return fmt.Errorf("%s: row %d has no label: with --ids, --triplets or --grad, which refer to rows by "+
			"number, every row needs one", f.embeddings, out[0]+1)
	}
	if set, _, err = inputs.KeepLabelled(a, set, f.embeddings, f.strict); err != nil {
		return err
	}
	b.X, b.Labels = set.X, set.Labels()[0]
	return nil
}
