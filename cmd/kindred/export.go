package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/card"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/collection/calibrations"
	"github.com/kindred-ml/kindred/run"
)

type exportFlags struct {
	inputs.ModelFlags
	outputs.Files
	out string
}

func newExport(a *console.Console) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:               "export RUN --out FILE",
		ValidArgsFunction: complete.One(complete.RunOrFile),
		Short:             "Write a network for other programs: ONNX, or safetensors with a model card",
		Long: `export writes the network of a finished run, the folder RUN, to one file. The extension
is the format:

  model.onnx          an ONNX model (opset 17). Its input "image" is float32, batch x
                      channels x height x width, with a batch of any size; its output is
                      "embedding". The metadata has the preparation of images. A run of
                      kindred quantize is written in 8 bits (QuantizeLinear).
  model.safetensors   the weights under their PyTorch names. The metadata has the
                      network's description and the preparation of images. README.md
                      beside it is a model card.

If the run has a calibration (kindred calibrate), it is copied to NAME.calibration.json.
kindred search and kindred identify use it with the exported network.

--network instead of RUN exports a network that was not trained here: an ONNX file, cut
before its classifier, or a network known by name (kindred weights list).`,
		Example: `  kindred export runs/photos --out photos.onnx
  kindred export runs/photos --out photos/model.safetensors`,
		Args: func(_ *cobra.Command, args []string) error { return f.ReadArgs(args, nil, "", "") },
		RunE: func(cmd *cobra.Command, _ []string) error { return runExport(cmd.Context(), a, &f) },
	}
	fs := flags.New(cmd)
	fs.Text(&f.out, "out", "", "file to write (.onnx, .safetensors)", complete.Files)
	f.Files.Add(cmd, "files")
	f.ModelFlags.Add(cmd)
	return cmd
}

func runExport(ctx context.Context, a *console.Console, f *exportFlags) error {
	if f.Run+f.Network == "" {
		return cli.Usagef("missing argument RUN, or --network: the network to write")
	}
	ext := strings.ToLower(filepath.Ext(f.out))
	if ext != ".onnx" && ext != ".safetensors" {
		return cli.Usagef("--out %q: want the name of a file that ends in .onnx or .safetensors", f.out)
	}
	files := []string{f.out}
	if ext != ".onnx" {
		files = append(files, filepath.Join(filepath.Dir(f.out), "README.md"))
	}
	if err := f.CheckReplace(append(slices.Clone(files), calibrations.Path(f.out, false))...); err != nil {
		return err
	}
	m, err := f.Load(ctx, a)
	if err != nil {
		return err
	}
	if ext != ".onnx" && m.Net.Quantization() != nil {
		return cli.Usagef("--out %q: the network is in 8 bits: want a name that ends in .onnx, or its run in float32",
			f.out)
	}
	of, err := calibrations.FromNetwork(m, f.Run, f.Network)
	if err != nil {
		return err
	}
	if err := atomic.Prepare(files...); err != nil {
		return err
	}
	if ext == ".onnx" {
		if err := atomic.WriteFile(f.out, m.Export); err != nil {
			return err
		}
	} else {
		weights, err := card.Weights(m)
		if err == nil {
			err = atomic.WriteFile(f.out, weights.Write)
		}
		if err != nil {
			return err
		}
	}
	says, err := f.copyCalibration(a, m, of)
	if err != nil {
		return err
	}
	if says != nil {
		files = append(files, calibrations.Path(f.out, false))
	}
	if ext != ".onnx" {
		c := card.Card{Model: m, File: f.out, Run: f.Run, Calibration: says,
			CalibrationFile: calibrations.Path(f.out, false)}
		if err := atomic.WriteFile(files[1], c.Write); err != nil {
			return err
		}
	}
	if err := f.RecordMade(files...); err != nil {
		return err
	}
	return printExported(a, m, files)
}

func printExported(a *console.Console, m *run.Model, files []string) error {
	in := m.Net.Spec().Input
	if a.JSON {
		return a.PrintJSON(map[string]any{"files": files, "input": in, "dim": m.Net.Dim()})
	}
	for _, path := range files {
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s: %s\n", path, budget.Format(st.Size()))
	}
	_, err := fmt.Fprintf(a.Out, "images of %s in, %d values out\n", in, m.Net.Dim())
	return err
}

// copyCalibration copies the calibration of the network, if it has one, beside the exported file. It
// returns the copy.
func (f *exportFlags) copyCalibration(a *console.Console, m *run.Model,
	of *calibrations.Distances) (*decide.Calibration, error) {
	as, err := m.Identity(filepath.Base(f.out))
	if err != nil {
		return nil, err
	}
	to := calibrations.Path(f.out, false)
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // the old calibration was of the network that the file held before
	}
	return copyCalibration(a, of, to, as)
}
