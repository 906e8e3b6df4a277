package published

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// Tower says how a network computes beyond its weights. Zero fields are not stated.
type Tower struct {
	Heads   int
	Act     nn.Kind
	Eps     float64
	Padding zoo.Padding
	Pool    string // timm's name: token, avg, map
	// Positions says how a table of positions is resampled for images of another size.
	Positions zoo.Resample

	from      map[string]string // where the fields come from, by their names in Facts
	perHead   int               // channels of a head, in place of Heads
	byWidth   map[int]int       // heads by channels, in place of Heads
	checks    []check
	ratio     float64 // units of a perceptron for each channel
	ratioFrom string
	convNeXt  *object
}

// check is a number that the weights must have.
type check struct {
	what string // key of a Shape
	from string
	want int
}

// Shape has the numbers that weights show: width, depth, hidden, patch, channels, registers, side, and whether the
// perceptrons are gated (1 or 0). What is not
// known is absent.
type Shape map[string]int

// Network is a published network beyond its weights.
type Network struct {
	Tower       Tower
	Preparation Preparation
	Notes       []string
}

// family has the defaults of a model type of transformers.
type family struct {
	act          nn.Kind
	eps          float64
	width, heads int // a configuration leaves out heads if they are the default
}

// families are the model types whose networks are those of package nn/zoo, without _vision_model.
func families() map[string]family {
	vit, dino := family{nn.GELU, 1e-12, 768, 12}, family{nn.GELU, 1e-6, 768, 12}
	clip := family{nn.QuickGELU, 1e-5, 768, 12}
	siglip := family{nn.GELUTanh, 1e-6, 768, 12}
	return map[string]family{"vit": vit, "deit": vit, "vit_mae": vit, "vit_msn": dino, "dinov2": dino,
		"dinov2_with_registers": dino, "dinov3_vit": {nn.GELU, 1e-5, 384, 6}, "clip": clip, "chinese_clip": clip,
		"siglip": siglip, "siglip2": siglip, "convnext": {nn.GELU, 1e-12, 0, 0}}
}

// Read reads what is said about a file of weights by the configuration beside it, both as Weights returns them. An
// error names the file and the key that cannot be followed.
func Read(weights, config string) (*Network, error) {
	p, notes, err := ReadPreparation(weights)
	if err != nil {
		return nil, err
	}
	n := &Network{Preparation: p, Notes: notes}
	o, path, err := readFirst([]string{filepath.Dir(config)}, filepath.Base(config))
	if err != nil || o == nil {
		return nil, cmp.Or(err, fmt.Errorf("%s is missing", config))
	}
	n.Tower.from = map[string]string{}
	unknown := n.Tower.parse(o)
	if o.err != nil {
		return nil, fmt.Errorf("%s: %w", path, o.err)
	}
	for _, name := range unknown {
		n.Notes = append(n.Notes, fmt.Sprintf("%s: the key %s is not known here: it is left alone", path, name))
	}
	return n, nil
}

// parse reads the image tower of a configuration. It returns keys that are not known, of parts that do not
// describe the tower.
func (t *Tower) parse(o *object) (unknown []string) {
	_, isTimm := o.rows["architecture"]
	_, isOpen := o.rows["model_cfg"]
	_, isJoint := o.rows["vision_config"]
	switch {
	case isTimm:
		unknown = o.check(false)
		t.parseTimm(o)
	case isOpen:
		unknown = o.check(false)
		t.parseOpenCLIP(o)
	case isJoint:
		unknown = o.check(false)
		v := o.tower("vision_config")
		if v == nil {
			v = &object{file: o.file, at: "vision_config.", rows: tableOf(towerSection), err: o.err}
		}
		v.check(true)
		t.parseTransformers(v, baseType(o.text("model_type")))
		o.err = cmp.Or(o.err, v.err)
	default:
		o.check(true)
		t.parseTransformers(o, "")
	}
	return unknown
}

// tower returns a tower of a configuration of two. Early versions of transformers wrote it twice.
func (o *object) tower(name string) *object {
	v, again := o.part(name, towerSection), o.part(name+"_dict", towerSection)
	if again == nil {
		return v
	}
	if v == nil {
		return again
	}
	v.values = maps.Clone(v.values)
	for key, x := range again.values {
		if is, ok := v.values[key]; ok && !equalJSON(is, x) && tableOf(towerSection)[key].use != useIgnored {
			v.setError(key, "it is %s in %s_dict: they must agree", formatValue(x), name)
		}
		v.values[key] = x
	}
	return v
}

