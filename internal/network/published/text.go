package published

import (
	"cmp"
	"fmt"
)

// Text says how the text tower of a published network computes beyond its weights.
type Text struct {
	Tower
	// SigLIP towers have no causal mask; their texts are padded, and taken at the last position.
	SigLIP bool
	// Length and Vocab are for models whose weights do not show them; 0 if they are not stated.
	Length, Vocab int
	End           int // id that ends a text; -1 is the largest id of the text
	Pad           int // id that fills up texts; -1 if it is not stated
}

// ParseText reads the text tower of config.json of transformers, or of open_clip_config.json. An error names the key.
func ParseText(text []byte) (*Text, error) {
	o, err := parse(configFile, text)
	if err != nil {
		return nil, err
	}
	t := &Text{Tower: Tower{from: map[string]string{}}, End: -1, Pad: -1}
	if o.values["model_cfg"] != nil {
		o.file = openCLIPFile
		t.parseOpenCLIP(o)
	} else {
		t.parseTransformers(o)
	}
	return t, o.err
}

// parseTransformers reads a tower by itself or one of two.
func (t *Text) parseTransformers(o *object) {
	kind := baseType(o.text("model_type"))
	clip := kind == "clip"
	t.SigLIP = kind == "siglip" || kind == "siglip2"
	if !clip && !t.SigLIP {
		o.err = cmp.Or(o.err, fmt.Errorf(
			"model_type is %.40q: must be clip, siglip or siglip2, or of their text models", o.text("model_type")))
		return
	}
	part := o
	if o.values["text_config"] != nil || o.values["text_config_dict"] != nil {
		if part = o.tower("text_config"); part == nil {
			return
		}
	}
	part.check(part != o || o.values["vision_config"] == nil)
	f := families()[kind]
	f.width, f.heads = 512, 8
	t.setTransformers(part, f, o.file+": model_type "+kind)
	t.require("vocab", part, "vocab_size")
	t.Length, t.Vocab = min(part.count("max_position_embeddings"), maxSide), part.count("vocab_size")
	end, pad := part.id("eos_token_id"), part.id("pad_token_id")
	switch {
	case t.SigLIP:
		t.Pad = 1
		if pad >= 0 {
			t.Pad = pad
		}
	case end < 0:
		t.End = 49407
	case end != 2: // 2 is what CLIP's first configurations say by mistake: the end is then the largest id
		t.End = end
	}
	o.err = cmp.Or(o.err, part.err)
}

// id returns the id of a token; -1 if the key is absent.
func (o *object) id(name string) int {
	v := o.values[name]
	x, ok := v.(float64)
	switch {
	case v == nil:
		return -1
	case !ok || x != float64(int32(x)):
		o.setError(name, "must be the id of a token")
		return -1
	}
	return max(0, int(x))
}

// parseOpenCLIP reads the text tower of open_clip_config.json.
func (t *Text) parseOpenCLIP(o *object) {
	model := o.part("model_cfg", modelSection)
	if model == nil {
		return
	}
	part := model.part("text_cfg", textSection)
	if part == nil {
		model.setError("text_cfg", "it is required")
		o.err = model.err
		return
	}
	part.check(true)
	t.setOpenCLIP(part, model.boolean("quick_gelu", false), model.source("quick_gelu"))
	t.Heads, t.from[heads] = part.count("heads"), part.source("heads")
	if t.Heads == 0 {
		t.Heads = 8
	}
	t.require("width", part, "width")
	t.require("depth", part, "layers")
	t.require("vocab", part, "vocab_size")
	o.err = cmp.Or(o.err, part.err, model.err)
}
