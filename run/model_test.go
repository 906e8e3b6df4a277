package run

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/nn"
)

func TestModelEmbedsAsTheRunDid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d := newBlobs(4, 20, 16)
	res, err := Train(t.Context(), smallConfig(t), Options{Dir: dir, Dataset: d})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := d.All()
	all, err := m.EmbedPart(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if all.X.Rows != d.Len() {
		t.Fatalf("%d embeddings of %d samples", all.X.Rows, d.Len())
	}
	for row, pos := range res.Test.Pos {
		i := res.Test.Part.Index[pos]
		if diff := cmp.Diff(res.Test.X.Row(row), all.X.Row(i)); diff != "" {
			t.Fatalf("sample %d: the loaded network disagrees with the trained one:\n%s", i, diff)
		}
	}
	var labels bytes.Buffer
	if err := all.WriteLabels(&labels); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(labels.String()), "\n")
	if len(lines) != d.Len()+1 || lines[0] != "path,label" || lines[1] != d.Names[0]+",0" {
		t.Errorf("labels start with %q, %q, %d lines", lines[0], lines[1], len(lines))
	}
	if _, err := m.EmbedPart(t.Context(), newFeatures(2, 4, 3).All()); err == nil ||
		!strings.Contains(err.Error(), "the network takes") {
		t.Errorf("features given to a network of images: %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "give the folder of a run") {
		t.Errorf("no folder: %v", err)
	}
	if _, err := Train(t.Context(), smallConfig(t), Options{Dir: dir, Dataset: newBlobs(4, 20, 16)}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "model.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "Options.Resume") {
		t.Errorf("a run without its network: %v", err)
	}
}

// TestFeatureFile trains from files as kindred train does.
func TestFeatureFile(t *testing.T) {
	dir := t.TempDir()
	d := newFeatures(6, 30, 12)
	var x, y bytes.Buffer
	if err := embedding.WriteNPY(&x, d.Features); err != nil {
		t.Fatal(err)
	}
	if err := embedding.WriteLabelsNPY(&y, d.Columns[0].IDs); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"x.npy": x.Bytes(), "x.labels.npy": y.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := Parse("", nil, "data.path="+filepath.Join(dir, "x.npy"), "network.dim=8", "train.epochs=5")
	if err != nil {
		t.Fatal(err)
	}
	res, err := Train(t.Context(), cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Config.Network.Name != "mlp" {
		t.Errorf("network %s for features", res.Config.Network.Name)
	}
	if _, err := res.LastEpoch().Metric("seen_recall@1"); err == nil {
		t.Error("samples trained on are scored as test samples of seen classes")
	}
	// Classes apart: none of the test classes was trained on.
	if r1, _ := res.LastEpoch().Metric("test_recall@1"); r1 < 0.7 {
		t.Errorf("Recall@1 %v on the clusters of classes not trained on", r1)
	}
}

func TestClassName(t *testing.T) {
	names := []string{"a", "b"}
	for id, want := range map[int64]string{-1: "-1", 0: "a", 1: "b", 2: "2"} {
		if got := className(names, id); got != want {
			t.Errorf("%d: %q, want %q", id, got, want)
		}
	}
}

// TestDistanceOfModels: embeddings are compared as the file of a network says, and else by
// the cosine; an export carries it along.
func TestDistanceOfModels(t *testing.T) {
	imported := func(path string) (*Model, eval.Distance) {
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
	for said, want := range map[string]eval.Distance{"": eval.Cosine, "cosine": eval.Cosine,
		"euclidean": eval.Euclidean} {
		m, d := imported(saved(said))
		if d != want {
			t.Errorf("a network that says %q is compared by %v", said, d)
		}
		p, err := m.preparation()
		if err != nil {
			t.Fatal(err)
		}
		model, err := onnxexport.Export(m.Net, p)
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
	cfg := customConfig(t, "eval.distance=cosine", "network.normalize=false")
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newFeatures(6, 12, 8)}); err != nil {
		t.Fatal(err)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := m.Distance(); d != eval.Cosine || err != nil {
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

// TestLight: a program that loads a run and embeds links neither a Parquet library
// nor one that draws, nor what the command is made of.
func TestLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	for _, heavy := range []string{"github.com/parquet-go/parquet-go", "gonum.org/v1/plot", "github.com/spf13/cobra",
		"github.com/kindred-ml/kindred/internal/page/report", "github.com/kindred-ml/kindred/projection", "net/http",
		"github.com/nats-io", "github.com/minio"} {
		for _, d := range deps {
			if d == heavy || strings.HasPrefix(d, heavy+"/") {
				t.Errorf("package run links %s", d)
			}
		}
	}
	for _, needed := range []string{"github.com/kindred-ml/kindred/train", "github.com/kindred-ml/kindred/nn"} {
		if !slices.Contains(deps, needed) {
			t.Errorf("go list tells of no %s among %d packages", needed, len(deps))
		}
	}
}
