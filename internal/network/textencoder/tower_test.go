package textencoder

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/torchfile"
	"github.com/kindred-ml/kindred/internal/test/mutations"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
)

// reference is what testdata/make_reference.py wrote.
type reference struct {
	Texts      []string
	Embeddings map[string][][]float64
}

func readReference(t *testing.T) (ref reference) {
	t.Helper()
	text, err := os.ReadFile("testdata/embeddings.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &ref); err != nil || len(ref.Embeddings) != 4 {
		t.Fatal(ref, err)
	}
	return ref
}

// TestReference: embeddings are those of PyTorch.
func TestReference(t *testing.T) {
	ref := readReference(t)
	for name, want := range ref.Embeddings {
		tower, err := Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := tower.Embed(t.Context(), ref.Texts)
		if err != nil {
			t.Fatal(err)
		}
		if tower.Dim() != len(want[0]) || got.Rows != len(ref.Texts) {
			t.Fatalf("%s: %d numbers for %d texts", name, tower.Dim(), got.Rows)
		}
		var most, scale float64
		for i := range want {
			for k, v := range want[i] {
				most, scale = max(most, math.Abs(v-float64(got.Row(i)[k]))), max(scale, math.Abs(v))
			}
		}
		t.Logf("%s: farthest from PyTorch by %.2g of %.2g", name, most, scale)
		if !(most <= 3e-6*max(1, scale)) {
			t.Errorf("%s: %g from PyTorch's, which are up to %g", name, most, scale)
		}
	}
}

// copyWithChange copies a folder of testdata with the text of one file replaced.
func copyWithChange(t *testing.T, from, file, old, by string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", from))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q: %v", path, old, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, by, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestOpenRefuses: errors name the file, and what is wrong.
func TestOpenRefuses(t *testing.T) {
	_, err := Open(t.TempDir())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Error(err)
	}
	for _, c := range []struct{ from, file, old, by, want string }{
		{"clip", "config.json", "clip_text_model", "bert", `model_type is "bert": must be clip`},
		{"clip", "config.json", `"gelu"`, `"mish"`, `hidden_act is mish: must be`},
		{"clip", "config.json", `heads": 2`, `heads": 3`, "3 heads"},
		{"clip", "config.json", `heads": 2`, `heads": -2`, "heads"},
		{"clip", "config.json", "{", "[", "config.json: byte"},
		{"clip", "tokenizer.json", `"BPE"`, `"Word"`, `the type "Word" is not supported`},
		{"openclip", "open_clip_config.json", `"context`, `"hf_model_name": "x", "context`, "hf_model_name is x"},
		{"siglip", "tokenizer_config.json", "{", "", "tokenizer_config.json: byte"},
		{"siglip", "model.safetensors", "layers.1.self_attn.v_proj.bias", "layers.1.self_attn.v_proj.bia_",
			"the tensor text_model.encoder.layers.1.self_attn.v_proj.bias is missing"},
		{"siglip", "model.safetensors", "text_model.head.bias", "text_model.Head.bias", ""},
		{"siglip", "model.safetensors", "text_model.head.weight", "text_model.Head.weight",
			"no text tower with a projection"},
		{"siglip", "model.safetensors", `self_attn.q_proj.weight": {"dtype": "F32", "shape": [16, 16]`,
			`self_attn.q_proj.weight": {"dtype": "F32", "shape": [8, 32] `, "shape [8 32], not"},
	} {
		_, err := Open(copyWithChange(t, c.from, c.file, c.old, c.by))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.file, c.by, err, c.want)
		}
	}
}

// TestEnd: the first configurations of CLIP name another end than the tokenizer's, and the largest id is taken then.
func TestEnd(t *testing.T) {
	texts := []string{"a red boot"}
	embed := func(dir string) []float32 {
		tower, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tower.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		return got.Row(0)
	}
	is := embed("testdata/clip")
	if !slices.Equal(is, embed(copyWithChange(t, "clip", "config.json", `"eos_token_id": 513`, `"eos_token_id": 2`))) {
		t.Error("2 is not the largest id")
	}
	if slices.Equal(is, embed(copyWithChange(t, "clip", "config.json", `"eos_token_id": 513`, `"eos_token_id": 512`))) {
		t.Error("the end is taken elsewhere, and nothing changes")
	}
}

// TestPadding: texts are padded by the token that the tokenizer's files name, and the padding counts.
func TestPadding(t *testing.T) {
	var rows [][]float32
	for _, dir := range []string{"testdata/siglip",
		copyWithChange(t, "siglip", "tokenizer_config.json", `"</s>"`, `{"content": "</s>"}`),
		copyWithChange(t, "siglip", "tokenizer_config.json", "</s>", "<pad>")} {
		tower, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tower.Embed(t.Context(), []string{"a red boot"})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, got.Row(0))
	}
	if !slices.Equal(rows[0], rows[1]) || slices.Equal(rows[0], rows[2]) {
		t.Error(rows)
	}
}

