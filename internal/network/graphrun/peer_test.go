package graphrun

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// envGraphs names a folder of graphs with an input and the output of ONNX Runtime for each.
const envGraphs = "KINDRED_GRAPHS"

type graphCase struct {
	Input       string `json:"input"`
	InputShape  []int  `json:"inputShape"`
	Output      string `json:"output"`
	OutputShape []int  `json:"outputShape"`
}

func readFloats(t *testing.T, path string) []float32 {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(raw)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return x
}

// TestGraphsOfPeers compares the graphs of a folder with ONNX Runtime.
func TestGraphsOfPeers(t *testing.T) {
	dir := os.Getenv(envGraphs)
	if dir == "" {
		t.Skip(envGraphs + ", a folder of graphs, is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no graphs in %s: %v", dir, err)
	}
	for _, path := range files {
		stem := strings.TrimSuffix(path, ".onnx")
		t.Run(filepath.Base(stem), func(t *testing.T) { compareGraph(t, stem) })
	}
}

func compareGraph(t *testing.T, stem string) {
	text, err := os.ReadFile(stem + ".json")
	if err != nil {
		t.Skip(err)
	}
	var g graphCase
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Read(stem + ".onnx")
	if err != nil {
		t.Fatal(err)
	}
	typ := onnx.Float32
	for _, in := range m.Graph.Inputs {
		if in.Name == g.Input {
			typ = in.Type
		}
	}
	p, err := Compile(m, Options{Input: g.Input, Shape: g.InputShape, Type: typ, Outputs: []string{g.Output}})
	if err != nil {
		t.Fatal(err)
	}
	var in *tensor.Tensor
	if raw, err := os.ReadFile(stem + ".in.i64"); err == nil {
		v := make([]int64, len(raw)/8)
		for i := range v {
			v[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
		}
		in = tensor.Integers(g.InputShape, v)
	} else if raw, err := os.ReadFile(stem + ".in.u8"); err == nil {
		v := make([]int64, len(raw))
		for i := range v {
			v[i] = int64(raw[i])
		}
		in = tensor.Integers(g.InputShape, v)
		in.Type = onnx.Uint8
	} else {
		in = tensor.Floats(g.InputShape, readFloats(t, stem+".in.f32"))
	}
	start := time.Now()
	out, err := p.RunTensor(in)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	want := readFloats(t, stem+".out.f32")
	exact := want
	if _, err := os.Stat(stem + ".f64.f32"); err == nil {
		exact = readFloats(t, stem+".f64.f32")
	}
	got := out[0].Floats
	if len(got) != len(want) {
		t.Fatalf("%d values of shape %d, want %d", len(got), out[0].Shape, len(want))
	}
	off, peer := distance(got, exact), distance(want, exact)
	d := distance(got, want)
	t.Logf("differs from ONNX Runtime by %.1e; from the truth by %.1e, ONNX Runtime by %.1e; %v; %d MB", d, off, peer,
		took, p.Peak()>>20)
	if !(d <= 3e-6 || off <= 3e-6) {
		t.Errorf("differs by %.2e", d)
	}
}

// distance is |a - b| / |b|.
func distance(a, b []float32) float64 {
	var diff, norm float64
	for i := range b {
		d := float64(a[i]) - float64(b[i])
		diff += d * d
		norm += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(diff / norm)
}
