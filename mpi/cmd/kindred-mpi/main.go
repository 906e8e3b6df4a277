// kindred-mpi trains one run on several processes, which MPI starts on one machine or many:
//
//	mpirun -np 8 kindred-mpi train photos/ --set train.chunk=16
//
// Configuration, run folder and checkpoints are kindred's, and the network is the same to the bit
// as kindred's with the same train.chunk, whatever the number of processes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/mpi"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

func main() { os.Exit(command(os.Args[1:])) }

// app is what the commands share.
type app struct {
	ranks    *mpi.Comm
	out, err io.Writer // of rank 0; the others say nothing unless they fail
	json     bool
	seed     uint64
}

// command runs the program on this rank and returns its exit status: 1 for a failure, 2 for a
// wrong command line, 130 for an interruption.
func command(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1)
	defer stop()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1)) // --memory is this command line's
	a := &app{out: os.Stdout, err: os.Stderr}
	root := newRoot(a)
	root.SetArgs(args)
	if !joins(root, args) {
		return finish(a, root.ExecuteContext(ctx))
	}
	ranks, err := mpi.Start()
	if err != nil {
		return finish(a, err)
	}
	a.ranks = ranks
	shareCores()
	if ranks.Rank() > 0 {
		a.out, a.err = io.Discard, io.Discard
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
	}
	status := finish(a, root.ExecuteContext(ctx))
	if err := ranks.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "kindred-mpi:", err)
	}
	return status
}

// joins tells whether a command line is one that all ranks run together.
func joins(root *cobra.Command, args []string) bool {
	cmd, _, err := root.Find(args)
	if err != nil || cmd.Name() != "train" {
		return false
	}
	for _, a := range args {
		if a == "-h" || a == "--help" || a == "--print-config" {
			return false
		}
	}
	return true
}

// finish reports the outcome and ends the other ranks if this one cannot go on.
func finish(a *app, err error) int {
	var typed cli.UsageError
	own, alone := (*run.StoppedError)(nil), (*train.StoppedError)(nil)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &own) || errors.As(err, &alone):
		if own != nil {
			fmt.Fprintf(a.err, "stopped: %s\ngo on with: mpirun ... kindred-mpi train --resume %s, with any number of "+
				"processes, or kindred train --resume %s\n", own.Location(), own.Dir, own.Dir)
		}
		return 130
	case errors.As(err, &typed):
		fmt.Fprintln(a.err, "kindred-mpi:", cli.Message(err))
		return 2 // of all ranks, which have the same command line
	}
	if a.ranks == nil || a.ranks.Size() == 1 {
		fmt.Fprintln(os.Stderr, "kindred-mpi:", cli.Message(err))
		return 1
	}
	host, _ := os.Hostname()
	if a.ranks.Rank() > 0 {
		time.Sleep(patience) // rank 0 may have met the same, and says it once for all
	}
	fmt.Fprintf(os.Stderr, "kindred-mpi: rank %d of %d, on %s: %s\n", a.ranks.Rank(), a.ranks.Size(), host,
		cli.Message(err))
	time.Sleep(passing)
	a.ranks.Abort(1)
	return 1
}

const (
	// patience is how long other ranks let rank 0 speak first.
	patience = 5 * time.Second
	// passing is how long a launcher may take to pass on the last line before it ends all.
	passing = 200 * time.Millisecond
)

// shareCores takes this process's share of the machine's cores, unless the user or the launcher
// says how many it has.
func shareCores() {
	for _, name := range []string{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"} {
		local, err := strconv.Atoi(os.Getenv(name))
		if err != nil || local < 2 || os.Getenv("GOMAXPROCS") != "" {
			continue
		}
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/local))
		return
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return cli.UsageError{Err: err}
	}
	return nil
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "kindred-mpi",
		Short: "Train one run on several processes, which MPI starts",
		Long: `kindred-mpi trains one run on several processes, which MPI starts on one or more
machines. Its configuration, run folder and checkpoints are those of kindred. Any
number of processes gives the same bits as 'kindred train' with the same
train.chunk, and a run may go on with either program.`,
		Example: `  mpirun -np 2 kindred-mpi train photos/ --set train.chunk=16
  srun --mpi=pmix -n 8 kindred-mpi train photos/ --set train.chunk=16 --out runs/photos
  mpirun -np 3 kindred-mpi train --resume runs/photos`,
		SilenceErrors: true, SilenceUsage: true,
		Args: noArgs,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.FlagError(err) })
	cli.AddGlobals(root.PersistentFlags(), &a.json, &a.seed)
	root.AddCommand(newTrain(a))
	return root
}
