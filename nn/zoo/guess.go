package zoo

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// Guess finds the network that a file's weights are for, from the names and shapes
// of its tensors. It returns the name and the options with which Network describes
// it, without the head's. For transformers the image size is the one of training; for
// other networks the file does not tell it, and it is 224. If no network has at
// least nine tenths of its body's parameters in the file, the error names the
// nearest one.
func Guess(f *safetensors.File) (name string, o Options, err error) {
	f = splitTensors(f)
	best, fits, of := candidate{}, 0, 1
	for _, c := range candidates(f) {
		n, all, err := c.fits(f)
		if err != nil {
			continue
		}
		// Of those that fit, the largest: a network's first stages may be another.
		is, was := 10*n >= 9*all, 10*fits >= 9*of
		if is && (!was || n > fits) || !is && !was && n*of > fits*all {
			best, fits, of = c, n, all
		}
	}
	switch {
	case len(f.Tensors) == 0:
		return "", o, errors.New("the file holds no tensors")
	case best.name == "":
		return "", o, fmt.Errorf("the file's %d tensors (%s, ...) are not those of a known network",
			len(f.Tensors), f.Tensors[0].Name)
	case 10*fits < 9*of:
		return "", o, fmt.Errorf("the file's %d tensors come nearest to %s, but hold only %d of the %d "+
			"parameters of its body", len(f.Tensors), best.name, fits, of)
	}
	return best.name, best.o, nil
}

// candidate is a network that a file may be for.
type candidate struct {
	name string
	o    Options
}

// fits counts the parameters of the body, and those that the file has.
func (c candidate) fits(f *safetensors.File) (n, all int, err error) {
	o := c.o
	o.NoHead, o.Heads = true, 1 // weights do not show the heads
	s, err := Network(c.name, o)
	if err != nil {
		return 0, 0, err
	}
	g, err := s.Graph()
	if err != nil {
		return 0, 0, err
	}
	params := map[string]*nn.Param{}
	for _, p := range g.Params {
		params[p.Name] = p
	}
	d, prefix := bestNaming(f, namings(s), params)
	found := map[string]int{}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		as, _ := d.find(t.Name, prefix)
		p := params[as.name]
		if p == nil {
			continue
		}
		if shape := (&source{t, as}).shape(); sameShape(p.Shape, shape) {
			found[p.Name] = max(found[p.Name], 1)
		}
	}
	return len(found), len(params), nil
}

// candidates returns the networks whose first convolution is in the file, under
// one of its names.
func candidates(f *safetensors.File) []candidate {
	var list []candidate
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if len(t.Shape) != 4 || t.Shape[0] < 1 || t.Shape[1] < 1 || t.Shape[1] > 4 || t.Shape[2] != t.Shape[3] {
			continue
		}
		width, channels, kernel := t.Shape[0], t.Shape[1], t.Shape[2]
		o := Options{Input: nn.Shape{H: 224, W: 224, C: channels}, Stem: StemLarge}
		name := strings.TrimSuffix(t.Name, ".weight")
		is := func(names ...string) bool {
			return slices.ContainsFunc(names, func(n string) bool {
				return name == n || strings.HasSuffix(name, "."+n)
			})
		}
		add := func(base float64, names ...string) {
			for _, n := range names {
				c := candidate{n, o}
				c.o.Multiple = float64(width) / base
				list = append(list, c)
			}
		}
		switch {
		case is("patch_embed.proj", "conv_proj", "patch_embeddings.projection", "patch_embedding"),
			kernel > 7 && is("conv1", "embeddings.patch_embeddings"):
			list = append(list, transformerCandidates(f, width, kernel, channels)...)
		case is("conv1"):
			if kernel < 7 {
				o.Stem = StemSmall
			}
			add(64, "resnet18", "resnet34", "resnet50")
		case is("conv1_7x7_s2"):
			add(64, "bn_inception")
		case is("features.0.0", "conv_stem", "stem.0", "downsample_layers.0.0", "embeddings.patch_embeddings"):
			add(96, "convnext_tiny")
			add(32, "mobilenet_v1")
			for _, m := range multiples() {
				o.Multiple = m
				for _, n := range []string{"mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large",
					"efficientnet_b0"} {
					list = append(list, candidate{n, o})
				}
			}
		}
	}
	return list
}

// multiples are the widths that networks whose channels are rounded to eights are
// published with, the usual one first.
func multiples() []float64 { return []float64{1, 0.75, 0.5, 0.35, 0.25, 0.1, 1.25, 1.3, 1.4, 0.6, 0.4} }

