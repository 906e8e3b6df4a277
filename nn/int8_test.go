package nn_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// inputs draws n inputs.
func inputs(spec *nn.Spec, n int) []float32 {
	rnd := rand.New(rand.NewPCG(5, 6))
	x := make([]float32, n*spec.Input.Len())
	for i := range x {
		x[i] = float32(rnd.NormFloat64())
	}
	return x
}

// quantized calibrates a new network on x and returns it in float32 and in 8 bits.
func quantized(t *testing.T, spec *nn.Spec, x []float32, n int, choice nn.RangeChoice) (whole, bytes *nn.Net) {
	t.Helper()
	whole, err := nn.New(spec, nn.Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	c, err := nn.NewCalibration(whole)
	if err != nil {
		t.Fatal(err)
	}
	c.Add(x, n)
	q, err := c.Quantization(choice)
	if err != nil {
		t.Fatal(err)
	}
	if bytes, err = whole.Quantized(q); err != nil {
		t.Fatal(err)
	}
	return whole, bytes
}

// Every layer, and every way in which they are fused, agrees in 8 bits with float32 to
// what its rounding explains.
func TestInt8Layers(t *testing.T) {
	for name, spec := range netcases.Layers() {
		t.Run(name, func(t *testing.T) {
			const n = 3
			x := inputs(spec, n)
			whole, bytes := quantized(t, spec, x, n, nn.RangeChoice{Percentile: 100})
			want, got := slices.Clone(whole.Infer(x, n).Data), bytes.Infer(x, n).Data
			if d := distance(want, got); !(d < 0.1) {
				t.Errorf("differs by %.3g", d)
			}
		})
	}
}

func small(t *testing.T, name string) *nn.Spec {
	t.Helper()
	spec, err := zoo.Network(name, zoo.Options{Input: nn.Shape{H: 64, W: 64, C: 3}, Dim: 16, Multiple: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// What layers of 8 bits make is the same at every level of instructions and for any number
// of cores. The network ends in layers of 8 bits.
func TestInt8SameBits(t *testing.T) {
	for _, name := range []string{"resnet18", "resnet50", "mobilenet_v2"} {
		t.Run(name, func(t *testing.T) {
			spec := small(t, name)
			const n = 3
			x := inputs(spec, n)
			_, net := quantized(t, spec, x, n, nn.RangeChoice{})
			first := slices.Clone(net.Infer(x, n).Data)
			same := func(what string) {
				t.Helper()
				got := net.Infer(x, n).Data
				for i := range first {
					if math.Float32bits(first[i]) != math.Float32bits(got[i]) {
						t.Fatalf("%s: value %d is %g, before %g", what, i, got[i], first[i])
					}
				}
			}
			for _, procs := range []int{1, 5} {
				old := runtime.GOMAXPROCS(procs)
				same("cores")
				runtime.GOMAXPROCS(old)
			}
			for _, level := range []simd.Level{simd.AVX2, simd.Generic} {
				undo := simd.Force(level)
				same(level.String())
				undo()
			}
		})
	}
}

// The kinds of networks that people embed with keep their activations in bytes.
func TestInt8IsInBytes(t *testing.T) {
	for _, name := range []string{"resnet18", "mobilenet_v2"} {
		spec := small(t, name)
		x := inputs(spec, 1)
		whole, net := quantized(t, spec, x, 1, nn.RangeChoice{})
		if a, b := evalFloats(whole), evalFloats(net); 3*b > a {
			t.Errorf("%s: buffers of %d float32 for an image, in float32 %d", name, b, a)
		}
	}
}

func TestInt8NoAllocation(t *testing.T) {
	if !nn.Int8.IsFast() {
		t.Skip("the machine has no instructions for int8")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	spec := small(t, "resnet18")
	const n = 2
	x := inputs(spec, n)
	_, net := quantized(t, spec, x, n, nn.RangeChoice{})
	if allocs := testing.AllocsPerRun(5, func() { net.Infer(x, n) }); allocs > 0 {
		t.Errorf("%g allocations", allocs)
	}
}

func evalFloats(e *nn.Net) int {
	_, eval := e.ArenaSizes()
	return eval
}

// Filters are packed again after the parameters have been changed.
func TestInt8Repack(t *testing.T) {
	spec := small(t, "resnet18")
	x := inputs(spec, 1)
	whole, net := quantized(t, spec, x, 1, nn.RangeChoice{})
	before := slices.Clone(net.Infer(x, 1).Data)
	for i := range whole.Param("fc.weight").Value {
		whole.Param("fc.weight").Value[i] *= -1
	}
	if slices.Equal(before, net.Infer(x, 1).Data) == false {
		t.Error("filters were packed again without being told")
	}
	net.Repack()
	if slices.Equal(before, net.Infer(x, 1).Data) {
		t.Error("filters were not packed again")
	}
}

func TestInt8FloatLayers(t *testing.T) {
	spec := small(t, "resnet18")
	x := inputs(spec, 2)
	whole, net := quantized(t, spec, x, 2, nn.RangeChoice{Percentile: 100})
	q := net.Quantization()
	all := *q
	for _, r := range q.Ranges {
		all.Float = append(all.Float, r.Layer)
	}
	same, err := whole.Quantized(&all)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(whole.Infer(x, 2).Data)
	floats, bytes := distance(want, same.Infer(x, 2).Data), distance(want, net.Infer(x, 2).Data)
	if !(floats < 0.2*bytes) {
		t.Errorf("with all layers in float32 the result differs by %g, with none by %g", floats, bytes)
	}
}

func TestInt8Parts(t *testing.T) {
	spec := small(t, "resnet18")
	x := inputs(spec, 2)
	_, net := quantized(t, spec, x, 2, nn.RangeChoice{})
	body, err := net.Body()
	if err != nil {
		t.Fatal(err)
	}
	tail, err := net.Tail()
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(net.Infer(x, 2).Data)
	if d := distance(want, tail.Infer(body.Infer(x, 2).Data, 2).Data); !(d < 0.05) {
		t.Errorf("the parts differ by %.3g", d)
	}
}

func TestInt8SavesAndLoads(t *testing.T) {
	spec := small(t, "resnet18")
	x := inputs(spec, 2)
	_, net := quantized(t, spec, x, 2, nn.RangeChoice{Float: []string{"conv1"}})
	dir := t.TempDir()
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := nn.Load(dir, nn.Options{Precision: nn.Int8})
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.Clone(net.Infer(x, 2).Data); !slices.Equal(want, loaded.Infer(x, 2).Data) {
		t.Error("the loaded network differs")
	}
	if _, err := nn.Load(dir, nn.Options{}); err != nil {
		t.Errorf("in float32: %v", err)
	}
	q := *net.Quantization()
	q.Weights = strings.Repeat("0", 64)
	if _, err := nn.Load(dir, nn.Options{Precision: nn.Int8, Quantization: &q}); err == nil ||
		!strings.Contains(err.Error(), "other weights") {
		t.Errorf("ranges for other weights: %v", err)
	}
}

func TestQuantizationRefuses(t *testing.T) {
	spec := small(t, "resnet18")
	x := inputs(spec, 1)
	whole, net := quantized(t, spec, x, 1, nn.RangeChoice{})
	good, err := net.Quantization().JSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nn.ParseQuantization(good); err != nil {
		t.Fatal(err)
	}
	const head = `{"format":"kindred-quantization","version":1,"ranges":[{"layer":"a","low":0,"high":1}],`
	for what, text := range map[string]string{
		"format":          strings.Replace(string(good), "kindred-quantization", "other", 1),
		"version 2":       strings.Replace(string(good), `"version": 1`, `"version": 2`, 1),
		"unknown":         strings.Replace(string(good), `"version": 1`, `"version": 1, "more": 2`, 1),
		"twice":           strings.Replace(string(good), `"layer": "input"`, `"layer": "conv1"`, 1),
		"after":           string(good) + "{}",
		"no ranges":       `{"format":"kindred-quantization","version":1}`,
		"no layer":        strings.Replace(string(good), `"ranges"`, `"float": ["nothing"], "ranges"`, 1),
		"to correct":      head + `"corrections":[{"layer":"no","values":[1]}]}`,
		"corrected twice": head + `"corrections":[{"layer":"a","values":[1]},{"layer":"a","values":[1]}]}`,
		"before its":      head + `"before":[{"layer":"b","low":0,"high":1}]}`,
		"ranges from":     `{"format":"kindred-quantization","version":1,"ranges":[{"layer":"a","low":2,"high":1}]}`,
	} {
		if _, err := nn.ParseQuantization([]byte(text)); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := nn.New(spec, nn.Options{Precision: nn.Int8}); err == nil {
		t.Error("int8 without ranges passes")
	}
	if _, err := nn.New(spec, nn.Options{Quantization: net.Quantization()}); err == nil {
		t.Error("ranges in float32 pass")
	}
	if _, err := whole.Quantized(&nn.Quantization{Ranges: []nn.Range{{Layer: "elsewhere"}}}); err == nil {
		t.Error("ranges of another network pass")
	}
	c, err := nn.NewCalibration(whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Quantization(nn.RangeChoice{}); err == nil {
		t.Error("a calibration of nothing passes")
	}
	x[7] = float32(math.NaN())
	c.Add(x, 1)
	if _, err := c.Quantization(nn.RangeChoice{}); err == nil {
		t.Error("NaN passes")
	}
}

// The ranges of known values: all of them, all but the tails, and what costs least.
func TestRangeChoices(t *testing.T) {
	spec := &nn.Spec{Name: "x", Input: nn.Shape{H: 1, W: 1, C: 1000},
		Layers: []nn.Layer{{Kind: nn.Dense, Name: "fc", Out: 4}}}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := nn.NewCalibration(net)
	if err != nil {
		t.Fatal(err)
	}
	for batch := range 3 { // 0, 1, .. 2999, but the last of the values is far away
		x := make([]float32, 1000)
		for i := range x {
			x[i] = float32(1000*batch + i)
		}
		if batch == 2 {
			x[999] = 100000
		}
		c.Add(x, 1)
	}
	for choice, want := range map[float64][2]float32{100: {0, 100000}, 99: {30, 2969}} {
		q, err := c.Quantization(nn.RangeChoice{Percentile: choice})
		if err != nil {
			t.Fatal(err)
		}
		got := q.Ranges[0]
		if math.Abs(float64(got.Low-want[0])) > 40 || math.Abs(float64(got.High-want[1])) > 40 {
			t.Errorf("percentile %g: %g to %g, want %v", choice, got.Low, got.High, want)
		}
	}
	q, err := c.Quantization(nn.RangeChoice{})
	if err != nil {
		t.Fatal(err)
	}
	if r := q.Ranges[0]; r.High > 100000 || r.High < 2900 {
		t.Errorf("the least error is from %g to %g", r.Low, r.High)
	}
	for _, p := range []float64{50, 101, -1, math.NaN()} {
		if _, err := c.Quantization(nn.RangeChoice{Percentile: p}); err == nil {
			t.Errorf("percentile %g passes", p)
		}
	}
}

// After correction each channel's sums are on average those of float32, over the inputs of
// the calibration, and a network of depthwise layers is much closer.
func TestInt8Corrections(t *testing.T) {
	const n = 64 // as many as corrections are found on: few are a matter of luck
	one := &nn.Spec{Name: "x", Input: nn.Shape{H: 5, W: 6, C: 8}, Layers: []nn.Layer{
		{Kind: nn.Conv, Name: "c", Out: 8, Kernel: 3, Pad: 1, Groups: -1, NoBias: true}, {Kind: nn.GlobalAvgPool}}}
	x := inputs(one, n)
	for i := range x {
		x[i] += 2 // its rounded weights are off for that
	}
	whole, net := quantized(t, one, x, n, nn.RangeChoice{Percentile: 100})
	plain := *net.Quantization()
	if len(plain.Corrections) != 1 || len(plain.Corrections[0].Values) != 8 {
		t.Fatalf("corrections %v", plain.Corrections)
	}
	plain.Corrections = nil
	without, err := whole.Quantized(&plain)
	if err != nil {
		t.Fatal(err)
	}
	off := func(e *nn.Net) (most float64) {
		want, got := slices.Clone(whole.Infer(x, n).Data), e.Infer(x, n).Data
		for k := range 8 {
			sum := 0.0
			for i := range n {
				sum += float64(got[i*8+k]) - float64(want[i*8+k])
			}
			most = max(most, math.Abs(sum)/n)
		}
		return most
	}
	if a, b := off(net), off(without); !(a < 0.2*b) {
		t.Errorf("means are off by %g, without corrections by %g", a, b)
	}
	deep := small(t, "mobilenet_v1")
	y := inputs(deep, n)
	whole, net = quantized(t, deep, y, n, nn.RangeChoice{})
	plain = *net.Quantization()
	plain.Corrections = nil
	if without, err = whole.Quantized(&plain); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(whole.Infer(y, n).Data)
	if a, b := distance(want, net.Infer(y, n).Data), distance(want, without.Infer(y, n).Data); !(a < 0.7*b) {
		t.Errorf("the embeddings differ by %g, without corrections by %g", a, b)
	}
	wrong := *net.Quantization()
	wrong.Corrections = slices.Clone(wrong.Corrections)
	wrong.Corrections[3].Values = wrong.Corrections[3].Values[1:]
	if _, err := whole.Quantized(&wrong); err == nil || !strings.Contains(err.Error(), "corrections for") {
		t.Errorf("too few corrections: %v", err)
	}
}
