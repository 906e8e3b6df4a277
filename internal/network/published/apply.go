package published

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// Fact is one thing about how a network computes, and where it is known from.
type Fact struct{ Name, Value, Source string }

// String is a fact for people: "heads 16 (config.json: vision_config.num_attention_heads)".
func (f Fact) String() string { return fmt.Sprintf("%s %s (%s)", f.Name, f.Value, f.Source) }

// fromWeights is the source of what no file says.
const fromWeights = "guessed from the weights"

// Check compares the tower with the shape of its weights. An error names the key that they contradict.
func (t *Tower) Check(s Shape) error {
	for _, c := range t.checks {
		if is, ok := s[c.what]; ok && is != c.want {
			return fmt.Errorf("%s is %d, but the weights have %d", c.from, c.want, is)
		}
	}
	if hidden := int(float64(s["width"])*t.ratio + 1e-6); t.ratio > 0 && s["hidden"] > 0 && hidden != s["hidden"] {
		return fmt.Errorf("%s is %v, which are %d units, but the weights have %d", t.ratioFrom, t.ratio, hidden,
			s["hidden"])
	}
	return nil
}

// HeadsForWidth returns the heads of a tower of so many channels; 0 if they are not stated. from says where they are.
func (t *Tower) HeadsForWidth(width int) (n int, from string, err error) {
	switch n = t.Heads; {
	case n > 0:
	case t.byWidth[width] > 0:
		n = t.byWidth[width]
	case t.perHead > 0:
		n = max(1, width/t.perHead)
	default:
		return 0, fromWeights, nil
	}
	if width%n != 0 {
		return 0, "", fmt.Errorf("%s gives %d heads, which do not divide the %d channels of the weights", t.from[heads],
			n, width)
	}
	return n, t.from[heads], nil
}

// Apply sets the options of a network as the tower says, after comparing it with them: o is what zoo.Guess found in
// the weights.
func (t *Tower) Apply(name string, o *zoo.Options) error {
	if err := t.Check(shapeOf(name, o)); err != nil {
		return err
	}
	o.Act, o.Eps, o.Padding = t.Act, t.Eps, t.Padding
	if o.Width > 0 {
		n, _, err := t.HeadsForWidth(o.Width)
		if err != nil {
			return err
		}
		o.Heads = n
	}
	if t.convNeXt != nil {
		if err := checkConvNeXt(t.convNeXt, o); err != nil {
			return err
		}
	}
	return t.applyPool(o.Width > 0, o)
}

// Facts says how a network computes what its weights do not show, and where that is known from.
func (t *Tower) Facts(spec *nn.Spec) []Fact {
	seen := map[string][]string{}
	see := func(name, value string) {
		if !slices.Contains(seen[name], value) {
			seen[name] = append(seen[name], value)
		}
	}
	walk(spec.Layers, func(l *nn.Layer) {
		switch l.Kind {
		case nn.Attention:
			see(heads, strconv.Itoa(max(1, l.Heads)))
		case nn.LayerNorm, nn.BatchNorm:
			see(epsilon, fmt.Sprint(cmp.Or(l.Eps, 1e-5)))
		case nn.GELU, nn.GELUTanh, nn.QuickGELU, nn.SiLU, nn.ReLU, nn.ReLU6, nn.HardSwish:
			see(activation, string(l.Kind))
		case nn.Conv:
			if l.Stride > 1 && l.Pad+l.PadEnd > 0 && l.PadEnd == 0 {
				see(padding, string(zoo.PaddingSymmetric))
			} else if l.PadEnd > 0 {
				see(padding, string(zoo.PaddingSame))
			}
		case nn.TakeToken:
			see(pooling, "class token")
		case nn.GlobalAvgPool:
			see(pooling, "mean")
		case nn.AttentionPool:
			see(pooling, "attention")
		}
	})
	var facts []Fact
	for _, name := range []string{heads, activation, epsilon, padding, pooling} {
		if len(seen[name]) > 0 {
			facts = append(facts, Fact{name, strings.Join(seen[name], ", "), cmp.Or(t.from[name], fromWeights)})
		}
	}
	return facts
}

// walk calls f for every layer but those of gates, which are within the network's own blocks.
func walk(layers []nn.Layer, f func(l *nn.Layer)) {
	for i := range layers {
		l := &layers[i]
		f(l)
		if l.Kind != nn.Multiply || len(l.Shortcut) > 0 {
			walk(l.Layers, f)
		}
		walk(l.Shortcut, f)
	}
}

// applyPool sets how positions become one vector.
func (t *Tower) applyPool(transformer bool, o *zoo.Options) error {
	switch {
	case t.Pool == "":
	case transformer && (t.Pool == "token" || t.Pool == "tok"):
		o.Pool = zoo.PoolClass
	case transformer && t.Pool == "map": // the weights have it or do not fit
	case transformer && t.Pool == "avg":
		o.Pool = zoo.PoolMean
	case !transformer && t.Pool == "avg":
	default:
		return fmt.Errorf("%s is %s: this way to pool is not supported", t.from[pooling], escapeName(t.Pool))
	}
	return nil
}

// shapeOf returns what zoo.Guess found in the weights.
func shapeOf(name string, o *zoo.Options) Shape {
	s := Shape{"channels": o.Input.C}
	if o.Width == 0 {
		return s
	}
	s["width"], s["depth"], s["hidden"], s["patch"], s["registers"] = o.Width, o.Depth, o.Hidden, o.Patch, o.Registers
	s["gated"] = map[bool]int{true: 1}[strings.HasSuffix(name, "plus")]
	if !strings.HasPrefix(name, "dinov3") {
		s["side"] = o.Input.H // rotary positions have no table
	}
	return s
}

// checkConvNeXt compares the stages of a configuration with ConvNeXt-T, times its width.
func checkConvNeXt(o *object, with *zoo.Options) error {
	width := math.Round(96 * with.Multiple)
	for name, want := range map[string]any{"depths": []any{3., 3., 9., 3.}, "num_stages": 4., "patch_size": 4.,
		"hidden_sizes": []any{width, 2 * width, 4 * width, 8 * width}} {
		if v := o.values[name]; v != nil && !reflect.DeepEqual(v, want) {
			return fmt.Errorf("%s is %s, but the weights have %v", o.source(name), formatValue(v), want)
		}
	}
	return nil
}
