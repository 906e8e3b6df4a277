package run

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// shaped returns the network that a configuration comes to on images of 32 pixels.
func shaped(t *testing.T, set ...string) (*nn.Spec, error) {
	t.Helper()
	cfg, err := Parse("test", nil, append([]string{"network.width=24", "network.dim=4"}, set...)...)
	if err != nil {
		return nil, err
	}
	return networkSpec(&cfg, nil, 32, 32, 3)
}

// tally counts the layers of a kind, wherever they are.
func tally(layers []nn.Layer, is func(nn.Layer) bool) int {
	n := 0
	for _, l := range layers {
		if is(l) {
			n++
		}
		n += tally(l.Layers, is) + tally(l.Shortcut, is)
	}
	return n
}

// TestShapingKeys: the keys that shape a network reach its layers, and one that the
// network has no use for is an error.
func TestShapingKeys(t *testing.T) {
	kind := func(k nn.Kind) func(nn.Layer) bool { return func(l nn.Layer) bool { return l.Kind == k } }
	for _, c := range []struct {
		set  []string
		is   func(nn.Layer) bool
		want int
	}{
		{[]string{"network.name=resnet18"}, kind(nn.GEMPool), 0},
		{[]string{"network.name=resnet18", "network.pool=gem"}, kind(nn.GEMPool), 1},
		{[]string{"network.name=resnet18", "network.pool=mean"}, kind(nn.GlobalAvgPool), 1},
		{[]string{"network.name=bn_inception", "network.pool=gem"}, kind(nn.GEMPool), 1},
		{[]string{"network.name=vit_t16"}, kind(nn.TakeToken), 1},
		{[]string{"network.name=vit_t16", "network.pool=cls"}, kind(nn.TakeToken), 1},
		{[]string{"network.name=vit_t16", "network.pool=mean"}, kind(nn.GlobalAvgPool), 1},
		{[]string{"network.name=vit_t16", "network.patch=8"},
			func(l nn.Layer) bool { return l.Name == "patch_embed.proj" && l.Kernel == 8 }, 1},
		{[]string{"network.name=vit_t16", "network.patch=16"},
			func(l nn.Layer) bool { return l.Name == "patch_embed.proj" && l.Kernel == 16 }, 1},
		{[]string{"network.name=vit_t16", "network.registers=3"},
			func(l nn.Layer) bool { return l.Name == "reg_token" && l.Out == 3 }, 1},
		{[]string{"network.name=vit_t16", "network.drop_path=0.2"}, kind(nn.StochasticDepth), 22},
		{[]string{"network.name=convnext_tiny", "network.drop_path=0.2"}, kind(nn.StochasticDepth), 17},
	} {
		spec, err := shaped(t, c.set...)
		if err != nil {
			t.Errorf("%v: %v", c.set, err)
		} else if n := tally(spec.Layers, c.is); n != c.want {
			t.Errorf("%v: %d layers of the kind, want %d", c.set, n, c.want)
		}
	}
	for want, set := range map[string][]string{
		"network.pool: network conv4 has nothing": {"network.name=conv4", "network.pool=gem"},
		"network.registers: network resnet18":     {"network.name=resnet18", "network.registers=2"},
		"network.drop_path: network mobilenet_v2": {"network.name=mobilenet_v2", "network.drop_path=0.1"},
		"has no class token":                      {"network.name=resnet18", "network.pool=cls"},
		"has no pool":                             {"network.name=vit_t16", "network.pool=gem"},
		"not whole patches of 7 x 7":              {"network.name=vit_t16", "network.patch=7"},
		`network.pool: "max" is none of`:          {"network.pool=max"},
		`network.resample: "cubic"`:               {"network.resample=cubic"},
		"network.registers: only for networks":    {"network.pretrained=a.onnx", "network.registers=2"},
		"network.drop_path: 1 is not in":          {"network.drop_path=1"},
	} {
		if _, err := shaped(t, set...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", set, err, want)
		}
	}
}

// TestResampledPositions: position embeddings of another image size are made to fit
// in the way that is asked for.
func TestResampledPositions(t *testing.T) {
	dir := t.TempDir()
	small := func(side int) *nn.Net {
		t.Helper()
		spec, err := zoo.Network("vit_t16", zoo.Options{Input: nn.Shape{H: side, W: side, C: 3}, Width: 24,
			Depth: 12, Heads: 1, NoHead: true})
		if err != nil {
			t.Fatal(err)
		}
		net, err := nn.New(spec, nn.Options{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	if err := small(96).Save(dir); err != nil {
		t.Fatal(err)
	}
	weights := func(context.Context, string) (Start, error) {
		return Start{Name: "small", Path: dir + "/" + nn.WeightsFile, Network: "vit_t16", Size: 96,
			Pixels: "imagenet"}, nil
	}
	tables := map[string][]float32{}
	for _, how := range []string{"", "timm", "dino"} {
		cfg, err := Parse("test", nil, "network.width=24", "data.size=64", "network.resample="+how)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := assemble(t.Context(), cfg, Options{Dataset: photos(8, 10, 64), Weights: weights})
		if err != nil {
			t.Fatalf("%q: %v", how, err)
		}
		tables[how] = tr.net.Param("pos_embed").Value
		if len(tables[how]) != 17*24 || !slices.Contains(tr.imported.Adapted, "pos_embed") {
			t.Errorf("%q: %d values, adapted %v", how, len(tables[how]), tr.imported.Adapted)
		}
		tr.close()
	}
	if !slices.Equal(tables[""], tables["timm"]) || slices.Equal(tables["timm"], tables["dino"]) {
		t.Error("timm is not the default, or dino is the same")
	}
}
