package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/bench"
)

func newBench(a *app) *cobra.Command {
	var o benchOptions
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
			names := mapList(bench.Cases(), func(c bench.Case) string { return c.Name + "\t" + c.About })
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cases, err := bench.Select(bench.Cases(), args)
			if err != nil {
				return usageError(err)
			}
			if err := o.findPeers(cmd.Flags().Changed("python")); err != nil {
				return err
			}
			if o.processor != "" && o.record == "" {
				return usagef("--processor applies to --record, which is missing: it names the processor in the record")
			}
			return o.run(cmd.Context(), a, cases)
		},
	}
	newFlags(cmd).repeated(&o.programs, "peer",
		"program that times the same cases in other toolkits, such as bench/peer.py; repeat for several", completeFiles)
	newFlags(cmd).text(&o.python, "python", "/usr/bin/python3", "interpreter for a --peer that ends in .py",
		completeFiles)
	cmd.Flags().BoolVar(&o.layers, "layers", false, "break a network's time down by layer")
	newFlags(cmd).text(&o.record, "record", "",
		"file (.json) to write the figures to, beside those of other cases there", completeFiles)
	newFlags(cmd).text(&o.processor, "processor", "",
		"name of the processor in the record (default: its name there, or what the system calls it)", completeNothing)
	return cmd
}

// longCaseNames returns the names of the cases that are timed only if they are named.
func longCaseNames() []string {
	return mapList(slices.DeleteFunc(bench.Cases(), func(c bench.Case) bool { return !c.Long }),
		func(c bench.Case) string { return c.Name })
}

type benchOptions struct {
	programs          []string
	python            string
	peers             []*bench.Peer
	layers            bool
	record, processor string
}

// findPeers makes the peers of the programs. named is whether --python was given.
func (o *benchOptions) findPeers(named bool) error {
	for _, program := range o.programs {
		p := &bench.Peer{Script: program}
		if filepath.Ext(program) == ".py" {
			p.Python = o.python
			if _, err := exec.LookPath(p.Python); err != nil {
				return fmt.Errorf("the interpreter of --peer %s: %w; name another with --python", program, err)
			}
		} else if abs, err := filepath.Abs(program); err == nil { // a name without a folder is no command
			p.Script = abs
		}
		if _, err := os.Stat(program); err != nil {
			return fmt.Errorf("--peer: %w", err)
		}
		o.peers = append(o.peers, p)
	}
	if named && !slices.ContainsFunc(o.peers, func(p *bench.Peer) bool { return p.Python != "" }) {
		return usagef("--python applies to a --peer that ends in .py, which is missing")
	}
	return nil
}

// readRecord returns the record that the file holds, or nil without one.
func (o *benchOptions) readRecord() (*bench.Record, error) {
	if o.record == "" {
		return nil, nil
	}
	before, err := bench.ReadRecord(o.record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, os.MkdirAll(filepath.Dir(o.record), 0o777)
	}
	if err != nil {
		return nil, fmt.Errorf("--record names a file that is not a record: %w; name another", err)
	}
	o.processor = cmp.Or(o.processor, before.Processor)
	return before, nil
}

func (o *benchOptions) run(ctx context.Context, a *app, cases []bench.Case) error {
	before, err := o.readRecord()
	if err != nil {
		return err
	}
	record := bench.NewRecord(o.processor)
	if before != nil && before.Model != "" && before.Model != record.Model {
		return fmt.Errorf("%s has the figures of another processor, %s: this one is %s; name another --record",
			o.record, before.Model, record.Model)
	}
	if o.record != "" && record.IsBusy() {
		fmt.Fprintf(a.err, "the machine is busy with other work (load %.1f): these figures will not be good enough "+
			"to keep\n", *record.Load)
	}
	for _, p := range o.peers {
		fmt.Fprintf(a.err, "%s is looking for its fastest setting ...\n", p.Script)
		if err := p.Tune(ctx); err != nil {
			return err
		}
		fmt.Fprintln(a.err, p.Setting)
		record.Peers = append(record.Peers, p.Setting)
	}
	if missing := record.MissingPeers(); len(o.peers) > 0 && len(missing) > 0 {
		fmt.Fprintf(a.err, "missing: %s (make peer sets up what it can)\n", strings.Join(missing, ", "))
	}
	var failed []error
	for _, c := range cases {
		r, err := o.timeCase(ctx, a, c)
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		if err != nil {
			fmt.Fprintf(a.err, "%v\n%s is left out\n", err, c.Name)
			failed = append(failed, err)
			continue
		}
		record.Results = append(record.Results, r)
		if o.record != "" { // after each case, so that an interrupted run keeps its figures
			all := record
			if before != nil {
				all = record.MergeResults(before)
			}
			if err := all.Save(o.record); err != nil {
				return err
			}
		}
		runtime.GC() // the next case starts with the memory free
	}
	if len(record.Results) == 0 {
		return errors.Join(failed...)
	}
	return errors.Join(a.printResult(record.Results, func() error { return printBench(a, record.Results) }),
		errors.Join(failed...))
}

// timeCase times one case.
func (o *benchOptions) timeCase(ctx context.Context, a *app, c bench.Case) (bench.Result, error) {
	fmt.Fprintf(a.err, "%s ...\n", c.Name)
	r, err := bench.Run(ctx, c, o.peers...)
	if err != nil {
		return r, err
	}
	if len(o.peers) > 0 && r.Peer == nil {
		fmt.Fprintf(a.err, "%s: no peer has this case\n", c.Name)
	}
	if o.layers {
		if r.Layers, err = bench.RunLayers(c, 5); errors.Is(err, bench.ErrNoLayers) {
			err = nil
		}
	}
	return r, err
}

func printBench(a *app, results []bench.Result) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "case\tmedian ms\tmin\tmax\titems/s\tGFLOP/s\tpeer ms\tmin\tmax\tratio\tpeer\t")
	for _, r := range results {
		var peer bench.PeerTimes
		if r.Peer != nil {
			peer = *r.Peer
		}
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.1f\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Case, r.MedianMS, r.MinMS, r.MaxMS,
			r.PerS,
			formatOrDash(r.GFLOPS, "%.0f"), formatOrDash(peer.MedianMS, "%.3f"), formatOrDash(peer.MinMS, "%.3f"),
			formatOrDash(peer.MaxMS, "%.3f"), formatOrDash(r.Ratio, "%.2fx"), cmp.Or(peer.Name(r.Case), "-"))
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
				formatOrDash(l.ForwardGFLOPS, "%.0f"),
				l.BackwardMS, formatOrDash(l.BackwardGFLOPS, "%.0f"), formatOrDash(100*l.Share, "%.0f %%"))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func formatOrDash(v float64, format string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
