package zoo_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// newViT makes a small transformer for images of h x w on patches of 8.
func newViT(t *testing.T, h, w, depth int, seed uint64) *nn.Net {
	t.Helper()
	spec, err := zoo.Network("vit_t16", zoo.Options{Input: nn.Shape{H: h, W: w, C: 3}, Dim: 4, Width: 2, Heads: 1,
		Depth: depth, Patch: 8})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// TestPositionsFitOtherSizes compares tables of position embeddings that were made
// to fit another grid with what PyTorch makes of them as timm and DINO call it.
func TestPositionsFitOtherSizes(t *testing.T) {
	ref, err := safetensors.Read("../testdata/positions.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ref.Tensors {
		how, sizes, _ := strings.Cut(r.Name, ":")
		var side, h, w int
		if _, err := fmt.Sscanf(sizes, "%d:%dx%d", &side, &h, &w); err != nil {
			t.Fatal(err)
		}
		from, to := newViT(t, 8*side, 8*side, 1, 1), newViT(t, 8*h, 8*w, 1, 2)
		class := []float32{5, 6}
		copy(from.Param("pos_embed").Value, append(slices.Clone(class), netcases.Values("positions", side*side*2)...))
		report, err := zoo.Import(to, from.State(), zoo.ImportOptions{Positions: zoo.Resample(how)})
		if err != nil {
			t.Fatal(err)
		}
		if h == w && h == side && len(report.Adapted) > 0 || !slices.Equal(report.Adapted, []string{"pos_embed"}) {
			t.Errorf("%s: adapted %v", r.Name, report.Adapted)
		}
		want, err := r.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		got := to.Param("pos_embed").Value
		if !slices.Equal(got[:2], class) {
			t.Errorf("%s: the class token's is %v", r.Name, got[:2])
		}
		for i, v := range want {
			if math.Abs(float64(got[2+i]-v)) > 1e-6 {
				t.Fatalf("%s: value %d is %v, want %v", r.Name, i, got[2+i], v)
			}
		}
	}
	linear := zoo.ImportOptions{Positions: "linear"}
	if _, err := zoo.Import(newViT(t, 16, 16, 1, 1), &safetensors.File{}, linear); err == nil {
		t.Error("an unknown resampling was taken")
	}
}

// TestPositionsWithoutClass: a table that has none for the class token leaves it
// zeros; one that is not square does not fit.
func TestPositionsWithoutClass(t *testing.T) {
	net := newViT(t, 24, 24, 1, 1)
	s := net.State()
	*s.Tensor("pos_embed") = safetensors.Float32("pos_embed", []int{1, 9, 2}, slices.Repeat([]float32{3}, 18))
	r, err := zoo.Import(net, s, zoo.ImportOptions{})
	if err != nil || !r.IsComplete() {
		t.Fatalf("%v: %v", err, r)
	}
	want := append([]float32{0, 0}, slices.Repeat([]float32{3}, 18)...)
	if got := net.Param("pos_embed").Value; !slices.Equal(got, want) {
		t.Errorf("positions %v", got)
	}
	*s.Tensor("pos_embed") = safetensors.Float32("pos_embed", []int{1, 7, 2}, make([]float32, 14))
	if r, err = zoo.Import(net, s, zoo.ImportOptions{}); err != nil || len(r.MisShaped) != 1 {
		t.Errorf("seven positions: %v, %v", err, r)
	}
	if err := net.SetState(s); err == nil {
		t.Error("a network's own state took other positions")
	}
}

// TestAccidentalMatches: a file of which little fits is refused, with what was
// looked for and what it looks like, unless that is allowed.
func TestAccidentalMatches(t *testing.T) {
	make2 := func(name string) *nn.Net {
		spec, err := zoo.Network(name, zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 8, Multiple: 0.25,
			Width: 16})
		if err != nil {
			t.Fatal(err)
		}
		net, err := nn.New(spec, nn.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	r34, conv4 := make2("resnet34"), make2("conv4")
	before := slices.Clone(r34.Params()[0].Value)
	wide := make2("resnet18").State()
	for _, c := range []struct {
		f    *safetensors.File
		want []string
	}{
		{conv4.State(), []string{"fit 5 of the 180 parameters of the body of network resnet34", "looked for: its own",
			"looks like no network that is known by name"}},
		{wide, []string{"fit 100 of the 180", "looks like resnet18 times 0.25"}},
		{make2("mobilenet_v2").State(), []string{"fit 0 of the 180", "looks like mobilenet_v2 times 0.25"}},
	} {
		_, err := zoo.Import(r34, c.f, zoo.ImportOptions{})
		for _, w := range c.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("error %v, want one with %q", err, w)
			}
		}
	}
	if !slices.Equal(before, r34.Params()[0].Value) {
		t.Error("an error changed the network")
	}
	r, err := zoo.Import(r34, wide, zoo.ImportOptions{Partial: true})
	if err != nil || r.Body != [2]int{100, 180} {
		t.Errorf("allowed: %v, %v", err, r)
	}
}

