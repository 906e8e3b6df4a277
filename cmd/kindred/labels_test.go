package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
)

// Classes called 0 and 00 are two, in every command that reads labels.
func TestLabelsAreText(t *testing.T) {
	dir := t.TempDir()
	// The nearest neighbour of each item is of the other class.
	var x bytes.Buffer
	if err := embedding.WriteNPY(&x, matrix.FromSlice(4, 2, []float32{1, 0, 1, 0.1, 0, 1, 0.1, 1})); err != nil {
		t.Fatal(err)
	}
	e := filepath.Join(dir, "e.npy")
	if err := os.WriteFile(e, x.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	labels := func(names ...string) string {
		path := filepath.Join(dir, strings.Join(names, "_")+".csv")
		if err := os.WriteFile(path, []byte("path,label\n"+"a,"+strings.Join(names, "\nb,")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	digits, words := labels("0", "00", "0", "00"), labels("x", "y", "x", "y")

	code, out, errOut := runArgs(t, "eval", "--embeddings", e, "--labels", digits, "--metrics", "recall@1", "--format",
		"csv")
	if code != exitOK || !strings.Contains(out, "recall@1,label,0,4") {
		t.Errorf("eval: status %d, %s%s", code, out, errOut)
	}
	code, out, errOut = runArgs(t, "eval", "--embeddings", e, "--labels", digits, "--gallery", e, "--gallery-labels",
		digits, "--metrics", "recall@1", "--format", "csv")
	if code != exitOK || !strings.Contains(out, "recall@1,label,0,4") {
		t.Errorf("eval of a gallery: status %d, %s%s", code, out, errOut)
	}
	for _, args := range [][]string{
		{"loss", "--embeddings", e, "--loss", "contrastive"},
		{"diagnose", e},
		{"neighbours", "--embeddings", e, "--queries", "1", "--neighbours", "1", "--out", dir, "--force"},
	} {
		var got [2]map[string]any
		for i, y := range []string{digits, words} {
			code, out, errOut := runArgs(t, append(args, "--labels", y, "--json")...)
			if code != exitOK {
				t.Fatalf("%s: status %d, %s", args[0], code, errOut)
			}
			if err := json.Unmarshal([]byte(out), &got[i]); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range []string{"value", "tuples", "recall", "classes", "first_right", "compactness", "alignment",
			"triplets"} {
			a, _ := json.Marshal(got[0][key])
			b, _ := json.Marshal(got[1][key])
			a = bytes.ReplaceAll(bytes.ReplaceAll(a, []byte(`"00"`), []byte(`"y"`)), []byte(`"0"`), []byte(`"x"`))
			if !bytes.Equal(a, b) {
				t.Errorf("%s: %s is %s for the classes 0 and 00, %s for x and y", args[0], key, a, b)
			}
		}
	}
	code, _, errOut = runArgs(t, "map", "--embeddings", e, "--labels", digits, "--method", "pca", "--out", dir)
	if code != exitOK {
		t.Fatalf("map: %s", errOut)
	}
	text, err := os.ReadFile(filepath.Join(dir, "map.csv"))
	if err != nil || !strings.Contains(string(text), ",00,") {
		t.Errorf("map.csv: %s %v", text, err)
	}
}
