package bench

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

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
)

// Session is one call of kindred bench: the cases beside which programs, and where the record is kept.
type Session struct {
	Programs          []string
	Python            string
	peers             []*Peer
	Layers            bool
	Record, Processor string
}

// FindPeers makes the peers of the programs. named is whether --python was given.
func (o *Session) FindPeers(named bool) error {
	for _, program := range o.Programs {
		p := &Peer{Script: program}
		if filepath.Ext(program) == ".py" {
			p.Python = o.Python
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
	if named && !slices.ContainsFunc(o.peers, func(p *Peer) bool { return p.Python != "" }) {
		return cli.Usagef("--python applies to a --peer that ends in .py, which is missing")
	}
	return nil
}

// readRecord returns the record that the file holds, or nil without one.
func (o *Session) readRecord() (*Record, error) {
	if o.Record == "" {
		return nil, nil
	}
	before, err := ReadRecord(o.Record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, os.MkdirAll(filepath.Dir(o.Record), 0o777)
	}
	if err != nil {
		return nil, fmt.Errorf("--record names a file that is not a record: %w; name another", err)
	}
	o.Processor = cmp.Or(o.Processor, before.Processor)
	return before, nil
}

// Run times the cases and prints them.
func (o *Session) Run(ctx context.Context, a *console.Console, cases []Case) error {
	before, err := o.readRecord()
	if err != nil {
		return err
	}
	record := NewRecord(o.Processor)
	if before != nil && before.Model != "" && before.Model != record.Model {
		return fmt.Errorf("%s has the figures of another processor, %s: this one is %s; name another --record",
			o.Record, before.Model, record.Model)
	}
	if o.Record != "" && record.IsBusy() {
		fmt.Fprintf(a.Err, "the machine is busy with other work (load %.1f): these figures will not be good enough "+
			"to keep\n", *record.Load)
	}
	for _, p := range o.peers {
		fmt.Fprintf(a.Err, "%s is looking for its fastest setting ...\n", p.Script)
		if err := p.Tune(ctx); err != nil {
			return err
		}
		fmt.Fprintln(a.Err, p.Setting)
		record.Peers = append(record.Peers, p.Setting)
	}
	if missing := record.MissingPeers(); len(o.peers) > 0 && len(missing) > 0 {
		fmt.Fprintf(a.Err, "missing: %s (make peer sets up what it can)\n", strings.Join(missing, ", "))
	}
	var failed []error
	for _, c := range cases {
		r, err := o.timeCase(ctx, a, c)
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		if err != nil {
			fmt.Fprintf(a.Err, "%v\n%s is left out\n", err, c.Name)
			failed = append(failed, err)
			continue
		}
		record.Results = append(record.Results, r)
		if o.Record != "" { // after each case, so that an interrupted run keeps its figures
			all := record
			if before != nil {
				all = record.MergeResults(before)
			}
			if err := all.Save(o.Record); err != nil {
				return err
			}
		}
		runtime.GC() // the next case starts with the memory free
	}
	if len(record.Results) == 0 {
		return errors.Join(failed...)
	}
	return errors.Join(a.PrintResult(record.Results, func() error { return printBench(a, record.Results) }),
		errors.Join(failed...))
}

// timeCase times one case.
func (o *Session) timeCase(ctx context.Context, a *console.Console, c Case) (Result, error) {
	fmt.Fprintf(a.Err, "%s ...\n", c.Name)
	r, err := Run(ctx, c, o.peers...)
	if err != nil {
		return r, err
	}
	if len(o.peers) > 0 && r.Peer == nil {
		fmt.Fprintf(a.Err, "%s: no peer has this case\n", c.Name)
	}
	if o.Layers {
		if r.Layers, err = RunLayers(c, 5); errors.Is(err, ErrNoLayers) {
			err = nil
		}
	}
	return r, err
}

func printBench(a *console.Console, results []Result) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "case\tmedian ms\tmin\tmax\titems/s\tGFLOP/s\tpeer ms\tmin\tmax\tratio\tpeer\t")
	for _, r := range results {
		var peer PeerTimes
		if r.Peer != nil {
			peer = *r.Peer
		}
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.1f\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Case, r.MedianMS, r.MinMS, r.MaxMS,
			r.PerS, formatOrDash(r.GFLOPS, "%.0f"), formatOrDash(peer.MedianMS, "%.3f"),
			formatOrDash(peer.MinMS, "%.3f"), formatOrDash(peer.MaxMS, "%.3f"), formatOrDash(r.Ratio, "%.2fx"),
			cmp.Or(peer.Name(r.Case), "-"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if len(r.Layers) == 0 {
			continue
		}
		fmt.Fprintf(a.Out, "\n%s, by layer\n", r.Case)
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
