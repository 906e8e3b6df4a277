package nn

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

// TestStartValues: weights start as their init says, from the number of inputs
// or of outputs that a value is connected to; biases with them by default and
// at 0 otherwise; normalizations as the identity.
func TestStartValues(t *testing.T) {
	const c, k, out = 8, 3, 96
	in := Shape{H: 4, W: 5, C: c}
	for _, init := range []Init{InitDefault, InitKaimingOut, InitSmall} {
		for _, groups := range []int{1, 4} {
			spec := &Spec{Name: "s", Input: in, Layers: []Layer{
				{Kind: Conv, Name: "conv", Out: out, Kernel: k, Pad: 1, Groups: groups, Init: init},
				{Kind: BatchNorm, Name: "bn"},
				{Kind: Flatten},
				{Kind: Dense, Name: "fc", Out: 40, Init: init},
			}}
			net, err := New(spec, Options{Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			fans := map[string][2]float64{ // inputs of a value, outputs of an input
				"conv": {k * k * c / float64(groups), k * k * out / float64(groups)},
				"fc":   {4 * 5 * out, 40},
			}
			for _, p := range net.Params() {
				var sq, largest float64
				for _, v := range p.Value {
					sq += float64(v) * float64(v) / float64(len(p.Value))
					largest = math.Max(largest, math.Abs(float64(v)))
				}
				std := math.Sqrt(sq)
				layer, what, _ := bytes.Cut([]byte(p.Name), []byte("."))
				if string(layer) == "bn" {
					want := float32(0)
					if string(what) == "weight" || string(what) == "running_var" {
						want = 1
					}
					for _, v := range p.Value {
						if v != want {
							t.Fatalf("%s starts at %v, want %v", p.Name, v, want)
						}
					}
					continue
				}
				fan, slack := fans[string(layer)], 0.06
				bias := string(what) == "bias"
				if bias {
					slack = 0.35 // few numbers
				}
				var want float64
				switch {
				case init == InitDefault:
					bound := 1 / math.Sqrt(fan[0])
					want = bound / math.Sqrt(3)
					if largest > bound || largest < 0.8*bound {
						t.Errorf("%s, %d groups: up to %v, want %v", p.Name, groups, largest, bound)
					}
				case bias:
				case init == InitKaimingOut:
					want = math.Sqrt(2 / fan[1])
				default:
					want = 0.01
				}
				if math.Abs(std-want) > slack*want {
					t.Errorf("%s, init %q, %d groups: deviation %v, want %v", p.Name, init, groups, std, want)
				}
			}
		}
	}
}

// TestLongestSpec: a description as long as any that is read.
func TestLongestSpec(t *testing.T) {
	s := &Spec{Name: "one", Input: Shape{H: 1, W: 1, C: 3}, Layers: []Layer{{Kind: Dense, Name: "fc", Out: 2}}}
	b, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, bytes.Repeat([]byte(" "), maxSpec-len(b))...)
	if _, err := ParseSpec(b); err != nil {
		t.Error(err)
	}
	if _, err := ParseSpec(append(b, ' ')); err == nil {
		t.Error("a longer one was read")
	}
}

// TestSumChunks: sums over any number of rows are of few parts, that cover every
// row once.
func TestSumChunks(t *testing.T) {
	for rows := 1; rows < 700; rows++ {
		for _, cols := range []int{1, 10, 1024, 5000} {
			var task rowTask
			s1, s2 := make([]float32, cols), make([]float32, cols)
			task.runSums(rows, cols, func(t *rowTask, chunk, lo, hi int) {
				clear(t.part[2*t.cols*chunk : 2*t.cols*(chunk+1)])
				t.part[2*t.cols*chunk] = float32(hi - lo)
				t.part[2*t.cols*chunk+t.cols] = 1
			}, s1, s2)
			if s1[0] != float32(rows) || s2[0] < 1 || s2[0] > maxSumChunks {
				t.Fatalf("%d x %d: %v rows in %v parts", rows, cols, s1[0], s2[0])
			}
		}
	}
}

// A parameter that a network of one's own is made of has one layout.
func TestParamOfOnesOwn(t *testing.T) {
	p := &Param{Name: "gain", Shape: []int{3}, Value: []float32{1, 2, 3}}
	torch := make([]float32, 3)
	p.ToTorch(torch)
	p.Value = make([]float32, 3)
	p.FromTorch(torch)
	if !slices.Equal(torch, []float32{1, 2, 3}) || !slices.Equal(p.Value, torch) {
		t.Errorf("written %v, read %v", torch, p.Value)
	}
}