// baseType is a model type without the end that towers alone have.
func baseType(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "_vision_model"), "_text_model")
}

// parseTransformers reads a tower of transformers. kind is the model type of both towers together, "" for a network
// of one.
func (t *Tower) parseTransformers(o *object, kind string) {
	own := baseType(o.text("model_type"))
	if kind == "" {
		kind = own
	}
	if kind == "" && o.at == "" { // it may be a configuration by hand: what it leaves out is guessed
		t.setTransformers(o, family{}, "")
		return
	}
	f, ok := families()[kind]
	if !ok {
		names := slices.Sorted(maps.Keys(families()))
		if o.err == nil {
			o.err = fmt.Errorf("model_type is %s: must be one of %s", escapeName(kind), strings.Join(names, ", "))
		}
		return
	}
	t.setTransformers(o, f, o.file+": model_type "+kind)
	if kind != "dinov2_with_registers" { // which widens the kernel as timm does
		t.Positions = zoo.ResampleTorch
	}
	if kind == "convnext" {
		t.convNeXt = o
	}
}

// setTransformers takes the values of a tower's keys, and the family's defaults.
func (t *Tower) setTransformers(o *object, f family, from string) {
	t.Heads, t.Act, t.Eps = o.count("num_attention_heads"), f.act, f.eps
	for _, fact := range []string{heads, activation, epsilon} {
		t.from[fact] = from
	}
	if t.Heads > 0 {
		t.from[heads] = o.source("num_attention_heads")
	} else if f.heads > 0 {
		t.byWidth = map[int]int{cmp.Or(o.count("hidden_size"), f.width): f.heads}
	}
	t.setAct(o, "hidden_act")
	t.setEps(o, "layer_norm_eps")
	for key, what := range map[string]string{"hidden_size": "width", "num_hidden_layers": "depth",
		"intermediate_size": "hidden", "patch_size": "patch", "num_channels": "channels",
		"num_register_tokens": "registers"} {
		t.require(what, o, key)
	}
	if side := o.extent("image_size").square(); side > 0 {
		t.checks = append(t.checks, check{"side", o.source("image_size"), side})
	}
	if o.values["use_gated_mlp"] != nil {
		gated := map[bool]int{true: 1}[o.boolean("use_gated_mlp", false)]
		t.checks = append(t.checks, check{"gated", o.source("use_gated_mlp"), gated})
	}
	t.setRatio(o)
}

// The names of facts.
const (
	heads      = "heads"
	activation = "activation"
	epsilon    = "epsilon of norms"
	padding    = "padding"
	pooling    = "pool"
)

func (t *Tower) setAct(o *object, key string) {
	name := o.text(key)
	if name == "" {
		return
	}
	if t.Act = activations()[name]; t.Act == "" {
		o.setError(key, "must be one of %s", strings.Join(slices.Sorted(maps.Keys(activations())), ", "))
	}
	t.from[activation] = o.source(key)
}

func (t *Tower) setEps(o *object, key string) {
	if o.values[key] == nil {
		return
	}
	if t.Eps = o.number(key); !(t.Eps > 0 && t.Eps < 1) {
		o.setError(key, "must be above 0 and below 1")
	}
	t.from[epsilon] = o.source(key)
}

func (t *Tower) setRatio(o *object) {
	if o.values["mlp_ratio"] == nil {
		return
	}
	if t.ratio, t.ratioFrom = o.number("mlp_ratio"), o.source("mlp_ratio"); !(t.ratio > 0 && t.ratio < 1000) {
		o.setError("mlp_ratio", "must be above 0 and below 1000")
	}
}

// require says that the weights must have the number of a key, if it is there.
func (t *Tower) require(what string, o *object, key string) {
	if v := o.values[key]; v == 0. && what == "registers" {
		t.checks = append(t.checks, check{what, o.source(key), 0})
	} else if n := o.count(key); n > 0 {
		t.checks = append(t.checks, check{what, o.source(key), n})
	}
}

// parseTimm reads config.json of timm.
func (t *Tower) parseTimm(o *object) {
	if cfg := o.part("pretrained_cfg", pretrainedSection); cfg != nil {
		if cfg.check(true); o.values["architecture"] == nil {
			t.setArchitecture(cfg, "architecture", cfg.text("architecture"))
		}
		o.err = cmp.Or(o.err, cfg.err)
	}
	t.setArchitecture(o, "architecture", o.text("architecture"))
	if x := o.text("global_pool"); x != "" {
		t.Pool, t.from[pooling] = x, o.source("global_pool")
	}
	if args := o.part("model_args", argsSection); args != nil {
		t.parseArgs(args)
		o.err = cmp.Or(o.err, args.err)
	}
}

