// Package card writes the model card of an exported network, and weights with the network's description.
package card

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/app/cli/contents"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// Card has the contents of a model card.
type Card struct {
	Model *run.Model
	File  string // file of the weights
	Run   string // folder of the run that made the network; "" without a run
	// Calibration is the calibration, nil without one. CalibrationFile is its file.
	Calibration     *decide.Calibration
	CalibrationFile string
}

// Weights returns the weights of a network, with its description and the preparation of its input in
// the metadata.
func Weights(m *run.Model) (*safetensors.File, error) {
	state := m.Net.State()
	spec, err := m.Net.Spec().JSON()
	if err != nil {
		return nil, err
	}
	if state.Meta, err = m.Metadata(); err != nil {
		return nil, err
	}
	state.Meta["format"], state.Meta["kindred.network"] = "pt", string(spec)
	return state, nil
}

// Write writes the card: the network, its training, its scores and how to use it.
func (c *Card) Write(w io.Writer) error {
	m := c.Model
	spec, cfg := m.Net.Spec(), &m.Config
	var values int64
	for _, q := range m.Net.Params() {
		if !q.Buffer {
			values += int64(len(q.Value))
		}
	}
	name := cmp.Or(spec.Name, "network")
	file := filepath.Base(c.File)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("---\nlibrary_name: kindred\ntags:\n- metric-learning\n- image-feature-extraction\n---\n")
	line("# %s\n", name)
	line("An embedding: similar things get vectors that are close together. Input: %s (height x width x channels); "+
		"output: %d values%s. %s trained values.\n", spec.Input, m.Net.Dim(), describeNormalization(cfg),
		contents.FormatCount(values))
	line("## Preparation\n")
	p, err := m.Preparation()
	if err != nil {
		return err
	}
	if words := p.String(); words != "" {
		line("%s.\n", words)
	} else {
		line("Vectors of %d features, without preparation.\n", spec.Input.Len())
	}
	if c.Run != "" {
		if err := writeTraining(&b, c.Run, cfg); err != nil {
			return err
		}
	}
	if c.Calibration != nil {
		writeDecisions(&b, c.Calibration, filepath.Base(c.CalibrationFile))
	}
	line("## Use\n")
	line("`%s` has the weights under PyTorch's names and layout; its metadata has the network's layers "+
		"(`kindred.network`, JSON) and the preparation. "+
		"`kindred export --out model.onnx` writes a model that runs by itself.\n", file)
	line("```python\nfrom safetensors import safe_open\n\nwith safe_open(%q, framework=\"pt\") as f:\n"+
		"    print(f.metadata()[\"preparation\"])\n    state = {k: f.get_tensor(k) for k in f.keys()}\n```", file)
	_, err = io.WriteString(w, b.String())
	return err
}

func describeNormalization(cfg *run.Config) string {
	if cfg.Network.Normalize == run.On {
		return " of length 1"
	}
	return ""
}

// writeTraining writes the settings of the training and its scores.
func writeTraining(b *strings.Builder, dir string, cfg *run.Config) error {
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
			v, err := h.LastValue(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "| %s | %.4g |\n", name, v)
		}
	}
	fmt.Fprintln(b)
	return nil
}

// writeDecisions writes the thresholds of the calibration.
func writeDecisions(b *strings.Builder, c *decide.Calibration, file string) {
	fmt.Fprintf(b, "## Decisions\n\nThe meaning of %s distances, learned from %d photos of %d classes that training "+
		"did not "+
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
