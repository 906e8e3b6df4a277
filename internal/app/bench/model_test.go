package bench

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/nn"
)

// newEvaluation is a case whose network is small, with its images.
func newEvaluation(t *testing.T) (c Case, net *nn.Net, images []float32) {
	in := nn.Shape{H: 3, W: 2, C: 2}
	spec := &nn.Spec{Name: "toy", Input: in, Layers: []nn.Layer{
		{Kind: nn.Conv, Name: "conv", Out: 4, Kernel: 3, Pad: 1}, {Kind: nn.Flatten},
		{Kind: nn.Dense, Name: "fc", Out: 3}}}

	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	images = uniformValues(2*in.Len(), 1)
	c = quickCase("evaluation")
	c.Network = func() (*nn.Net, []float32, int) { return net, images, 2 }
	return c, net, images
}

// TestPeersReadTheNetwork checks what a peer finds in its folder: the network that the case times, and
// its images with the channels in front.
func TestPeersReadTheNetwork(t *testing.T) {
	c, net, images := newEvaluation(t)
	folder, err := writeNetwork(c)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	read, err := onnxnet.Read(filepath.Join(folder, "model.onnx"), onnxnet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	twin, err := nn.New(read.Spec, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := twin.SetState(read.Weights); err != nil {
		t.Fatal(err)
	}
	want := net.Infer(images, 2)
	for i, v := range twin.Infer(images, 2).Data {
		if math.Abs(float64(v-want.Data[i])) > 1e-5 {
			t.Errorf("value %d of the exported network is %v, want %v", i, v, want.Data[i])
		}
	}
	turned, err := readFloats(filepath.Join(folder, "images.f32"))
	if err != nil || len(turned) != len(images) {
		t.Fatalf("%d values of images, want %d; %v", len(turned), len(images), err)
	}
	for image := range 2 {
		for row := range 3 {
			for column := range 2 {
				for channel := range 2 {
					got := turned[((image*2+channel)*3+row)*2+column]
					if want := images[((image*3+row)*2+column)*2+channel]; got != want {
						t.Errorf("image %d, channel %d, row %d, column %d: %v, want %v", image, channel, row, column,
							got, want)
					}
				}
			}
		}
	}
}

// reader is a peer that reads networks. It takes what comes out from the file OUTPUT.
const reader = `test "$1" = --serve && test -s "$3/model.onnx" && test -s "$3/images.f32" || exit 1
echo "$3" >"$SEEN"
test -z "$OUTPUT" || cp "$OUTPUT" "$3/embeddings.f32"
echo '{"variants": ["evaluation"]}'
while read line; do echo '{"ms": 2}'; done
`

// TestPeersComputeTheSame times a network only beside a peer that computes what kindred does.
func TestPeersComputeTheSame(t *testing.T) {
	c, net, images := newEvaluation(t)
	right := slices.Clone(net.Infer(images, 2).Data)
	wrong, broken := slices.Clone(right), slices.Clone(right)
	var largest float32
	for _, v := range right {
		largest = max(largest, v, -v)
	}
	wrong[1] += 0.01 * largest
	broken[0] = float32(math.NaN())
	short := right[:5]
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	for name, tc := range map[string]struct {
		output []float32
		err    string
	}{
		"right": {right, ""}, "wrong": {wrong, "does not compute the same"}, "short": {short, "5 values, kindred's 6"},
		"broken": {broken, "does not compute the same"}, "none": {nil, "embeddings.f32"},
	} {
		p := shellPeer(t, reader)
		p.Setting = Setting{Models: true, Env: map[string]string{"SEEN": seen, "OUTPUT": ""}}
		if tc.output != nil {
			p.Setting.Env["OUTPUT"] = filepath.Join(dir, name)
			if err := writeFloats(p.Setting.Env["OUTPUT"], tc.output); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Run(context.Background(), c, p)
		if tc.err == "" && (err != nil || r.Peer == nil || r.Peer.MedianMS != 2) {
			t.Errorf("%s: %+v, %v", name, r.Peer, err)
		}
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: error %v, want one with %q", name, err, tc.err)
		}
		folder, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(strings.TrimSpace(string(folder))); !os.IsNotExist(err) {
			t.Errorf("%s: the folder %s is still there: %v", name, folder, err)
		}
	}
	// Work without a network it does not have.
	p := shellPeer(t, reader)
	p.Setting.Models = true
	if r, err := Run(context.Background(), quickCase("gemm"), p); err != nil || r.Peer != nil {
		t.Errorf("a case without a network: %+v, %v", r, err)
	}
}

// TestPeersRead8Bits checks that a peer evaluates a network of 8 bits in 8 bits, to a wider bound.
func TestPeersRead8Bits(t *testing.T) {
	c, net, images := newEvaluation(t)
	c8, err := nn.NewCalibration(net)
	if err != nil {
		t.Fatal(err)
	}
	c8.Add(images, 2)
	q, err := c8.Quantization(nn.RangeChoice{Percentile: 100})
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := net.Quantized(q)
	if err != nil {
		t.Fatal(err)
	}
	c.Network = func() (*nn.Net, []float32, int) { return bytes, images, 2 }
	folder, err := writeNetwork(c)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	model, err := os.ReadFile(filepath.Join(folder, "model.onnx"))
	if err != nil || !strings.Contains(string(model), "QuantizeLinear") {
		t.Errorf("the model is not in 8 bits; %v", err)
	}
	dir := t.TempDir()
	var largest float32
	right := slices.Clone(bytes.Infer(images, 2).Data)
	for _, v := range right {
		largest = max(largest, v, -v)
	}
	for off, want := range map[float32]bool{0.04: true, 0.06: false} {
		p := shellPeer(t, reader)
		out := filepath.Join(dir, "output")
		p.Setting = Setting{Models: true, Env: map[string]string{"SEEN": filepath.Join(dir, "seen"), "OUTPUT": out}}
		near := slices.Clone(right)
		near[0] += off * largest
		if err := writeFloats(out, near); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), c, p); (err == nil) != want {
			t.Errorf("values off by %v of the largest: %v", off, err)
		}
	}
}

// TestEvaluationsHaveNetworks checks which cases peers can read: evaluations but in bfloat16.
func TestEvaluationsHaveNetworks(t *testing.T) {
	for _, c := range Cases() {
		want := strings.Contains(c.Name, "-infer-") && !strings.HasSuffix(c.Name, "-bf16")
		if (c.Network != nil) != want {
			t.Errorf("%s: a network to read: %v, want %v", c.Name, c.Network != nil, want)
		}
	}
}
