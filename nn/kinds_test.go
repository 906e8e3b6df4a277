package nn

import (
	"slices"
	"strings"
	"testing"
)

// block is a transformer's block of the given width, as timm names it.
func block(name string, width, heads int) []Layer {
	return []Layer{
		{Kind: Residual, Name: name, Layers: []Layer{
			{Kind: LayerNorm, Name: "norm1", Eps: 1e-6},
			{Kind: Sequential, Name: "attn", Layers: []Layer{
				{Kind: Linear, Name: "qkv", Out: 3 * width, Init: InitTruncated}, {Kind: Attention, Heads: heads},
				{Kind: Linear, Name: "proj", Out: width, Init: InitTruncated}}},
			{Kind: Scale, Name: "ls1.gamma", Start: 1e-5}, {Kind: StochasticDepth, Rate: 0.1}}},
		{Kind: Residual, Name: name, Layers: []Layer{
			{Kind: LayerNorm, Name: "norm2", Eps: 1e-6},
			{Kind: Sequential, Name: "mlp", Layers: []Layer{
				{Kind: Linear, Name: "fc1", Out: 4 * width}, {Kind: GELU}, {Kind: Linear, Name: "fc2", Out: width}}}}},
	}
}

// TestTransformerIsDescribed: shapes, products and parameters of a small one,
// counted by hand.
func TestTransformerIsDescribed(t *testing.T) {
	s := &Spec{Name: "tiny", Input: Shape{H: 8, W: 12, C: 3}, Layers: slices.Concat([]Layer{
		{Kind: Conv, Name: "patch_embed.proj", Out: 8, Kernel: 4, Stride: 4},
		{Kind: Tokens, Name: "cls_token", Out: 1},
		{Kind: Positions, Name: "pos_embed"},
		{Kind: Tokens, Name: "reg_token", Out: 2, At: 1},
	}, block("blocks.0", 8, 2), []Layer{{Kind: LayerNorm, Name: "norm"}, {Kind: TakeToken}})}
	infos, err := s.Shapes()
	if err != nil {
		t.Fatal(err)
	}
	type info struct {
		out    Shape
		params int
		macs   int64
	}
	const patches, tokens = 6, 9
	want := map[string]info{
		"patch_embed.proj":   {Shape{2, 3, 8}, 8*48 + 8, patches * 8 * 48},
		"cls_token":          {Shape{1, 7, 8}, 8, 0},
		"pos_embed":          {Shape{1, 7, 8}, 56, 0},
		"reg_token":          {Shape{1, tokens, 8}, 16, 0},
		"blocks.0.attn.qkv":  {Shape{1, tokens, 24}, 24*8 + 24, tokens * 24 * 8},
		"blocks.0.ls1.gamma": {Shape{1, tokens, 8}, 8, 0},
		"blocks.0.mlp.fc1":   {Shape{1, tokens, 32}, 32*8 + 32, tokens * 32 * 8},
		"norm":               {Shape{1, tokens, 8}, 16, 0},
	}
	for _, l := range infos {
		if l.Kind == Attention && (l.Out != Shape{1, tokens, 8} || l.MACs != 2*tokens*tokens*8) {
			t.Errorf("attention: %+v", l)
		}
		w, ok := want[l.Path]
		if !ok {
			continue
		}
		delete(want, l.Path)
		if got := (info{l.Out, l.Params, l.MACs}); got != w {
			t.Errorf("%s: %+v, want %+v", l.Path, got, w)
		}
	}
	if len(want) > 0 || s.OutDim() != 8 {
		t.Errorf("not listed: %v; %d outputs", want, s.OutDim())
	}
	g, err := s.flatten()
	if err != nil {
		t.Fatal(err)
	}
	for path, dims := range map[string][]int{
		"cls_token": {1, 1, 8}, "pos_embed": {1, 7, 8}, "reg_token": {1, 2, 8}, "blocks.0.attn.qkv.weight": {24, 8},
		"blocks.0.ls1.gamma": {8}, "blocks.0.norm1.bias": {8},
	} {
		found := false
		for i := range g.nodes {
			for _, p := range g.params(i) {
				if p.Name == path {
					found = true
					if !slices.Equal(p.Shape, dims) {
						t.Errorf("%s is %v, want %v", path, p.Shape, dims)
					}
				}
			}
		}
		if !found {
			t.Errorf("no parameter %s", path)
		}
	}
	back, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseSpec(back); err != nil {
		t.Error(err)
	}
}

