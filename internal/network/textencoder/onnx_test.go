package textencoder

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// graphTower writes a folder with the tokenizer and the configuration of CLIP's test tower and an ONNX model: the sum
// of the tokens' rows of a table of rows.
func graphTower(t *testing.T, name string, rows int) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{"config.json", "tokenizer.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "clip", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	table := make([]float32, 3*rows)
	for i := range table {
		table[i] = float32(i%7) - 2
	}
	batch := onnx.Dim{Name: "batch"}
	m := &onnx.Model{Opsets: []onnx.Opset{{Version: 17}}, Graph: onnx.Graph{
		Inputs: []onnx.Value{{Name: "input_ids", Type: onnx.Int64, Shape: []onnx.Dim{batch, {Name: "tokens"}}}},
		Initializers: []onnx.Tensor{onnx.Floats("table", []int64{int64(rows), 3}, table),
			onnx.Ints("axis", []int64{1}, []int64{1})},
		Nodes: []onnx.Node{{Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"rows"}},
			{Op: "ReduceSum", Inputs: []string{"rows", "axis"}, Outputs: []string{"text_embeds"},
				Attrs: []onnx.Attr{{Name: "keepdims", Type: onnx.AttrInt}}}},
		Outputs: []onnx.Value{{Name: "text_embeds", Type: onnx.Float32}},
	}}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A folder without weights may hold the tower as an ONNX model.
func TestTowerAsGraph(t *testing.T) {
	layers, err := Open(filepath.Join("testdata", "clip"))
	if err != nil {
		t.Fatal(err)
	}
	rows := int(layers.shape.vocab)
	for _, name := range []string{"text_model.onnx", "onnx/text_model.onnx"} {
		dir := graphTower(t, name, rows)
		tower, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !IsTower(dir) || tower.Dim() != 3 {
			t.Errorf("%s: %d numbers", name, tower.Dim())
		}
		texts := []string{"a red boot", "", strings.Repeat("boot ", 200)}
		got, err := tower.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		ids, _, err := tower.tokenIDs(texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, list := range ids {
			want := make([]float32, 3)
			for _, id := range list {
				for k := range want {
					want[k] += float32((int(id)*3+k)%7) - 2
				}
			}
			if !slices.Equal(got.Row(i), want) {
				t.Errorf("%s: %q is %v, want %v", name, texts[i], got.Row(i), want)
			}
		}
		if _, err := Checksum(dir); err != nil {
			t.Error(err)
		}
		if p, err := tower.Labels(t.Context(), []string{"boot", "red"}, []string{Template}); err != nil || p == nil {
			t.Errorf("labels: %v", err)
		}
	}
	if _, err := Open(graphTower(t, "text_model.onnx", 2)); err != nil {
		t.Fatal(err) // the model does not say how many tokens it knows
	}
	few, err := Open(graphTower(t, "text_model.onnx", 2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := few.Embed(t.Context(), []string{"a red boot"}); err == nil || !strings.Contains(err.Error(), "index") {
		t.Errorf("a table of two tokens: %v", err)
	}
}
