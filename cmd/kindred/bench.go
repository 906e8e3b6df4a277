package main

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/bench"
)

func newBench(a *app) *cobra.Command {
	var peer bench.Peer
	var layers bool
	cmd := &cobra.Command{
		Use:   "bench [case...]",
		Short: "Time kindred's main jobs, optionally beside PyTorch and faiss",
		Long: `bench times the named cases (all without a name) and prints the median of
several runs. With --peer it also runs a script that does the same work in
PyTorch and faiss, right after each case, and prints how many times faster
kindred is (peer's time / ours). With --layers a network's time is told apart
by layer, with the share of the machine's peak rate that each reaches (more than
100 % where a convolution takes fewer multiplications than its definition).`,
		Example: `  kindred bench
  kindred bench mnist-step-b128 --peer bench/peer.py
  kindred bench conv4-40px-step-b112 --layers
  kindred bench gemm-2048x2048x2048 --json`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range bench.Cases() {
				names = append(names, c.Name+"\t"+c.About)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cases, err := bench.Select(bench.Cases(), args)
			if err != nil {
				return usageError{err}
			}
			if peer.Script != "" {
				if _, err := exec.LookPath(peer.Python); err != nil {
					return fmt.Errorf("the peer's interpreter: %w; name another with --python", err)
				}
			}
			return runBench(cmd, a, cases, peer, layers)
		},
	}
	cmd.Flags().StringVar(&peer.Script, "peer", "", "script that times the same cases elsewhere, e.g. bench/peer.py")
	cmd.Flags().StringVar(&peer.Python, "python", "/usr/bin/python3", "interpreter for --peer")
	cmd.Flags().BoolVar(&layers, "layers", false, "tell a network's time apart by layer")
	return cmd
}

func runBench(cmd *cobra.Command, a *app, cases []bench.Case, peer bench.Peer, layers bool) error {
	results := make([]bench.Result, 0, len(cases))
	for _, c := range cases {
		fmt.Fprintf(a.err, "%s ...\n", c.Name)
		r, err := bench.Run(cmd.Context(), c)
		if err != nil {
			return err
		}
		if layers {
			if r.Layers, err = bench.RunLayers(c, 5); err != nil && !errors.Is(err, bench.ErrNoLayers) {
				return err
			}
		}
		runtime.GC() // the next case, or the peer, starts with the memory free
		if peer.Script != "" {
			r.PeerMS, err = peer.Run(cmd.Context(), c.Name)
			switch {
			case errors.Is(err, bench.ErrNoPeerCase):
				fmt.Fprintf(a.err, "%s: %v\n", c.Name, err)
			case err != nil:
				return err
			default:
				r.Ratio = r.PeerMS / r.MedianMS
			}
		}
		results = append(results, r)
	}
	if a.json {
		return a.printJSON(results)
	}
	return printBench(a, results)
}

func printBench(a *app, results []bench.Result) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "case\tmedian ms\tmin\tmax\titems/s\tGFLOP/s\tpeer ms\tratio\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.1f\t%s\t%s\t%s\t\n", r.Case, r.MedianMS, r.MinMS, r.MaxMS, r.PerS,
			orDash(r.GFLOPS, "%.0f"), orDash(r.PeerMS, "%.3f"), orDash(r.Ratio, "%.2fx"))
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
			fmt.Fprintf(w, "%s\t%s\t%.3f\t%s\t%.3f\t%s\t%s\t\n", l.Name, l.Output, l.ForwardMS, orDash(l.ForwardGFLOPS, "%.0f"),
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