// TestCanonical: SigLIP's texts have neither capitals nor punctuation, whatever the tokenizer does.
func TestCanonical(t *testing.T) {
	tower, err := Open("testdata/siglip") // its tokenizer leaves capitals and most punctuation
	if err != nil {
		t.Fatal(err)
	}
	got, err := tower.Embed(t.Context(), []string{"a redboot", " A  (Red-Boot)?\n", "a red boot"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Row(0), got.Row(1)) || slices.Equal(got.Row(0), got.Row(2)) {
		t.Error(got)
	}
}

// TestForeignTokenizer: a token beyond the weights is an error.
func TestForeignTokenizer(t *testing.T) {
	tower, err := Open(copyWithChange(t, "clip", "tokenizer.json", `"a</w>": 320`, `"a</w>": 3200`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = tower.Embed(t.Context(), []string{"a"})
	if err == nil || !strings.Contains(err.Error(), "of another network") {
		t.Error(err)
	}
	if _, err := tower.Embed(t.Context(), []string{"b"}); err != nil {
		t.Error(err)
	}
}

// TestSameBits: the number of cores, other texts in the same call and other calls at the same time change nothing.
func TestSameBits(t *testing.T) {
	ref := readReference(t)
	tower, err := Open("testdata/both")
	if err != nil {
		t.Fatal(err)
	}
	embed := func(texts []string) *matrix.Dense {
		got, err := tower.Embed(t.Context(), texts)
		if err != nil {
			t.Error(err)
		}
		return got
	}
	texts := slices.Repeat(ref.Texts, 5) // more than are computed together
	want := embed(texts)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if !slices.Equal(embed(texts).Data, want.Data) {
		t.Error("one core")
	}
	runtime.GOMAXPROCS(4)
	var all sync.WaitGroup
	for i := range texts {
		all.Go(func() {
			if !slices.Equal(embed(texts[i:i+1]).Row(0), want.Row(i)) {
				t.Errorf("text %d alone", i)
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tower.Embed(ctx, texts); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSum: the digest is of all three files.
func TestSum(t *testing.T) {
	sums := map[string]bool{}
	for _, dir := range []string{"testdata/clip", copyWithChange(t, "clip", "config.json", "gelu", "quick_gelu"),
		copyWithChange(t, "clip", "tokenizer.json", "NFC", "Lowercase"),
		copyWithChange(t, "clip", "model.safetensors", "F32", "F32 ")} {
		sum, err := Checksum(dir)
		if err != nil || len(sum) != 64 {
			t.Fatal(sum, err)
		}
		sums[sum] = true
	}
	if len(sums) != 4 {
		t.Error(sums)
	}
	if !IsTower("testdata/clip") || IsTower(t.TempDir()) {
		t.Error("Is")
	}
	if _, err := Checksum(t.TempDir()); err == nil {
		t.Error("the sum of nothing")
	}
}

func TestUnit(t *testing.T) {
	m := matrix.FromSlice(2, 2, []float32{3, 4, 0, -2})
	if err := NormalizeRows(m); err != nil || !slices.Equal(m.Data, []float32{0.6, 0.8, 0, -1}) {
		t.Error(m.Data, err)
	}
	for _, v := range []float32{0, float32(math.Inf(1)), float32(math.NaN())} {
		if err := NormalizeRows(matrix.FromSlice(1, 2, []float32{0, v})); err == nil {
			t.Error(v)
		}
	}
}

func TestMutations(t *testing.T) {
	var valid []string
	for _, file := range []string{"clip/config.json", "both/config.json", "siglip/config.json",
		"openclip/open_clip_config.json", "siglip/tokenizer_config.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		valid = append(valid, string(text))
	}
	mutations.Try(t,
		mutations.Reader{Name: "configuration of a text tower", Valid: valid[:4], Read: func(text []byte) error {
			s, err := parseConfig(text)
			if err != nil {
				return err
			}
			f, err := torchfile.ReadWeights("testdata/clip/model.safetensors")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = buildLayers(f, &s)
			return nil
		}},
		mutations.Reader{Name: "padding of a text tower", Valid: valid[4:], Read: func(text []byte) error {
			_, err := parsePadToken(text)
			return err
		}})
}

// TestFits: a network with the weights of the image tower in the same file fits, and one that was trained further does
// not.
func TestFits(t *testing.T) {
	tower, err := Open("testdata/both")
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(&nn.Spec{Input: nn.Shape{H: 1, W: 1, C: 4},
		Layers: []nn.Layer{{Kind: nn.LayerNorm, Name: "norm"}, {Kind: nn.Flatten}}}, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tower.CheckImageTower(net); err != nil {
		t.Error(err)
	}
	net.Param("norm.weight").Value[2] = 1.0001
	if err := tower.CheckImageTower(net); err == nil || !strings.Contains(err.Error(), "norm.weight has other values") {
		t.Error(err)
	}
	other, err := Open("testdata/clip") // it has no image tower
	if err != nil {
		t.Fatal(err)
	}
	if err := other.CheckImageTower(net); err != nil {
		t.Error(err)
	}
}
