package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/bench"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/xla"
	"github.com/kindred-ml/kindred/xla/internal/timing"
)

func newBench(a *app) *cobra.Command {
	var on chosen
	var peer bench.Peer
	var record string
	cmd := &cobra.Command{
		Use:   "bench [case...]",
		Short: "Time training and evaluation on an accelerator, optionally beside PyTorch",
		Long: `bench times steps of training and of evaluation, or only the named cases, in five
turns each. It prints for each case the images per second, the data that cross the
bus in a step and their time and, if nvidia-smi is installed, the memory and the
utilisation of the devices. Images cross the bus as bytes.

With --peer a script does the same work in PyTorch on the same device, taking turns:
eager, channels last, autocast to bfloat16, and compiled. The cases named tiny are
for trying it out without an accelerator: kindred-gpu bench tiny --engine go.`,
		Example: `  kindred-gpu bench --peer bench/gpu_peer.py --record gpu.json
  kindred-gpu bench resnet50-227-train-b112-bf16 --devices all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cases, err := timing.Select(args)
			if err != nil {
				return cli.UsageError{Err: err}
			}
			devices, err := on.open()
			if err != nil {
				return err
			}
			defer xla.Close(devices)
			var beside *bench.Peer
			if peer.Script != "" {
				beside = &peer
			}
			results, err := timeCases(cmd.Context(), a, cases, devices, beside, record)
			if err != nil && len(results) == 0 {
				return err
			}
			if a.json {
				return errors.Join(err, json.NewEncoder(a.out).Encode(results))
			}
			return errors.Join(err, print(a, results))
		},
	}
	fs := cmd.Flags()
	on.add(fs)
	fs.StringVar(&peer.Script, "peer", "", "script that times the same cases in PyTorch, such as bench/gpu_peer.py")
	fs.StringVar(&peer.Python, "python", "python3", "interpreter for --peer")
	fs.StringVar(&record, "record", "", "file (.json) to write the figures to")
	return cmd
}

func save(path string, results []timing.Result) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return atomic.WriteFile(path, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n", text)
		return err
	})
}

// timeCases times one case after the other. With an error come the results of those that had
// ended, which are in record too.
func timeCases(ctx context.Context, a *app, cases []timing.Case, devices []xla.Device, beside *bench.Peer,
	record string) ([]timing.Result, error) {
	var results []timing.Result
	for _, c := range cases {
		fmt.Fprintf(a.err, "%s ...\n", c.Name)
		r, err := timing.Run(ctx, c, devices, beside)
		if err != nil {
			return results, err
		}
		results = append(results, r)
		if record != "" {
			if err := save(record, results); err != nil {
				return results, err
			}
		}
	}
	return results, nil
}

func print(a *app, results []timing.Result) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "case\tmedian ms\tmin\tmax\timages/s\tMB up\tMB down\tbus ms\tMiB of device\tutilisation\t")
	for _, r := range results {
		memory, busy := "-", "-"
		if r.Device != nil {
			memory, busy = fmt.Sprint(r.Device.MiB), fmt.Sprintf("%.0f %%", r.Device.Percent)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.1f\t%.2f\t%.3f\t%.2f\t%s\t%s\t\n", r.Case, r.MedianMS, r.MinMS,
			r.MaxMS, r.PerS, r.UpMB, r.DownMB, r.BusMS, memory, busy)
		for _, p := range r.Variants {
			fmt.Fprintf(w, "PyTorch, %s\t%.2f\t%.2f\t%.2f\t%.1f\t\t\t\t\t\t\n", p.Variant, p.MedianMS, p.MinMS,
				p.MaxMS, r.PerS*r.MedianMS/p.MedianMS)
		}
	}
	return w.Flush()
}