// TestTextTowersAreLeftAlone: of a file with both of CLIP's towers the image's is
// taken, though the other has the same names behind no prefix.
func TestTextTowersAreLeftAlone(t *testing.T) {
	o := zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 5, Width: 12, Depth: 2, Heads: 3, Patch: 16}
	spec, err := zoo.Network("clip_vit_b16", o)
	if err != nil {
		t.Fatal(err)
	}
	from, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	f := stored(t, from, namesOf(t, 2, openAI))
	var text []safetensors.Tensor
	for _, x := range f.Tensors {
		if name, ok := strings.CutPrefix(x.Name, "visual.transformer."); ok {
			x.Name = "transformer." + name
			x.Data = make([]byte, len(x.Data))
			text = append(text, x)
		}
	}
	f.Tensors = append(text, f.Tensors...)
	to, err := nn.New(spec, nn.Options{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	r, err := zoo.Import(to, f, zoo.ImportOptions{})
	if err != nil || len(r.Unexpected) != len(text) || len(r.Missing)+len(r.MisShaped) != 0 {
		t.Fatalf("%v: %v", err, r)
	}
	for i, p := range from.Params() {
		if !slices.Equal(p.Value, to.Params()[i].Value) {
			t.Errorf("%s is another", p.Name)
		}
	}
}

func TestGuessSaysWhyNot(t *testing.T) {
	vit := newViT(t, 16, 16, 3, 1).State()
	for _, c := range []struct {
		f    *safetensors.File
		want string
	}{
		{&safetensors.File{}, "no tensors"},
		{&safetensors.File{Tensors: []safetensors.Tensor{safetensors.Float32("a.b", []int{1}, []float32{1})}},
			"the file's 1 tensors (a.b, ...) are not those of a known network"},
		{&safetensors.File{Tensors: vit.Tensors[:12]}, "nearest to vit_t16, but hold only 12 of the 18 parameters"},
		{&safetensors.File{Tensors: []safetensors.Tensor{ // sizes that nothing can be made of
			{Name: "patch_embed.proj.weight", DType: safetensors.F32, Shape: []int{1 << 40, 3, 1 << 40, 1 << 40}},
			{Name: "pos_embed", DType: safetensors.F32, Shape: []int{1, 1 << 60, 1 << 40}},
			{Name: "blocks.511.norm1.weight", DType: safetensors.F32, Shape: []int{-1}},
		}}, "are not those of a known network"},
	} {
		if name, _, err := zoo.Guess(c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("guessed %q, error %v, want one with %q", name, err, c.want)
		}
	}
}

// FuzzImport guesses what a file is for and imports it: whatever it holds there is
// an error or a report that accounts for every parameter.
func FuzzImport(f *testing.F) {
	targets := func() []*nn.Net {
		var list []*nn.Net
		for _, name := range []string{"vit_s14", "clip_vit_b16", "mobilenet_v3_small", "convnext_tiny"} {
			spec, err := zoo.Network(name, zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 1}, Dim: 2, Width: 2,
				Heads: 1, Depth: 1, Patch: 8, Registers: 1, Multiple: 0.01})
			if err != nil {
				f.Fatal(err)
			}
			net, err := nn.New(spec, nn.Options{Seed: 1})
			if err != nil {
				f.Fatal(err)
			}
			list = append(list, net)
		}
		return list
	}
	for _, net := range targets()[:2] {
		var b bytes.Buffer
		if err := net.State().Write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	nets := targets()
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := safetensors.Parse(data)
		if err != nil {
			return
		}
		if name, o, err := zoo.Guess(file); err == nil {
			if _, err := zoo.Network(name, o); err != nil {
				t.Fatalf("guessed what is no network: %v", err)
			}
		}
		for _, net := range nets {
			r, err := zoo.Import(net, file, zoo.ImportOptions{AdaptInput: true, Partial: true})
			if err == nil && len(r.Loaded)+len(r.Missing)+len(r.MisShaped) < len(net.Params()) {
				t.Fatalf("%d parameters: %+v", len(net.Params()), r)
			}
		}
	})
}
