package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/app/experiments/theory/pages"
	"github.com/kindred-ml/kindred/internal/base/budget"
)

func newTheory(a *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "theory",
		Short: "Compute and illustrate theorems of metric learning",
		Long: `theory verifies and illustrates theorems of papers by exact computation. Each
command writes a page in plain words (index.html), figures as SVG and PNG, and the
plotted numbers as CSV.`,
		Example: `  kindred theory noise
  kindred theory isometry --out iso
  kindred theory field --loss first,second,multisimilarity
  kindred theory live --run runs/mnist`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("unknown theory %q: want noise, isometry, field or live", args[0])
			}
			return cli.Usagef("missing argument NAME: noise, isometry, field or live")
		},
	}
	cmd.AddCommand(newTheoryNoise(a), newTheoryIsometry(a), newTheoryField(a), newTheoryLive(a))
	return cmd
}

// theoryCommand sets what the four commands have in common. compute returns the result to
// print and what was written.
func theoryCommand(a *console.Console, cmd *cobra.Command, name string,
	compute func(ctx context.Context, dir string, p pages.Progress) (any, *pages.Output, error)) *cobra.Command {
	var to outputs.Folder
	cmd.Use = name
	cmd.Args = exactArgs()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := to.Choose(filepath.Join("reports", "theory-"+name), "index.html"); err != nil {
			return err
		}
		bar := a.NewMeter("theory "+name, console.Count)
		res, out, err := compute(cmd.Context(), to.Dir, bar.ShowStage)
		bar.Close()
		if err == nil {
			err = to.RecordMade("index.html")
		}
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(res)
		}
		fmt.Fprintf(a.Out, "%s\n%d files, %.1f s\n", filepath.Join(out.Dir, "index.html"), len(out.Files), out.Seconds)
		return nil
	}
	to.Add(cmd, "folder to write to; default reports/theory-"+name)
	return cmd
}

func newTheoryNoise(a *console.Console) *cobra.Command {
	var o pages.NoiseOptions
	cmd := &cobra.Command{
		Short: "Label noise and class collapse: expected losses and their minimisers",
		Long: `noise computes the expected triplet, margin and contrastive losses under label
noise as exact sums, with and without easy positives (EPS), moves free points to
their minima, and checks theorems 1 and 2 and claims 1 to 4 of Levi et al. 2021,
with the conditions they need.`,
	}
	fs := cmd.Flags()
	fs.IntVar(&o.Classes, "classes", 2, "number of classes of the free points")
	fs.IntVar(&o.PerClass, "per-class", 6, "points of each class")
	fs.IntVar(&o.Dim, "dim", 2, "dimensions of the free points")
	fs.IntVar(&o.Restarts, "restarts", 4, "starts of each minimisation")
	fs.IntVar(&o.Draws, "draws", 4000, "labellings drawn to check the exact sums")
	return theoryCommand(a, cmd, "noise",
		func(ctx context.Context, dir string, p pages.Progress) (any, *pages.Output, error) {
			switch {
			case o.Classes < 2 || o.PerClass < 1 || o.Classes*o.PerClass > 64:
				return nil, nil, cli.Usagef("--classes %d and --per-class %d: need 2 classes or more, and 64 points "+
					"at "+
					"most", o.Classes, o.PerClass)
			case o.Dim < 1 || o.Restarts < 1 || o.Draws < 2:
				return nil, nil, cli.Usagef("--dim, --restarts or --draws: want at least 1, 1 and 2")
			}
			points := int64(o.Classes) * int64(o.PerClass) * int64(o.Dim)
			minimum := budget.Sum(128, budget.Product(8, points)) // bytes of a start's end point
			need := budget.Sum(budget.Product(int64(o.Restarts), minimum), budget.Product(64, points),
				budget.Product(32, int64(o.Draws)))
			if err := budget.Check(fmt.Sprintf("--dim %d, --restarts %d, --draws %d", o.Dim, o.Restarts, o.Draws),
				need); err != nil {
				return nil, nil, err
			}
			o.Seed = a.Seed
			r, err := pages.Noise(ctx, o, dir, p)
			if err != nil {
				return nil, nil, err
			}
			return r, &r.Output, nil
		})
}

func newTheoryIsometry(a *console.Console) *cobra.Command {
	var o pages.IsometryOptions
	cmd := &cobra.Command{
		Short: "Distance to a separated arrangement: the isometric error, theorem 3 and collapse",
		Long: `isometry finds the nearest triplet-separated arrangement of point sets, with a
lower bound of its distance. It searches for sets that come close to violating the
two inequalities of theorem 3 (isometric approximation of the triplet loss), and maps
where the nearest arrangement of random points is collapsed.`,
	}
	fs := cmd.Flags()
	fs.IntVar(&o.Random, "sets", 2000, "number of sets drawn at random")
	fs.IntVar(&o.Searches, "searches", 18, "number of adversarial searches")
	fs.IntVar(&o.Steps, "steps", 80, "steps of each search")
	return theoryCommand(a, cmd, "isometry",
		func(ctx context.Context, dir string, p pages.Progress) (any, *pages.Output, error) {
			if o.Random < 1 || o.Searches < 1 || o.Steps < 1 {
				return nil, nil, cli.Usagef("--sets, --searches or --steps: want at least 1")
			}
			if err := budget.CheckProduct(fmt.Sprintf("--sets %d --searches %d", o.Random, o.Searches),
				budget.Sum(int64(o.Random), int64(o.Searches)), 1024); err != nil {
				return nil, nil, err
			}
			o.Seed = a.Seed
			r, err := pages.Isometry(ctx, o, dir, p)
			if err != nil {
				return nil, nil, err
			}
			return r, &r.Output, nil
		})
}