// transformerCandidates are transformers of the given width and patch, whose depth
// and tokens follow from the file.
func transformerCandidates(f *safetensors.File, width, patch, channels int) []candidate {
	o := Options{Width: width, Patch: patch}
	blocks := map[int]bool{}
	towers := slices.ContainsFunc(f.Tensors, func(t safetensors.Tensor) bool {
		return strings.HasPrefix(t.Name, "visual.")
	})
	positions := 0
	scaled, kind := false, plain
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if isOtherNetwork(t.Name) || towers && strings.HasPrefix(t.Name, "transformer.") {
			continue
		}
		if k, ok := blockOf(t.Name); ok && k < maxDepth {
			blocks[k] = true
		}
		leaf := t.Name[strings.LastIndexByte(t.Name, '.')+1:]
		if len(t.Shape) >= 2 && t.Shape[1] == width && slices.ContainsFunc(wideningNames(), func(n string) bool {
			return strings.HasSuffix(t.Name, n)
		}) {
			o.Hidden = t.Shape[0]
		}
		rows := 0
		if n := len(t.Shape); n >= 2 && t.Shape[n-1] == width {
			rows = t.Shape[n-2]
		}
		switch {
		case strings.Contains(t.Name, "pos_embed") || strings.Contains(t.Name, "position_embedding") ||
			strings.Contains(t.Name, "positional_embedding"):
			positions = max(positions, rows)
		case leaf == "reg_token" || leaf == "register_tokens" || leaf == "storage_tokens":
			o.Registers = rows
		}
		has := func(parts ...string) bool {
			return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(t.Name, p) })
		}
		scaled = scaled || has("ls1.gamma", "lambda1", "gamma_1")
		switch {
		case has("norm_pre.", "ln_pre.", "pre_layrnorm."):
			kind = clip
		case has("attn_pool.latent", "head.probe"):
			kind = siglip
		case has("mlp.fc1_g.", "mlp.gate_proj.", "mlp.w1."):
			kind = gated
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	o.Depth = slices.Max(slices.Collect(maps.Keys(blocks))) + 1
	if positions < 2 {
		if o.Registers == 0 || kind == clip || kind == siglip {
			return nil
		}
		if kind == plain {
			kind = dino3
		}
		o.Input, o.LayerScale = nn.Shape{H: 14 * patch, W: 14 * patch, C: channels}, 1e-5
		return []candidate{{transformerName(width, patch, scaled, kind), o}}
	}
	side := int(math.Round(math.Sqrt(float64(positions - 1))))
	if side*side != positions-1 { // the class token has none
		side = int(math.Round(math.Sqrt(float64(positions))))
	}
	o.Input = nn.Shape{H: side * patch, W: side * patch, C: channels}
	if scaled {
		o.LayerScale = 1e-5
	}
	return []candidate{{transformerName(width, patch, scaled, kind), o}}
}

// isOtherNetwork tells the tensors of another network in the file: of the text tower, or of the
// decoder that a masked autoencoder was trained with.
func isOtherNetwork(name string) bool {
	return slices.ContainsFunc([]string{"text_model.", "text.", "text_decoder.", "decoder.", "token_embedding.",
		"ln_final."}, func(start string) bool { return strings.HasPrefix(name, start) })
}

// wideningNames lists the ends of the names of the first layer of a perceptron.
func wideningNames() []string {
	return []string{".mlp.fc1.weight", ".mlp.c_fc.weight", ".intermediate.dense.weight", ".mlp.up_proj.weight",
		".mlp.0.weight", ".mlp.linear_1.weight", ".mlp.fc1_x.weight", ".mlp.w2.weight"}
}

// transformerName returns the name of the transformer nearest to what is known.
func transformerName(width, patch int, scaled bool, kind family) string {
	switch {
	case kind == clip && patch == 16:
		return "clip_vit_b16"
	case kind == clip:
		return "clip_vit_b32"
	case kind == gated:
		return "dinov3_vit_s16plus"
	case kind == dino3 && width <= 384:
		return "dinov3_vit_s16"
	case kind == dino3:
		return "dinov3_vit_b16"
	case kind == siglip && width == 1152:
		return "siglip_vit_so400m14"
	case kind == siglip:
		return "siglip_vit_b16"
	}
	size := "b"
	switch {
	case width <= 192:
		size = "t"
	case width <= 384:
		size = "s"
	}
	if scaled {
		return "vit_" + size + "14"
	}
	return "vit_" + size + "16"
}

// blockOf reads the number of a block out of a tensor's name.
func blockOf(name string) (int, bool) {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		if !slices.Contains([]string{"blocks", "resblocks", "layer", "layers"}, part) {
			continue
		}
		// Of two numbers the first is a chunk's.
		n, found := 0, false
		for _, text := range parts[i+1:] {
			k, err := strconv.Atoi(strings.TrimPrefix(text, "encoder_layer_"))
			if err != nil || k < 0 {
				break
			}
			n, found = k, true
		}
		if found {
			return n, true
		}
	}
	return 0, false
}
