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
	"runtime/debug"
	"strconv"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/xla"
)

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

// app is what all commands share: the output streams and the global flags.
type app struct {
	out, err io.Writer
	json     bool
	seed     uint64
}

// command runs the program and returns its exit status: 1 for a failure, 2 for a
// wrong command line, 130 for an interruption.
func command(args []string, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1)) // --memory is this command line's
	root := newRoot(&app{out: out, err: errs})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var typed cli.UsageError
	var stopped *run.StoppedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &stopped):
		fmt.Fprintf(errs, "stopped: %s\ngo on with: kindred-gpu train --resume %s\n", stopped.Location(), stopped.Dir)
		return 130
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(errs, "kindred-gpu: stopped")
		return 130
	}
	fmt.Fprintln(errs, "kindred-gpu:", cli.Message(err))
	if errors.As(err, &typed) {
		return 2
	}
	return 1
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return cli.UsageError{Err: err}
	}
	return nil
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "kindred-gpu",
		Short: "Train kindred's networks on an accelerator",
		Long: `kindred-gpu trains on an accelerator, through XLA. Its configuration, run folder and
checkpoints are those of kindred: a run may go on with either program, and every
other command of kindred accepts its folder.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: noArgs,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.FlagError(err) })
	cli.AddGlobals(root.PersistentFlags(), &a.json, &a.seed)
	root.AddCommand(newEngines(a), newTrain(a), newBench(a))
	return root
}

func newEngines(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "engines",
		Short: "List the engines of this machine, and what is missing for others",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			list := xla.Engines()
			if a.json {
				return json.NewEncoder(a.out).Encode(list)
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			for _, e := range list {
				state := "not ready"
				if e.Ready {
					state = "ready"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name, state, e.About)
				for i, d := range e.Devices {
					fmt.Fprintf(w, "\tdevice %d\t%s\n", i, d)
				}
			}
			return w.Flush()
		},
	}
}

// chosen is what to compute on, as typed.
type chosen struct {
	engine, devices string
	tf32            bool
	flags           *pflag.FlagSet
}

func (c *chosen) add(fs *pflag.FlagSet) {
	fs.StringVar(&c.engine, "engine", "", "engine to train on, as listed by 'kindred-gpu engines'; default: the first "+
		"accelerator")
	fs.StringVar(&c.devices, "devices", "1", "number of its devices to use, each for a piece of the batch: a number "+
		"or all")
	fs.BoolVar(&c.tf32, "tf32", true, "let a GPU round the operands of float32 products to TF32's 11 bits; "+
		"--tf32=false is slower")
	c.flags = fs
}

// open starts it.
func (c *chosen) open() ([]xla.Device, error) {
	count := 0
	if c.devices != "all" {
		var err error
		if count, err = strconv.Atoi(c.devices); err != nil || count < 1 {
			return nil, cli.UsageError{Err: fmt.Errorf("--devices %s: want a number from 1 on, or all", c.devices)}
		}
	}
	if c.engine == xla.GoEngine && c.flags.Changed("tf32") {
		return nil, cli.UsageError{Err: fmt.Errorf("--tf32 applies to GPUs: --engine %s has only float32", c.engine)}
	}
	return xla.Open(xla.Choice{Engine: c.engine, Devices: count, Float32: !c.tf32})
}
