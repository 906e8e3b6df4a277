package card

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
)

// newModel is a network for pictures, or for rows of 12 features.
func newModel(t *testing.T, in nn.Shape, normalize run.Switch) *run.Model {
	t.Helper()
	spec := &nn.Spec{Name: "tiny", Input: in,
		Layers: []nn.Layer{{Kind: nn.Flatten}, {Kind: nn.Dense, Name: "fc", Out: 2}}}
	if in.H == 1 {
		spec.Layers = spec.Layers[1:]
	}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	cfg := run.Default()
	cfg.Network.Normalize = normalize
	return &run.Model{Config: cfg, Net: net}
}

func writeCard(t *testing.T, c Card) string {
	t.Helper()
	var b strings.Builder
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWrite: the card says what goes in and comes out, counts trained values alone, and names the
// weights without their folder.
func TestWrite(t *testing.T) {
	c := Card{Model: newModel(t, nn.Shape{H: 2, W: 2, C: 3}, run.On), File: filepath.Join("secret", "m.safetensors")}
	text := writeCard(t, c)
	for _, want := range []string{"# tiny\n", "Input: 2 x 2 x 3", "2 values of length 1. 26 trained values",
		"## Preparation\n", `safe_open("m.safetensors"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, not := range []string{"secret", "## Training", "## Decisions", "Vectors of"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
	rows := Card{Model: newModel(t, nn.Shape{H: 1, W: 1, C: 12}, run.Off), File: "m.safetensors"}
	if text := writeCard(t, rows); !strings.Contains(text, "Vectors of 12 features, without preparation.") ||
		strings.Contains(text, "of length 1") {
		t.Error(text)
	}
	rows.Run = filepath.Join(t.TempDir(), "none")
	if err := rows.Write(&strings.Builder{}); err == nil {
		t.Error("a card of a run that is not there")
	}
}

// TestDecisions: thresholds are those that the calibration can promise, and no others.
func TestDecisions(t *testing.T) {
	const classes, each = 40, 4
	x, labels := matrix.New(classes*each, 2), make([]int64, classes*each)
	for i := range labels {
		labels[i] = int64(i / each)
		x.Row(i)[0], x.Row(i)[1] = float32(10*(i/each)), float32(i%each)
	}
	says, err := decide.Calibrate(t.Context(), x, labels, decide.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := Card{Model: newModel(t, nn.Shape{H: 1, W: 1, C: 12}, run.Off), File: "m.safetensors", Calibration: says,
		CalibrationFile: filepath.Join("secret", "m.calibration.json")}
	text := writeCard(t, c)
	for _, want := range []string{"160 photos of 40 classes", "`m.calibration.json`", "| 0.01 | "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if _, err := says.Threshold(1e-4); err == nil ||
		strings.Contains(text, "| 0.0001 |") || strings.Contains(text, "secret") {
		t.Error(text)
	}
}

// TestWeights: the metadata hold the network, which can be read again, and the preparation.
func TestWeights(t *testing.T) {
	m := newModel(t, nn.Shape{H: 2, W: 2, C: 3}, run.On)
	f, err := Weights(m)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := nn.ParseSpec([]byte(f.Meta["kindred.network"]))
	if err != nil || spec.Name != "tiny" || spec.Input != m.Net.Spec().Input {
		t.Errorf("%+v, %v", spec, err)
	}
	lines, err := m.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range lines {
		if f.Meta[key] != value {
			t.Errorf("%s is %q, want %q", key, f.Meta[key], value)
		}
	}
	if len(lines) == 0 || f.Meta["format"] != "pt" {
		t.Errorf("%v", f.Meta)
	}
}
