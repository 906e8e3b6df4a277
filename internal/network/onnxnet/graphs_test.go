package onnxnet

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
)

// envGraphs names a folder of ONNX models with an input and the output of ONNX Runtime for each:
// NAME.onnx, NAME.in.f32, NAME.out.f32 and NAME.json.
const envGraphs = "KINDRED_GRAPHS"

// TestGraphs imports the models of a folder up to their output, and compares the embeddings with those
// of ONNX Runtime, on 1, 2 and 5 cores.
func TestGraphs(t *testing.T) {
	dir := os.Getenv(envGraphs)
	if dir == "" {
		t.Skip(envGraphs + ", a folder of models, is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no models in %s: %v", dir, err)
	}
	var layers, whole int
	for _, path := range files {
		stem := strings.TrimSuffix(path, ".onnx")
		t.Run(filepath.Base(stem), func(t *testing.T) {
			if frozen := compareModel(t, stem); frozen {
				whole++
			} else if !t.Failed() && !t.Skipped() {
				layers++
			}
		})
	}
	t.Logf("%d are networks of layers, %d run as they stand", layers, whole)
}

func compareModel(t *testing.T, stem string) (frozen bool) {
	var c struct {
		InputShape []int
		Output     string
	}
	text, err := os.ReadFile(stem + ".json")
	if err != nil {
		t.Skip(err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.InputShape) == 2 {
		compareTokens(t, stem, c.InputShape[1])
		return true
	}
	if len(c.InputShape) != 4 {
		t.Skip("it takes no image")
	}
	net, err := Read(stem+".onnx", Options{Cut: c.Output, Size: c.InputShape[2]})
	if err != nil {
		t.Fatal(err)
	}
	in := net.Spec.Input
	var given []float32
	if raw, err := os.ReadFile(stem + ".in.u8"); err == nil {
		for _, v := range raw {
			given = append(given, float32(v))
		}
	} else {
		given = floats(t, stem+".in.f32")
	}
	want := floats(t, stem+".out.f32")
	x := given
	if in.C == c.InputShape[1] && c.InputShape[3] != in.C || c.InputShape[1] == in.C {
		x = make([]float32, len(given))
		for i, v := range given {
			ch, p := i/(in.H*in.W), i%(in.H*in.W)
			x[p*in.C+ch] = v
		}
	}
	var first []float32
	for _, cores := range []int{1, 2, 5} {
		old := goruntime.GOMAXPROCS(cores)
		made, err := nn.New(net.Spec, nn.Options{})
		if err == nil {
			err = made.SetState(net.Weights)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Clone(made.Infer(x, 1).Row(0))
		goruntime.GOMAXPROCS(old)
		if first == nil {
			first = got
		}
		if !slices.Equal(first, got) {
			t.Errorf("%d cores give other bits", cores)
		}
	}
	if len(first) != len(want) {
		t.Skipf("its output is pooled: %d values of %d", len(first), len(want))
	}
	off := distance(want, first)
	t.Logf("frozen %v: differs by %.1e; notes %q", net.Frozen, off, net.Notes)
	if !(off <= 3e-6) && net.Frozen {
		t.Errorf("differs by %.2e", off)
	}
	return net.Frozen
}

// compareTokens is compareModel for a model of tokens.
func compareTokens(t *testing.T, stem string, tokens int) {
	m, err := ReadTokens(stem+".onnx", tokens)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(stem + ".in.i64")
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int32, len(raw)/8)
	for i := range ids {
		ids[i] = int32(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	got, err := m.Embed(ids)
	if err != nil {
		t.Fatal(err)
	}
	want := floats(t, stem+".out.f32")
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	off := distance(want, got)
	if t.Logf("tokens: differs by %.1e", off); !(off <= 3e-6) {
		t.Errorf("differs by %.2e", off)
	}
}
