package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/onnxnet"
)

// TestDistanceOfModels: embeddings are compared as the file of a network says, and else by
// the cosine; an export carries it along.
func TestDistanceOfModels(t *testing.T) {
	imported := func(path string) (*Model, rank.Distance) {
		t.Helper()
		m, _, err := Import(path, "", DataConfig{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := m.Distance()
		if err != nil {
			t.Fatal(err)
		}
		return m, d
	}
	saved := func(said string) string {
		t.Helper()
		meta := map[string]string{"pixels": "unit"}
		if said != "" {
			meta["distance"] = said
		}
		net, err := nn.New(&nn.Spec{Input: nn.Shape{H: 8, W: 8, C: 3}, Layers: []nn.Layer{{Kind: nn.GlobalAvgPool}},
			Meta: meta}, nn.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := net.Save(dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for said, want := range map[string]rank.Distance{"": rank.Cosine, "cosine": rank.Cosine,
		"euclidean": rank.Euclidean} {
		m, d := imported(saved(said))
		if d != want {
			t.Errorf("a network that says %q is compared by %v", said, d)
		}
		p, err := m.Preparation()
		if err != nil {
			t.Fatal(err)
		}
		model, err := onnxnet.Export(m.Net, p)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model.onnx")
		if err := atomic.WriteFile(path, model.Write); err != nil {
			t.Fatal(err)
		}
		if _, d := imported(path); d != want {
			t.Errorf("the export of one that says %q is compared by %v", said, d)
		}
	}
	if _, _, err := Import(saved("miles"), "", DataConfig{}); err == nil || !strings.Contains(err.Error(), "miles") {
		t.Errorf("compared by miles: %v", err)
	}
}

// TestDistanceOfRuns: embeddings of a run are compared as it was scored, and its network says
// so, too, where it is taken out of the folder.
func TestDistanceOfRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cfg := broughtConfig(t, "eval.distance=cosine", "network.normalize=false")
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newFeatures(6, 12, 8)}); err != nil {
		t.Fatal(err)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := m.Distance(); d != rank.Cosine || err != nil {
		t.Errorf("a run that was scored by the cosine is compared by %v, %v", d, err)
	}
	other := t.TempDir()
	for _, name := range []string{nn.SpecFile, nn.WeightsFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(other, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if net, err := nn.Load(other, nn.Options{}); err != nil || net.Spec().Meta["distance"] != "cosine" {
		t.Errorf("the network's description says nothing of it: %v", err)
	}
}
