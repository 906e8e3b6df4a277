// kindred-gpu trains on an accelerator what kindred trains on a CPU: same
// configuration, same run folder, same checkpoints.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/weights"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/xla"
)

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

// usage marks errors of what was typed.
type usage struct{ error }

// command runs the program and returns its exit status: 1 for a failure, 2 for a
// wrong command line, 130 for an interruption.
func command(args []string, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(out, errs)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var typed usage
	var stopped *run.Stopped
	switch {
	case err == nil:
		return 0
	case errors.As(err, &stopped):
		fmt.Fprintf(errs, "stopped: %s\ngo on with: kindred-gpu train --resume %s\n", stopped.Where(), stopped.Dir)
		return 130
	}
	fmt.Fprintln(errs, "kindred-gpu:", err)
	if errors.As(err, &typed) {
		return 2
	}
	return 1
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usage{err}
	}
	return nil
}

func newRoot(out, errs io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "kindred-gpu",
		Short: "Train on an accelerator what kindred trains on a CPU",
		Long: `kindred-gpu trains on an accelerator by XLA what kindred trains on a CPU. Its
configuration, run folder and checkpoints are kindred's: a run may go on with
either program, and every other command of kindred takes its folder.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: noArgs,
	}
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	asJSON := root.PersistentFlags().Bool("json", false,
		"print one JSON document on standard output; progress goes to standard error")
	root.AddCommand(newEngines(asJSON), newTrain(asJSON))
	return root
}

func newEngines(asJSON *bool) *cobra.Command {
	return &cobra.Command{
		Use:   "engines",
		Short: "Say what this machine can train on, and what is missing",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := xla.Engines()
			if *asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, e := range list {
				state := "ready"
				if !e.Ready {
					state = "not ready"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name, state, e.About)
			}
			return w.Flush()
		},
	}
}

// trainFlags are the options of kindred-gpu train as typed, which are those of
// kindred train.
type trainFlags struct {
	config, data, dataDir, weightsDir string
	set                               []string
	out, resume, engine               string
	force                             bool
	seed                              uint64
}

func newTrain(asJSON *bool) *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:   "train [-c FILE] [--data PATH] [--set KEY=VALUE ...]",
		Short: "Train an embedding",
		Long: `train writes the run folder that kindred train writes. 'kindred train --print-config'
prints every key of the configuration. With network.precision=bfloat16 products
are computed and activations kept in bfloat16.`,
		Example: `  kindred-gpu train --data photos/ --out runs/photos
  kindred-gpu train --resume runs/photos
  kindred report runs/photos`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runTrain(cmd, &f, *asJSON) },
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.config, "config", "c", "", "configuration (YAML)")
	fs.StringVar(&f.data, "data", "", "data set by name, folder, manifest or benchmark root; short for data.path")
	fs.StringVar(&f.dataDir, "data-dir", "", "folder with the data sets known by name; default $"+data.EnvHome+
		", else one in the user's cache")
	fs.StringVar(&f.weightsDir, "weights-dir", "", "folder with pretrained networks; default $"+weights.EnvHome+
		", else one in the user's cache")
	fs.StringArrayVar(&f.set, "set", nil, "set a key of the configuration: section.key=value; may be repeated")
	fs.StringVar(&f.out, "out", "", "run folder; default runs/NAME, with a number if that is taken")
	fs.StringVar(&f.resume, "resume", "", "continue the run in this folder")
	fs.BoolVar(&f.force, "force", false, "replace the run in the folder of --out")
	fs.Uint64Var(&f.seed, "seed", 1, "short for train.seed")
	fs.StringVar(&f.engine, "engine", "", "what to train on, as 'kindred-gpu engines' lists it; default the first "+
		"accelerator")
	return cmd
}
