package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/cli/contents"
	"github.com/kindred-ml/kindred/nn/onnxnet"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

type exportFlags struct {
	modelFlags
	out   string
	force bool
}

func newExport(a *app) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export RUN --out FILE",
		Short: "Write a network for other programs: ONNX, or safetensors with a model card",
		Long: `export writes the network of a finished run, the folder RUN, to one file. Its name
says the format:

  model.onnx          a model of ONNX (opset 17): "image", float32 of batch x channels
                      x height x width with an open batch, to "embedding"; how an image
                      is prepared is in the metadata
  model.safetensors   the weights under their PyTorch names, the network's description
                      and the preparation in the metadata, and beside it README.md, a
                      model card

Where kindred calibrate has learnt what the run's distances mean, its calibration comes
along as NAME.calibration.json, by which kindred search and kindred identify read the
exported network's distances.

With --network instead of RUN, a network that was not trained here is written: a
file of ONNX, cut before its classifier, or one known by name (kindred weights list).`,
		Example: `  kindred export runs/photos --out photos.onnx
  kindred export runs/photos --out photos/model.safetensors`,
		Args: func(_ *cobra.Command, args []string) error { return f.take(args, nil, "", "") },
		RunE: func(cmd *cobra.Command, _ []string) error { return runExport(cmd.Context(), a, &f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.out, "out", "", "file to write (.onnx, .safetensors)")
	fs.BoolVar(&f.force, "force", false, "replace a README.md that is there already")
	f.add(cmd)
	return cmd
}

func runExport(ctx context.Context, a *app, f *exportFlags) error {
	if f.run+f.network == "" {
		return usagef("missing argument RUN, or --network: whose network is written")
	}
	ext := strings.ToLower(filepath.Ext(f.out))
	if ext != ".onnx" && ext != ".safetensors" {
		return usagef("--out %q: want the name of a file that ends in .onnx or .safetensors", f.out)
	}
	files := []string{f.out}
	if ext != ".onnx" {
		card := filepath.Join(filepath.Dir(f.out), "README.md")
		if _, err := os.Stat(card); err == nil && !f.force {
			return fmt.Errorf("%s is there already: choose another folder, or replace it with --force", card)
		}
		files = append(files, card)
	}
	m, err := f.model(ctx, a)
	if err != nil {
		return err
	}
	of, err := f.compared(m)
	if err != nil {
		return err
	}
	if err := atomic.Prepare(files...); err != nil {
		return err
	}
	p, err := m.Preparation()
	if err != nil {
		return err
	}
	if ext == ".onnx" {
		model, err := onnxnet.Export(m.Net, p)
		if err != nil {
			return err
		}
		if err := atomic.WriteFile(f.out, model.Write); err != nil {
			return err
		}
	} else {
		if err := writeWeights(f.out, m, p); err != nil {
			return err
		}
	}
	says, err := f.carry(a, m, of)
	if err != nil {
		return err
	}
	if says != nil {
		files = append(files, calibrationFile(f.out, false))
	}
	if ext != ".onnx" {
		card := func(w io.Writer) error { return writeCard(w, f, m, p, says) }
		if err := atomic.WriteFile(files[1], card); err != nil {
			return err
		}
	}
	in := m.Net.Spec().Input
	if a.json {
		return a.printJSON(map[string]any{"files": files, "input": in, "dim": m.Net.Dim()})
	}
	for _, path := range files {
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s: %s\n", path, budget.Format(st.Size()))
	}
	_, err = fmt.Fprintf(a.out, "images of %s in, %d values out\n", in, m.Net.Dim())
	return err
}

// carry puts the calibration of the network, if it has one, beside the file that was written,
// for that file, and returns it.
func (f *exportFlags) carry(a *app, m *run.Model, of *compared) (*decide.Calibration, error) {
	as, err := sourceOf(m, filepath.Base(f.out), f.out)
	if err != nil {
		return nil, err
	}
	to := calibrationFile(f.out, false)
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // of the network that the file held before
	}
	return a.carryCalibration(of, to, as)
}

// cardOfCalibration writes what the distances mean.
func cardOfCalibration(b *strings.Builder, c *decide.Calibration, file string) {
	fmt.Fprintf(b, "## Decisions\n\nWhat %s distances mean, learnt from %d photos of %d classes that training did not "+
		"see, is in `%s`. For new classes, in 95 of 100 cases:\n\n| false matches at most | distance | same pairs "+
		"matched |\n|---|---:|---:|\n", c.Distance, c.Photos, c.Classes, file)
	for _, rate := range []float64{1e-2, 1e-3, 1e-4} {
		if t, err := c.Threshold(rate); err == nil {
			fmt.Fprintf(b, "| %g | %.4g | %.1f %% |\n", rate, t.Distance, 100*t.TrueMatch)
		}
	}
	fmt.Fprintf(b, "\nThe probability that two photos show the same thing is off by %.3f on classes that it was not "+
		"fitted to (expected calibration error).\n\n", c.Reliability.ECE)
}