// TestNewKindsSayWhatIsWrong: impossible uses of tokens, attention and products.
func TestNewKindsSayWhatIsWrong(t *testing.T) {
	img := Shape{H: 4, W: 4, C: 6}
	end := []Layer{{Kind: TakeToken}}
	excite := func(out int) []Layer {
		return []Layer{{Kind: GlobalAvgPool}, {Kind: Conv, Name: "fc", Out: out, Kernel: 1}, {Kind: Sigmoid}}
	}
	for _, c := range []struct {
		layers []Layer
		want   string // "": no error
	}{
		{[]Layer{{Kind: Attention, Heads: 2}}, ""},
		{[]Layer{{Kind: Attention, Heads: 4}}, "6 channels are not queries, keys and values of 4 heads"},
		{[]Layer{{Kind: AttentionPool, Name: "p", Heads: 2}}, "6 channels are not keys and values of 2 heads"},
		{[]Layer{{Kind: AttentionPool, Heads: 3}}, "needs a name"},
		{[]Layer{{Kind: AttentionPool, Name: "p", Heads: 1 << 62}}, "6 channels are not keys and values of"},
		{[]Layer{{Kind: Rotary, Heads: 1 << 62}}, "6 channels are not queries, keys and values of"},
		{[]Layer{{Kind: Attention, Heads: 6148914691236517206}}, "6 channels are not queries, keys and values of"},
		{[]Layer{{Kind: Rotary, Heads: 2}}, "queries, keys and values of 2 heads with a multiple of 4 values"},
		{[]Layer{{Kind: Rotary, Base: -1}}, "base = -1"},
		{[]Layer{{Kind: Linear, Name: "l", Out: 24, NoKeyBias: true}, {Kind: Rotary, Heads: 2}}, ""},
		{[]Layer{{Kind: Linear, Name: "l", Out: 25, NoKeyBias: true}}, "no_key_bias: it needs"},
		{[]Layer{{Kind: Linear, Name: "l", Out: 24, NoKeyBias: true, NoBias: true}}, "no_key_bias: it needs"},
		{[]Layer{{Kind: Tokens, Name: "t", Out: 2}, {Kind: Tokens, Name: "u", Out: 1, At: 2}}, ""},
		{[]Layer{{Kind: Tokens, Name: "t", Out: 2}, {Kind: Tokens, Name: "u", Out: 1, At: 3}},
			"at = 3, but there are 2"},
		{[]Layer{{Kind: Tokens, Name: "t", Out: 2}, {Kind: MaxPool, Kernel: 1}}, "a sequence of 18 tokens"},
		{[]Layer{{Kind: Tokens, Out: 2}}, "needs a name"},
		{[]Layer{{Kind: Scale, Name: "s"}, {Kind: Shift, Name: "s"}}, "same name"},
		{[]Layer{{Kind: BatchNorm, Name: "s"}, {Kind: Scale, Name: "s.weight"}}, "same name (s.weight of s)"},
		{[]Layer{{Kind: Multiply, Layers: excite(6)}}, ""},
		{[]Layer{{Kind: Multiply, Layers: excite(5)}}, "its layers make 1 x 1 x 5 but its shortcut 4 x 4 x 6"},
		{[]Layer{{Kind: Residual, Layers: excite(6)}}, "its layers make 1 x 1 x 6 but its shortcut 4 x 4 x 6"},
		{[]Layer{{Kind: Flatten}, {Kind: Linear, Name: "l", Out: 2}}, "flattened to 96"},
		{[]Layer{{Kind: TakeToken, At: 16}}, "at = 16, but its input has 16 positions"},
		{[]Layer{{Kind: GEMPool, Name: "p", Start: -1}}, "start = -1"},
		{[]Layer{{Kind: ReLU, PadEnd: 1, Heads: 2}}, "pad_end means nothing here\nheads means nothing here"},
		{[]Layer{{Kind: MaxPool, Kernel: 3, Pad: 1, PadEnd: 1}}, "pad 2 is more than half"},
		{[]Layer{{Kind: Conv, Name: "c", Out: 1, Kernel: 8, Pad: 1, PadEnd: 1}}, "padded by 1 and 2"},
	} {
		s := &Spec{Name: "s", Input: img, Layers: slices.Concat(c.layers, end)}
		err := s.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: error %v, want one with %q", c.layers, err, c.want)
		}
	}
}
