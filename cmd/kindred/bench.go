package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/bench"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
)

func newBench(a *console.Console) *cobra.Command {
	var o bench.Session
	cmd := &cobra.Command{
		Use:   "bench [case...]",
		Short: "Time kindred's main jobs, optionally beside PyTorch, ONNX Runtime and faiss",
		Long: `bench times the named cases in five turns each and prints the median, the shortest
and the longest time. A turn repeats the work for 100 ms, at least once. If no case
is named, it times all but the long ones, of which a turn takes more than 10 s:
` + strings.Join(longCaseNames(), ", ") + `.

Each --peer is a program that does the same work in other toolkits, taking turns
with kindred. The table shows the fastest peer of each case, and how many times
faster kindred is (the peer's time / ours). Peers are tuned before the first case:
OpenBLAS often guesses its core type wrongly, so all are tried and the fastest is
used. make peer sets the peers up and lists their programs, which are in bench.
bench/onnxruntime.js evaluates the very network of a case, exported. If a peer
fails, its case is left out.

With --record the figures are also written to a file, from which docs/bench.md is
made (make bench-page). If the file exists, cases that are not timed keep their
earlier figures with the day. With --layers a network's time is broken down by
layer, with the share of the machine's peak rate that each layer reaches (more
than 100 % where a convolution needs fewer multiplications than its definition).`,
		Example: `  kindred bench
  kindred bench mnist-step-b128 --peer bench/peer.py
  kindred bench resnet50-224-infer-b16 --peer bench/trixie --peer bench/onnxruntime.js
  kindred bench conv4-40px-step-b112 --layers
  kindred bench gemm-2048x2048x2048 --json
  kindred bench --peer bench/peer.py --record docs/bench/mine.json --processor "EPYC 9755"`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			names := cli.Map(bench.Cases(), func(c bench.Case) string { return c.Name + "\t" + c.About })
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cases, err := bench.Select(bench.Cases(), args)
			if err != nil {
				return cli.UsageError{Err: err}
			}
			if err := o.FindPeers(cmd.Flags().Changed("python")); err != nil {
				return err
			}
			if o.Processor != "" && o.Record == "" {
				return cli.Usagef("--processor applies to --record, which is missing: it names the processor in the " +
					"record")
			}
			return o.Run(cmd.Context(), a, cases)
		},
	}
	flags.New(cmd).Repeated(&o.Programs, "peer",
		"program that times the same cases in other toolkits, such as bench/peer.py; repeat for several",
		complete.Files)
	flags.New(cmd).Text(&o.Python, "python", "/usr/bin/python3", "interpreter for a --peer that ends in .py",
		complete.Files)
	cmd.Flags().BoolVar(&o.Layers, "layers", false, "break a network's time down by layer")
	flags.New(cmd).Text(&o.Record, "record", "",
		"file (.json) to write the figures to, beside those of other cases there", complete.Files)
	flags.New(cmd).Text(&o.Processor, "processor", "",
		"name of the processor in the record (default: its name there, or what the system calls it)", complete.Nothing)
	return cmd
}

// longCaseNames returns the names of the cases that are timed only if they are named.
func longCaseNames() []string {
	return cli.Map(slices.DeleteFunc(bench.Cases(), func(c bench.Case) bool { return !c.Long }),
		func(c bench.Case) string { return c.Name })
}
