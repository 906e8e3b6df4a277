package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/app/bench"
)

func newBench(a *app) *cobra.Command {
	var peer bench.Peer
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [case...]",
		Short: "Time kindred's main jobs, optionally beside PyTorch and faiss",
		Long: `bench times the named cases, or all of them if none is named, in five turns
each and prints the median, the shortest and the longest time. A turn repeats the
work for 100 ms, at least once.

With --peer a script does the same work in PyTorch and faiss, taking turns with
kindred, and the table shows how many times faster kindred is (the peer's time /
ours). The peer is tuned before the first case: OpenBLAS often guesses its core
type wrongly, so all are tried and the fastest is used. bench/peer.py needs
Debian's python3-torch python3-torchvision python3-faiss libopenblas0-pthread
(make bench installs them).

With --record the figures are also written to a file, from which docs/bench.md is
made (make bench-page). With --layers a network's time is broken down by layer,
with the share of the machine's peak rate that each layer reaches (more than
100 % where a convolution needs fewer multiplications than its definition).`,
		Example: `  kindred bench
  kindred bench mnist-step-b128 --peer bench/peer.py
  kindred bench conv4-40px-step-b112 --layers
  kindred bench gemm-2048x2048x2048 --json
  kindred bench --peer bench/peer.py --record docs/bench/mine.json --processor "EPYC 9755"`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			names := each(bench.Cases(), func(c bench.Case) string { return c.Name + "\t" + c.About })
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cases, err := bench.Select(bench.Cases(), args)
			if err != nil {
				return usageError(err)
			}
			if peer.Script != "" {
				if _, err := exec.LookPath(peer.Python); err != nil {
					return fmt.Errorf("the peer's interpreter: %w; name another with --python", err)
				}
				o.peer = &peer
			}
			return o.run(cmd.Context(), a, cases)
		},
	}
	flagsOf(cmd).text(&peer.Script, "peer", "",
		"script that times the same cases in another toolkit, such as bench/peer.py", anyFile)
	flagsOf(cmd).text(&peer.Python, "python", "/usr/bin/python3", "interpreter for --peer", anyFile)
	cmd.Flags().BoolVar(&o.layers, "layers", false, "break a network's time down by layer")
	flagsOf(cmd).text(&o.record, "record", "", "file (.json) to write the figures to", anyFile)
	flagsOf(cmd).text(&o.processor, "processor", "",
		"name of the processor in the record (default: what the system calls it)", nothing)
	return cmd
}

type benchOptions struct {
	peer              *bench.Peer
	layers            bool
	record, processor string
}

func (o *benchOptions) run(ctx context.Context, a *app, cases []bench.Case) error {
	record := bench.NewRecord(o.processor, o.peer)
	if o.record != "" && record.Busy() {
		fmt.Fprintf(a.err, "the machine is busy with other work (load %.1f): these figures will not be good enough "+
			"to keep\n", *record.Load)
	}
	if o.record != "" {
		if err := os.MkdirAll(filepath.Dir(o.record), 0o777); err != nil {
			return err
		}
	}
	if o.peer != nil {
		fmt.Fprintln(a.err, "the peer is trying its core types ...")
		if err := o.peer.Tune(ctx); err != nil {
			return err
		}
		fmt.Fprintln(a.err, o.peer.Setting)
	}
	for _, c := range cases {
		fmt.Fprintf(a.err, "%s ...\n", c.Name)
		r, err := bench.Run(ctx, c, o.peer)
		if err != nil {
			return err
		}
		if o.peer != nil && r.Peer == nil {
			fmt.Fprintf(a.err, "%s: the peer's script does not have this case\n", c.Name)
		}
		if o.layers {
			if r.Layers, err = bench.RunLayers(c, 5); err != nil && !errors.Is(err, bench.ErrNoLayers) {
				return err
			}
		}
		record.Results = append(record.Results, r)
		if o.record != "" { // after each case, so that an interrupted run keeps its figures
			if err := record.Save(o.record); err != nil {
				return err
			}
		}
		runtime.GC() // the next case starts with the memory free
	}
	return a.answer(record.Results, func() error { return printBench(a, record.Results) })
}

func printBench(a *app, results []bench.Result) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "case\tmedian ms\tmin\tmax\titems/s\tGFLOP/s\tpeer ms\tmin\tmax\tratio\t")
	for _, r := range results {
		var peer bench.PeerTimes
		if r.Peer != nil {
			peer = *r.Peer
		}
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.1f\t%s\t%s\t%s\t%s\t%s\t\n", r.Case, r.MedianMS, r.MinMS, r.MaxMS,
			r.PerS,
			orDash(r.GFLOPS, "%.0f"), orDash(peer.MedianMS, "%.3f"), orDash(peer.MinMS, "%.3f"),
			orDash(peer.MaxMS, "%.3f"), orDash(r.Ratio, "%.2fx"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if len(r.Layers) == 0 {
			continue
		}
		fmt.Fprintf(a.out, "\n%s, by layer\n", r.Case)
		fmt.Fprintln(w, "layer\toutput\tforward ms\tGFLOP/s\tbackward ms\tGFLOP/s\tshare of peak\t")
		for _, l := range r.Layers {
			fmt.Fprintf(w, "%s\t%s\t%.3f\t%s\t%.3f\t%s\t%s\t\n", l.Name, l.Output, l.ForwardMS,
				orDash(l.ForwardGFLOPS, "%.0f"),
				l.BackwardMS, orDash(l.BackwardGFLOPS, "%.0f"), orDash(100*l.Share, "%.0f %%"))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func orDash(v float64, format string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