func newTheoryField(a *console.Console) *cobra.Command {
	var o pages.FieldOptions
	var rule string
	cmd := &cobra.Command{
		Short: "Where a gradient step moves a triplet, and where it goes the wrong way",
		Long: `field shows how one gradient step changes the similarities S_ap and S_an of a
triplet on the unit sphere (Xuan et al. 2020): as maps, as vector fields, and as the
share of the square in which the step goes the wrong way.

The losses are first, second and vanilla, as in the paper's figures, and any loss of
'kindred loss' that works on samples, with its default settings.`,
	}
	fs := flags.New(cmd)
	fs.List(&o.Losses, "loss", []string{"first", "second", "vanilla"}, "losses to draw",
		complete.List(complete.FieldLosses()...))
	fs.Float64SliceVar(&o.Gammas, "gamma", []float64{0.2, 0.5, 0.8},
		"cosines between the directions to positive and negative")
	fs.Float64SliceVar(&o.Entangle, "p", []float64{0, 0.4, 0.8}, "entanglements of the two changes")
	fs.Text(&rule, "q", "root", "entanglement factor: root, sqrt(S_ap S_an), or product, S_ap S_an",
		complete.Words("root", "product"))
	fs.Float64Var(&o.Config.Rate, "rate", 0.1, "step size")
	fs.BoolVar(&o.Config.Tangent, "through-normalisation", false,
		"let the gradient flow through the normalisation to the sphere")
	return theoryCommand(a, cmd, "field",
		func(ctx context.Context, dir string, p pages.Progress) (any, *pages.Output, error) {
			if err := o.Config.Rule.UnmarshalText([]byte(rule)); err != nil {
				return nil, nil, cli.Usagef("--q: %v", err)
			}
			if err := flags.CheckPositive("rate", o.Config.Rate); err != nil {
				return nil, nil, err
			}
			for _, p := range o.Entangle {
				if err := flags.CheckBetween("p", p, 0, 1); err != nil {
					return nil, nil, err
				}
			}
			for _, g := range o.Gammas {
				if !(g >= -1 && g <= 1) {
					return nil, nil, cli.Usagef("--gamma %g: want a cosine, -1 to 1", g)
				}
			}
			for _, name := range o.Losses {
				if _, err := pages.FieldLoss(name); err != nil {
					return nil, nil, cli.UsageError{Err: err}
				}
			}
			o.Seed = a.Seed
			r, err := pages.Field(ctx, o, dir, p)
			if err != nil {
				return nil, nil, err
			}
			return r, &r.Output, nil
		})
}

func newTheoryLive(a *console.Console) *cobra.Command {
	var o pages.LiveOptions
	cmd := &cobra.Command{
		Short: "The triplet scatter over a training run's checkpoints, as a film",
		Long: `live makes a page with a slider. For every checkpoint of a run it draws each anchor's
nearest positive and nearest negative on the triplet scatter diagram, with the field
of the loss behind them. The run must have kept its embeddings (kindred train --set
eval.keep=true), or --embeddings names the files.`,
		Example: `  kindred theory live --run runs/mnist --loss triplet
  kindred theory live --embeddings e0.npy,e5.npy,e10.npy --labels y.npy --out live`,
	}
	fs := flags.New(cmd)
	fs.Text(&o.Run, "run", "", "run folder with snapshots", complete.Runs)
	fs.Text(&o.Set, "samples", "", "which of the run's sets of samples to use; default: the first by name",
		complete.Nothing)
	fs.List(&o.Embeddings, "embeddings", nil,
		"files of embeddings in the order of training, instead of --run", complete.Files)
	fs.Text(&o.Labels, "labels", "", "labels of those files", complete.Files)
	fs.Text(&o.Column, "column", "", "column of labels; default: the first", complete.Nothing)
	fs.Text(&o.Loss, "loss", "first", "loss whose field is drawn; see kindred theory field",
		complete.Words(complete.FieldLosses()...))
	fs.Float64Var(&o.Entangle, "p", 0.4, "entanglement of the field")
	fs.IntVar(&o.Anchors, "anchors", 600, "anchors to follow")
	return theoryCommand(a, cmd, "live",
		func(ctx context.Context, dir string, p pages.Progress) (any, *pages.Output, error) {
			switch {
			case o.Run == "" && len(o.Embeddings) == 0:
				return nil, nil, cli.Usagef("missing --run, or --embeddings with --labels")
			case o.Run != "" && len(o.Embeddings) > 0:
				return nil, nil, cli.Usagef("give --run or --embeddings, not both")
			case o.Anchors < 1:
				return nil, nil, cli.Usagef("--anchors: want at least 1")
			}
			if err := flags.CheckBetween("p", o.Entangle, 0, 1); err != nil {
				return nil, nil, err
			}
			if _, err := pages.FieldLoss(o.Loss); err != nil {
				return nil, nil, cli.UsageError{Err: err}
			}
			o.Seed = a.Seed
			r, err := pages.Live(ctx, o, dir, p)
			if err != nil {
				return nil, nil, err
			}
			return r, &r.Output, nil
		})
}
