package zoo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// TestConvNeXtByOtherNames: timm's, Facebook's and Hugging Face's.
func TestConvNeXtByOtherNames(t *testing.T) {
	for _, c := range []struct{ found, stem, down, block, parts, end, prefix string }{
		{"timm", "stem.0 stem.1", "stages.S.downsample.K", "stages.S.blocks.B.", "conv_dw norm mlp.fc1 mlp.fc2 gamma",
			"head.norm head.fc", "model."},
		{"Facebook", "downsample_layers.0.0 downsample_layers.0.1", "downsample_layers.S.K", "stages.S.B.",
			"dwconv norm pwconv1 pwconv2 gamma", "norm head", ""},
		{"Hugging Face", "convnext.embeddings.patch_embeddings convnext.embeddings.layernorm",
			"convnext.encoder.stages.S.downsampling_layer.K", "convnext.encoder.stages.S.layers.B.",
			"dwconv layernorm pwconv1 pwconv2 layer_scale_parameter", "convnext.layernorm classifier", ""},
	} {
		t.Run(c.found, func(t *testing.T) {
			names := map[string]string{}
			add := func(theirs, ours string) {
				if strings.HasSuffix(ours, "layer_scale") {
					names[c.prefix+theirs] = ours
					return
				}
				for _, leaf := range []string{".weight", ".bias"} {
					names[c.prefix+theirs+leaf] = ours + leaf
				}
			}
			stem, end, parts := strings.Fields(c.stem), strings.Fields(c.end), strings.Fields(c.parts)
			add(stem[0], "features.0.0")
			add(stem[1], "features.0.1")
			add(end[0], "classifier.0")
			add(end[1], "classifier.2")
			for s, blocks := range []int{3, 3, 9, 3} {
				at := func(pattern string, n int) string {
					p := strings.ReplaceAll(pattern, "S", fmt.Sprint(s))
					return strings.NewReplacer("B", fmt.Sprint(n), "K", fmt.Sprint(n)).Replace(p)
				}
				for k := range 2 {
					if s > 0 {
						add(at(c.down, k), fmt.Sprintf("features.%d.%d", 2*s, k))
					}
				}
				for b := range blocks {
					for i, part := range []string{"block.0", "block.2", "block.3", "block.5", "layer_scale"} {
						add(at(c.block, b)+parts[i], fmt.Sprintf("features.%d.%d.%s", 2*s+1, b, part))
					}
				}
			}
			o := zoo.Options{Input: nn.Shape{H: 64, W: 64, C: 3}, Dim: 4, Multiple: 1. / 16}
			checkNames(t, "convnext_tiny", o, names, c.found)
		})
	}
}

// TestMobileNetsByTimmsNames: stages as timm's definitions list them, a letter for
// each block: d does not widen, i widens; capitals squeeze and excite.
func TestMobileNetsByTimmsNames(t *testing.T) {
	const large = "conv_head=classifier.0 classifier=classifier.3"
	for _, c := range []struct{ network, stages, head string }{
		{"mobilenet_v2", "d ii iii iiii iii iii i",
			"conv_head=features.18.0 bn2=features.18.1 classifier=classifier.1"},
		{"mobilenet_v3_large", "d ii III iiii II III",
			"blocks.6.0.conv=features.16.0 blocks.6.0.bn1=features.16.1 " + large},
		{"mobilenet_v3_small", "D ii III II III",
			"blocks.5.0.conv=features.12.0 blocks.5.0.bn1=features.12.1 " + large},
		{"efficientnet_b0", "D II II III III IIII I",
			"conv_head=features.8.0 bn2=features.8.1 classifier=classifier.1"},
	} {
		t.Run(c.network, func(t *testing.T) {
			names := map[string]string{}
			add := func(theirs, ours string) {
				leaves := []string{".weight"}
				if last := theirs[strings.LastIndexByte(theirs, '.')+1:]; strings.HasPrefix(last, "bn") {
					leaves = append(leaves, ".bias", ".running_mean", ".running_var")
				} else if strings.Contains(theirs, "se.") || strings.HasPrefix(ours, "classifier") {
					leaves = append(leaves, ".bias")
				}
				for _, leaf := range leaves {
					names[theirs+leaf] = ours + leaf
				}
			}
			add("conv_stem", "features.0.0")
			add("bn1", "features.0.1")
			for _, pair := range strings.Fields(c.head) {
				theirs, ours, _ := strings.Cut(pair, "=")
				add(theirs, ours)
			}
			feature := 1
			for s, stage := range strings.Fields(c.stages) {
				for b, letter := range stage {
					theirs := fmt.Sprintf("blocks.%d.%d.", s, b)
					ours := fmt.Sprintf("features.%d.block.", feature)
					switch c.network {
					case "mobilenet_v2":
						ours = fmt.Sprintf("features.%d.conv.", feature)
					case "efficientnet_b0":
						ours = fmt.Sprintf("features.%d.%d.block.", s+1, b)
					}
					addTimmBlock(add, theirs, ours, letter, c.network == "mobilenet_v2")
					feature++
				}
			}
			o := zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 4, Multiple: 0.25, Stem: zoo.StemLarge}
			checkNames(t, c.network, o, names, "timm")
		})
	}
}

func addTimmBlock(add func(theirs, ours string), theirs, ours string, letter rune, flat bool) {
	k := 0
	pair := func(conv, norm string) {
		if flat && strings.HasSuffix(conv, "pwl") || flat && conv == "conv_pw" && norm == "bn2" {
			add(theirs+conv, fmt.Sprintf("%s%d", ours, k)) // v2 has its last two in the row itself
			add(theirs+norm, fmt.Sprintf("%s%d", ours, k+1))
			return
		}
		add(theirs+conv, fmt.Sprintf("%s%d.0", ours, k))
		add(theirs+norm, fmt.Sprintf("%s%d.1", ours, k))
		k++
	}
	widens := letter == 'i' || letter == 'I'
	if widens {
		pair("conv_pw", "bn1")
		pair("conv_dw", "bn2")
	} else {
		pair("conv_dw", "bn1")
	}
	if letter == 'I' || letter == 'D' {
		add(theirs+"se.conv_reduce", fmt.Sprintf("%s%d.fc1", ours, k))
		add(theirs+"se.conv_expand", fmt.Sprintf("%s%d.fc2", ours, k))
		k++
	}
	if widens {
		pair("conv_pwl", "bn3")
	} else {
		pair("conv_pw", "bn2")
	}
}

// TestOwnNamesAreGuessed: every pretrained network that is known by name is
// recognised by its own names, at its usual width and at others.
func TestOwnNamesAreGuessed(t *testing.T) {
	for _, name := range zoo.Networks() {
		if strings.Contains("mnist conv4 mlp linear", name) {
			continue
		}
		o := zoo.Options{Input: nn.Shape{H: 224, W: 224, C: 3}, Multiple: 0.25, Depth: 2, Width: 64}
		spec, err := zoo.Network(name, o)
		if err != nil {
			t.Fatal(err)
		}
		net, err := nn.New(spec, nn.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := net.State()
		got, guess, err := zoo.Guess(f)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		guess.Input = spec.Input
		again, err := zoo.Network(got, guess)
		if err != nil {
			t.Fatal(err)
		}
		other, err := nn.New(again, nn.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := other.SetState(f); err != nil {
			t.Errorf("%s: guessed %s %+v: %v", name, got, guess, err)
		}
		if size := got[:strings.LastIndexByte(got, '_')+1]; got != name && !strings.HasPrefix(name, size) {
			t.Errorf("%s: guessed %s", name, got)
		}
	}
}