// writeWeights writes a safetensors file that describes itself.
func writeWeights(path string, m *run.Model, p onnxnet.Preparation) error {
	state := m.Net.State()
	spec, err := m.Net.Spec().JSON()
	if err != nil {
		return err
	}
	state.Meta = map[string]string{"format": "pt", "kindred.network": string(spec)}
	for _, e := range p.Entries(m.Net.Spec().Input) {
		state.Meta[e.Key] = e.Value
	}
	return atomic.WriteFile(path, state.Write)
}

// writeCard writes the model card: what the network is, of what it was made, how
// good it is, how to use it.
func writeCard(w io.Writer, f *exportFlags, m *run.Model, p onnxnet.Preparation, says *decide.Calibration) error {
	spec, cfg := m.Net.Spec(), &m.Config
	var values int64
	for _, q := range m.Net.Params() {
		if !q.Buffer {
			values += int64(len(q.Value))
		}
	}
	name := cmp.Or(spec.Name, "network")
	file := filepath.Base(f.out)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("---\nlibrary_name: kindred\ntags:\n- metric-learning\n- image-feature-extraction\n---\n")
	line("# %s\n", name)
	line("An embedding: similar things get vectors that are close together. Input: %s (height x width x channels); "+
		"output: %d values%s. %s trained values.\n", spec.Input, m.Net.Dim(), normalized(cfg), contents.Count(values))
	line("## Preparation\n")
	if words := p.Words(spec.Input); words != "" {
		line("%s.\n", words)
	} else {
		line("Vectors of %d features, as they are.\n", spec.Input.Len())
	}
	if f.run != "" {
		if err := cardOfRun(&b, f.run, cfg); err != nil {
			return err
		}
	}
	if says != nil {
		cardOfCalibration(&b, says, filepath.Base(calibrationFile(f.out, false)))
	}
	line("## Use\n")
	line("`%s` holds the weights under PyTorch's names and layout; its metadata hold the network's layers "+
		"(`kindred.network`, JSON) and the preparation. "+
		"`kindred export --out model.onnx` writes a model that runs by itself.\n", file)
	line("```python\nfrom safetensors import safe_open\n\nwith safe_open(%q, framework=\"pt\") as f:\n"+
		"    print(f.metadata()[\"preparation\"])\n    state = {k: f.get_tensor(k) for k in f.keys()}\n```", file)
	_, err := io.WriteString(w, b.String())
	return err
}

func normalized(cfg *run.Config) string {
	if cfg.Network.Normalize == run.On {
		return " of length 1"
	}
	return ""
}

// cardOfRun writes of what the network was made, and what came of it.
func cardOfRun(b *strings.Builder, dir string, cfg *run.Config) error {
	folder, err := run.Open(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "## Training\n\n")
	data := cmp.Or(cfg.Data.Name, filepath.Base(filepath.Clean(cfg.Data.Path)))
	fmt.Fprintf(b, "- data: %s, %s\n", data, cmp.Or(cfg.Data.Split, "its own split"))
	start := "from scratch"
	if cfg.Network.Pretrained != "" {
		start = "from " + filepath.Base(cfg.Network.Pretrained)
	}
	fmt.Fprintf(b, "- network: %s, %s\n", cmp.Or(cfg.Network.Name, "that of the file"), start)
	loss, err := json.Marshal(cfg.Loss)
	if err != nil {
		return err
	}
	mine, err := json.Marshal(cfg.Mine)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "- loss: `%s`, tuples: `%s`\n", loss, mine)
	fmt.Fprintf(b, "- %s, rate %g, epochs: %d, seed %d\n\n", cfg.Train.Optimizer, cfg.Train.LR, cfg.Train.Epochs,
		cfg.Train.Seed)
	scores, which := []train.Metric(nil), "after the last epoch"
	if c, err := folder.Checkpoint(); err == nil && c.Best != nil && c.Final != nil {
		scores, which = c.Final, fmt.Sprintf("after epoch %d, which was kept", c.Best.Epoch)
	}
	fmt.Fprintf(b, "## Scores\n\nOn the run's test samples, %s.\n\n| measure | value |\n|---|---:|\n", which)
	for _, m := range scores {
		fmt.Fprintf(b, "| %s | %.4g |\n", m.Key(), m.Value)
	}
	if scores == nil {
		h, err := folder.History()
		if err != nil {
			return err
		}
		for _, name := range h.Metrics() {
			v, err := h.Last(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "| %s | %.4g |\n", name, v)
		}
	}
	fmt.Fprintln(b)
	return nil
}