// setArchitecture takes what a name of timm says.
func (t *Tower) setArchitecture(o *object, key, name string) {
	name, _, _ = strings.Cut(name, ".") // a tag names the weights
	if name == "" {
		return // what it would say is guessed
	}
	a := architectureOf(name)
	if a == nil {
		o.setError(key, "this network of timm is not known here, and may compute otherwise than its weights show")
		return
	}
	from := o.source(key) + " " + name
	t.Act, t.Eps, t.Padding, t.byWidth = a.act, a.eps, a.padding, a.heads
	if a.act != "" {
		t.perHead = 64
	}
	for _, fact := range []string{heads, activation, epsilon, padding} {
		t.from[fact] = from
	}
}

// parseArgs reads arguments that a network of timm was made with.
func (t *Tower) parseArgs(o *object) {
	o.check(true)
	if n := o.count("num_heads"); n > 0 {
		t.Heads, t.from[heads] = n, o.source("num_heads")
	}
	t.setAct(o, "act_layer")
	if x := o.text("global_pool"); x != "" {
		t.Pool, t.from[pooling] = x, o.source("global_pool")
	}
	for key, what := range map[string]string{"embed_dim": "width", "depth": "depth", "patch_size": "patch",
		"reg_tokens": "registers", "num_reg_tokens": "registers", "in_chans": "channels", "img_size": "side"} {
		t.require(what, o, key)
	}
	t.setRatio(o)
}

// parseOpenCLIP reads the image tower of open_clip_config.json.
func (t *Tower) parseOpenCLIP(o *object) {
	model := o.part("model_cfg", modelSection)
	if model == nil {
		o.setError("model_cfg", "it is required")
		return
	}
	model.check(true)
	v := model.part("vision_cfg", visionSection)
	if v == nil {
		model.setError("vision_cfg", "it is required")
		o.err = model.err
		return
	}
	v.check(true)
	if name := v.text("timm_model_name"); name != "" {
		t.setArchitecture(v, "timm_model_name", name)
		if v.values["timm_proj"] == nil {
			v.setError("timm_proj", `it must be "none": a projection is not supported`)
		}
		t.Pool, t.from[pooling] = v.text("timm_pool"), v.source("timm_pool")
		if args := v.part("timm_model_kwargs", argsSection); args != nil {
			t.parseArgs(args)
			v.err = cmp.Or(v.err, args.err)
		}
	} else {
		t.setOpenCLIP(v, model.boolean("quick_gelu", false), model.source("quick_gelu"))
		t.perHead, t.from[heads] = cmp.Or(v.count("head_width"), 64), v.source("head_width")
		t.Pool, t.from[pooling] = v.text("pool_type"), v.source("pool_type")
		for key, what := range map[string]string{"layers": "depth", "width": "width", "patch_size": "patch",
			"in_chans": "channels"} {
			t.require(what, v, key)
		}
	}
	if side := v.extent("image_size").square(); side > 0 {
		t.checks = append(t.checks, check{"side", v.source("image_size"), side})
	}
	o.err = cmp.Or(o.err, v.err, model.err)
}

// setOpenCLIP takes the activation, the epsilon and the perceptron of a tower of OpenCLIP.
func (t *Tower) setOpenCLIP(o *object, quick bool, quickFrom string) {
	t.Act, t.Eps = nn.GELU, 1e-5
	t.from[activation], t.from[epsilon] = quickFrom, o.source("norm_kwargs")
	if quick {
		t.Act = nn.QuickGELU
	}
	for _, kwargs := range []string{"norm_kwargs", "act_kwargs"} {
		part := o.part(kwargs, "")
		if part == nil {
			continue
		}
		switch part.rows = (keys{}).with(useObeyed, "eps approximate"); kwargs {
		case "norm_kwargs":
			t.setEps(part, "eps")
		case "act_kwargs":
			switch x := part.text("approximate"); {
			case x == "tanh" && !quick:
				t.Act, t.from[activation] = nn.GELUTanh, part.source("approximate")
			case x != "" && x != "none":
				part.setError("approximate", "must be tanh, without quick_gelu")
			}
		}
		part.check(true)
		o.err = cmp.Or(o.err, part.err)
	}
	t.setRatio(o)
}
