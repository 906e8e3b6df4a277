package graphrun

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// smallGraphs are those of testdata, which gen_graphs.py writes.
func smallGraphs(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no graphs: %v", err)
	}
	return files
}

var smallShape = []int{2, 4, 6, 6}

// smallInput is the input of run.js.
func smallInput() []float32 {
	x := make([]float32, 2*4*36)
	for i := range x {
		x[i] = float32(i*7919%509-254) / 128
	}
	return x
}

// compileAll prepares a graph of testdata with all its outputs.
func compileAll(t testing.TB, m *onnx.Model) (*Program, []string) {
	t.Helper()
	var names []string
	for _, o := range m.Graph.Outputs {
		names = append(names, o.Name)
	}
	p, err := Compile(m, Options{Input: "x", Shape: smallShape, Type: onnx.Float32, Outputs: names})
	if err != nil {
		t.Fatal(err)
	}
	return p, names
}

// bitsOf copies the values of outputs.
func bitsOf(list []*tensor.Tensor) (out [][]uint32) {
	for _, t := range list {
		b := make([]uint32, len(t.Floats))
		for i, v := range t.Floats {
			b[i] = math.Float32bits(v)
		}
		out = append(out, b)
	}
	return out
}

// The graphs of testdata give what ONNX Runtime gives, at every level of instructions; on 1, 2 and
// 5 cores, in a second run and in a second program they give the same bits.
func TestSmallGraphs(t *testing.T) {
	for _, path := range smallGraphs(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".onnx"), func(t *testing.T) {
			m, err := onnx.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			wants, err := safetensors.Read(strings.TrimSuffix(path, ".onnx") + ".safetensors")
			if err != nil {
				t.Fatal(err)
			}
			for _, level := range []simd.Level{simd.Generic, simd.NEON, simd.AVX2, simd.AVX512} {
				restore := simd.Force(level)
				if simd.Active() == level {
					compareSmall(t, m, wants)
				}
				restore()
			}
		})
	}
}

func compareSmall(t *testing.T, m *onnx.Model, wants *safetensors.File) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first [][]uint32
	for _, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		p, names := compileAll(t, m)
		for range 2 {
			out, err := p.Run(smallInput())
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				for i, name := range names {
					compareOutput(t, name, out[i], wants.Tensor(name))
				}
				first = bitsOf(out)
			} else if !slices.EqualFunc(first, bitsOf(out), slices.Equal[[]uint32]) {
				t.Errorf("%v: %d cores or a second run give other bits", simd.Active(), cores)
			}
		}
	}
}

func compareOutput(t *testing.T, name string, got *tensor.Tensor, want *safetensors.Tensor) {
	t.Helper()
	if want == nil {
		t.Fatalf("%s: nothing to compare it with", name)
	}
	values, err := wholeOrFloat(want)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Shape, want.Shape) || len(got.Floats) != len(values) {
		t.Errorf("%s: shape %d, want %d", name, got.Shape, want.Shape)
		return
	}
	if strings.HasPrefix(name, "whole") {
		if i := slices.IndexFunc(got.Floats, func(v float32) bool { return v != v }); i >= 0 ||
			!slices.Equal(got.Floats, values) {
			t.Errorf("%v: %s is %v, want %v", simd.Active(), name, got.Floats, values)
		}
		return
	}
	if d := distance(got.Floats, values); !(d <= 3e-6) && !slices.Equal(got.Floats, values) {
		t.Errorf("%v: %s differs by %.2e", simd.Active(), name, d)
	}
}

// wholeOrFloat reads a tensor of float32 or of bytes with a sign.
func wholeOrFloat(t *safetensors.Tensor) ([]float32, error) {
	if t.DType != "I8" {
		return t.Float32s()
	}
	v := make([]float32, len(t.Data))
	for i, b := range t.Data {
		v[i] = float32(int8(b))
	}
	return v, nil
}

// Every operator that is computed occurs in a graph of testdata.
func TestEveryOperatorHasAGraph(t *testing.T) {
	seen := map[string]bool{}
	var walk func(g *onnx.Graph)
	walk = func(g *onnx.Graph) {
		for _, n := range g.Nodes {
			seen[strings.TrimPrefix(n.Domain+"."+n.Op, ".")] = true
			for _, a := range n.Attrs {
				if a.Graph != nil {
					walk(a.Graph)
				}
			}
		}
	}
	for _, path := range smallGraphs(t) {
		m, err := onnx.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		walk(&m.Graph)
	}
	for op := range operators {
		if !seen[op] {
			t.Errorf("%s occurs in no graph of testdata", op)
		}
	}
	var size int64
	for _, pattern := range []string{"*.onnx", "*.safetensors"} {
		files, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
	}
	if size > 400_000 {
		t.Errorf("%d bytes in testdata: at most 400 kB", size)
	}
}

// A graph that is written and read again gives the same bits.
func TestSmallGraphsWrittenAgain(t *testing.T) {
	for _, path := range smallGraphs(t) {
		m, err := onnx.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := m.Write(&text); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		again, err := onnx.Parse([]byte(text.String()))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var bits []string
		for _, m := range []*onnx.Model{m, again} {
			p, _ := compileAll(t, m)
			out, err := p.Run(smallInput())
			if err != nil {
				t.Fatal(err)
			}
			bits = append(bits, fmt.Sprint(bitsOf(out)))
		}
		if bits[0] != bits[1] {
			t.Errorf("%s gives other bits once it is written", path)
		}
	}
}
