package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kindred-ml/kindred/embedding"
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
	all, err := m.Embed(t.Context(), p)
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
	if _, err := m.Embed(t.Context(), newFeatures(2, 4, 3).All()); err == nil ||
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
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "--resume") {
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
	if _, err := res.Last().Metric("seen_recall@1"); err == nil {
		t.Error("samples trained on are scored as test samples of seen classes")
	}
	// Classes apart: none of the test classes was trained on.
	if r1, _ := res.Last().Metric("test_recall@1"); r1 < 0.7 {
		t.Errorf("Recall@1 %v on the clusters of classes not trained on", r1)
	}
}
