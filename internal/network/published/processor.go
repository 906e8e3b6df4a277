package published

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// processor is a class of transformers that prepares images.
type processor struct {
	name     string // without FeatureExtractor, ImageProcessor, and Fast or Pil
	square   bool   // a size that is one number is that of a square, not of the shorter side
	resample string // by default
	models   string // model_type of the networks whose class it is, where a file names none
}

// processors are those whose preparation is what their keys say.
func processors() []processor {
	return []processor{
		{"Beit", true, "bicubic", "beit"}, {"Bit", false, "bicubic", "bit dinov2 dinov2_with_registers"},
		{"CLIP", false, "bicubic", "clip clip_vision_model"}, {"ChineseCLIP", false, "bicubic", "chinese_clip"},
		{"ConvNext", false, "bilinear", "convnext convnextv2 resnet"}, {"DINOv3ViT", true, "bilinear", "dinov3_vit"},
		{"DeiT", true, "bicubic", "deit"}, {"EfficientNet", true, "nearest", "efficientnet"},
		{"MobileNetV1", false, "bilinear", "mobilenet_v1"}, {"MobileNetV2", false, "bilinear", "mobilenet_v2"},
		{"MobileViT", false, "bilinear", "mobilevit mobilevitv2"},
		{"Siglip", true, "bicubic", "siglip siglip_vision_model"}, {"ViT", true, "bilinear", "vit vit_mae vit_msn"},
		{"Blip", true, "bicubic", "blip blip-2"}, {"Pvt", true, "bilinear", "pvt"},
		{"Perceiver", true, "bicubic", "perceiver"}, {"PoolFormer", false, "bicubic", "poolformer"},
		{"Swin2SR", true, "", "swin2sr"},
	}
}

// processorOf finds the class that a file names, or without a name that of the network's model_type; nil if it names an
// unknown one.
func processorOf(o *object, modelType string) (p *processor, unknown string) {
	name := cmp.Or(o.text("image_processor_type"), o.text("feature_extractor_type"))
	for _, known := range processors() {
		if name == "" && slices.Contains(strings.Fields(known.models), modelType) {
			return &known, ""
		}
	}
	short := name
	for _, end := range []string{"Fast", "Pil", "ImageProcessor", "FeatureExtractor"} {
		short = strings.TrimSuffix(short, end)
	}
	for _, known := range processors() {
		if known.name == short {
			return &known, ""
		}
	}
	return nil, name
}

// parseProcessor reads preprocessor_config.json of a network with the given model_type in config.json.
func parseProcessor(o *object, modelType string) (p Preparation, notes []string) {
	class, unknown := processorOf(o, modelType)
	if unknown != "" && o.values["image_mean"] != nil {
		notes = append(notes, fmt.Sprintf("%s: the class %s is not known here: its keys are read as those of others",
			o.file, escapeName(unknown)))
	}
	unknownKeys := o.check(false)
	readValues(o, &p)
	if p.Pixels == "" && o.values["size"] == nil && o.values["crop_size"] == nil && o.values["crop_pct"] == nil {
		return p, nil // it is of sounds or texts
	}
	for _, name := range unknownKeys {
		notes = append(notes, fmt.Sprintf("%s: the key %s is not known here: it is left alone", o.file, name))
	}
	if readSides(o, class, &p); p.Fit != "" && p.Resample == "" {
		notes = append(notes,
			fmt.Sprintf("%s names neither resample nor its class, and config.json no model_type that tells "+
				"it: bilinear is assumed", o.file))
	}
	return p, notes
}

// readValues reads the range of pixel values. Rescaling multiplies a value of 0 to 255 by a factor.
func readValues(o *object, p *Preparation) {
	mean, std := o.colours("image_mean"), o.colours("image_std")
	factor := 1. / 255
	if o.values["rescale_factor"] != nil {
		factor = o.number("rescale_factor")
	}
	if !(factor > 0 && factor <= 1e6) {
		o.setError("rescale_factor", "must be above 0 and at most 1e6")
	}
	stated := slices.ContainsFunc(strings.Fields("image_mean image_std do_normalize do_rescale rescale_factor"),
		func(name string) bool { return o.values[name] != nil })
	if o.err != nil || !stated {
		return // it is no configuration of images
	}
	rescale := o.boolean("do_rescale", true)
	if !rescale {
		factor = 1
	}
	if !o.boolean("do_normalize", mean != nil) {
		mean, std = nil, nil
	} else if o.err == nil && (mean == nil || std == nil) {
		o.err = errors.New("do_normalize is true without image_mean or image_std: both are required")
		return
	}
	if o.boolean("include_top", false) && std != nil { // EfficientNet's divides twice
		for c, s := range std {
			std[c] = s * s
		}
	}
	shift := 0.
	if rescale && o.boolean("rescale_offset", false) {
		shift = 1
	}
	bgr := o.boolean("do_flip_channel_order", false)
	if o.err == nil {
		o.err = p.setNormalization(mean, std, factor, shift, bgr)
	}
}

// setNormalization sets the range to (v*factor - shift - mean) / std, where nil is mean 0 and std 1. With
// bgr the channels are reversed after that.
func (p *Preparation) setNormalization(mean, std []float64, factor, shift float64, bgr bool) error {
	p.BGR = bgr
	unit := 255 * factor // (v/255 - M) / S = (v*factor - mean) / std with M = mean/unit
	if math.Abs(unit-1) < 1e-6 {
		unit = 1
	}
	for c := range 3 {
		m, s := shift, 1.
		if mean != nil {
			m, s = m+mean[c], std[c]
		}
		if !(s > 0) {
			return fmt.Errorf("the standard deviation (image_std, std) is %g: must be above 0", s)
		}
		m32, s32 := float32(m/unit), float32(s/unit)
		if s32 == 0 || m32-m32 != 0 || s32-s32 != 0 {
			return fmt.Errorf("mean %g and standard deviation %g, rescaled by %g, are not usable numbers", m, s, factor)
		}
		p.Mean, p.Std = append(p.Mean, m32), append(p.Std, s32)
	}
	if bgr {
		for _, v := range [][]float32{p.Mean, p.Std} {
			v[0], v[2] = v[2], v[0]
		}
	}
	p.Pixels = pixelsText(p.Mean, p.Std, bgr)
	return nil
}

// pixelsText returns the text of a range, as data.pixels has it.
func pixelsText(mean, std []float32, bgr bool) string {
	flat := func(v []float32, x float32) bool { return v[0] == x && v[1] == x && v[2] == x }
	switch {
	case bgr:
		return "bgr:" + FormatNumbers(mean) + "/" + FormatNumbers(std)
	case flat(mean, 0) && flat(std, 1):
		return "unit"
	case flat(mean, 0) && flat(std, 1./255):
		return "byte"
	}
	return FormatNumbers(mean) + "/" + FormatNumbers(std)
}

// readSides reads the size of images, and how they are made square. What cannot be followed is left to
// Preparation.Unfit.
func readSides(o *object, class *processor, p *Preparation) {
	size, crop := o.extent("size"), o.extent("crop_size")
	part := o.share("crop_pct")
	square := class != nil && class.square
	square = o.boolean("default_to_square", square || class == nil && crop == (extent{}))
	if size.single > 0 && square {
		size = extent{h: size.single, w: size.single}
	} else if size.single > 0 {
		size.shortest = size.single
	}
	p.Resample = resamplingOf(o)
	if p.Resample == "" && class != nil {
		p.Resample = class.resample
	}
	if !o.boolean("do_center_crop", o.values["crop_size"] != nil) {
		crop = extent{}
	}
	if crop.single > 0 {
		crop.h, crop.w = crop.single, crop.single
	}
	if p.Unfit = unfitReason(o); p.Unfit != "" || o.err != nil {
		p.Side = max(crop.h, size.shortest, size.h)
		return
	}
	switch {
	case !o.boolean("do_resize", true):
		p.Side = crop.h
		p.setUnfit(o, "do_resize", "photos are not resized, but must have the size of the network")
	case o.values["crop_pct"] != nil && max(size.shortest, size.h) < minUncropped:
		p.Side, p.Fit = max(size.shortest, size.h), cover
		p.Shorter = beforeCrop(p.Side, part)
	case o.values["crop_pct"] != nil:
		p.Side, p.Fit = max(size.shortest, size.h), stretch
	case size.h != size.w || crop.h != crop.w:
		p.setUnfit(o, map[bool]string{true: "size", false: "crop_size"}[size.h != size.w], "only squares are supported")
	case crop.h > 0 && max(size.shortest, size.h) == 0:
		p.setUnfit(o, "size", "the size before the middle is cut out is missing")
	case crop.h > max(size.shortest, size.h):
		p.setUnfit(o, "crop_size", "it is larger than size: a border of zeros is not supported")
	case crop.h > 0 && size.h > 0:
		p.Side, p.Fit, p.Shorter = crop.h, stretch, size.h
	case crop.h > 0:
		p.Side, p.Fit, p.Shorter = crop.h, cover, size.shortest
	case size.h > 0:
		p.Side, p.Fit = size.h, stretch
	case size.shortest > 0:
		p.Side, p.Fit = size.shortest, cover
	case size.longest > 0:
		p.setUnfit(o, "size", "images whose longer side is given are not supported")
	}
	if p.Shorter <= p.Side {
		p.Shorter = 0
	}
}

// unfitReason returns what a file asks for that cannot be followed; "" for nothing.
func unfitReason(o *object) string {
	for _, name := range strings.Fields("do_pad do_thumbnail do_align_long_axis do_split_image do_image_splitting " +
		"do_pan_and_scan crop_to_patches do_grayscale") {
		if o.boolean(name, false) {
			return fmt.Sprintf("%s is true, which is not supported", o.source(name))
		}
	}
	for _, name := range strings.Fields("pad_size size_divisor max_num_patches max_image_size min_pixels max_pixels") {
		if o.values[name] != nil && !isDisabled(o.values[name]) && o.values["do_pad"] != false {
			return fmt.Sprintf("%s is %s, which is not supported", o.source(name), formatValue(o.values[name]))
		}
	}
	if name := o.text("image_processor_type") + o.text("feature_extractor_type"); strings.Contains(name, "Levit") {
		return fmt.Sprintf("%s is %s, which resizes to 8/7 of its size", o.source("image_processor_type"),
			escapeName(name))
	}
	if o.extent("size").longest > 0 && o.extent("size").shortest > 0 {
		return o.source("size") + " limits both sides, which is not supported"
	}
	return ""
}

// setUnfit records why images cannot be prepared as a key asks.
func (p *Preparation) setUnfit(o *object, name, why string) {
	p.Fit, p.Shorter = "", 0
	p.Unfit = fmt.Sprintf("%s is %s: %s", o.source(name), formatValue(o.values[name]), why)
}

// minUncropped is the size from which ConvNeXt's processor, which has crop_pct, cuts nothing out.
const minUncropped = 384

// share returns a share above 0 and at most 1; 1 if the key is absent.
func (o *object) share(name string) float64 {
	if o.values[name] == nil {
		return 1
	}
	x := o.number(name)
	if !(x > 0 && x <= 1) {
		o.setError(name, "must be above 0 and at most 1")
		return 1
	}
	return x
}

// beforeCrop returns the shorter side of an image of which the middle of the given side is that part.
func beforeCrop(side int, part float64) int { return int(min(float64(side)/part, 2*maxSide)) }

// formatValue returns a value of a file for a message.
func formatValue(v any) string { return escape.Line(fmt.Sprint(v)) }

// escapeName returns a name of a file for a message.
func escapeName(name string) string { return escape.Line(name) }

// colours returns a mean or a standard deviation: a number, or a list of one or three; nil if the
// key is absent.
func (o *object) colours(name string) []float64 {
	v := o.values[name]
	list, ok := v.([]any)
	switch {
	case v == nil:
		return nil
	case !ok:
		list = []any{v}
	}
	out := make([]float64, 3)
	for c := range out {
		ok := false
		if len(list) == 1 || len(list) == 3 {
			out[c], ok = list[c%len(list)].(float64)
		}
		if !ok {
			o.setError(name, "must be 1 or 3 numbers")
			return nil
		}
	}
	return out
}

// extent is a size of images: a single number, the shorter or the longer side, or height and width.
type extent struct{ single, shortest, longest, h, w int }

// maxSide bounds the sides of images that the files give.
const maxSide = 1 << 14

// extent reads a size: a number, a list of height and width, or an object with the keys shortest_edge, longest_edge,
// or height and width.
func (o *object) extent(name string) (s extent) {
	v := o.values[name]
	side := func(key string, v any) int {
		x, ok := v.(float64)
		if !ok || x != math.Trunc(x) || x < 1 || x > maxSide {
			if o.err == nil {
				o.err = fmt.Errorf("%s%s is %s: must be a number of pixels from 1 to %d", o.at, key, formatValue(v),
					maxSide)
			}
			return 0
		}
		return int(x)
	}
	switch x := v.(type) {
	case nil:
	case map[string]any:
		for key, to := range map[string]*int{"shortest_edge": &s.shortest, "longest_edge": &s.longest} {
			if x[key] != nil {
				*to = side(name+"."+key, x[key])
			}
		}
		if h, w := x["height"], x["width"]; h != nil || w != nil {
			s.h, s.w = side(name+".height", h), side(name+".width", w)
		}
	case []any:
		if len(x) != 2 {
			o.setError(name, "must be height and width")
			return s
		}
		s.h, s.w = side(name, x[0]), side(name, x[1])
	default:
		s.single = side(name, v)
	}
	return s
}

// resamplings are the names of Pillow's numbers.
func resamplings() []string {
	return []string{"nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"}
}

// resamplingOf returns the name of a preprocessor's resampling, which is Pillow's number for it or its name; "" if
// it is not stated.
func resamplingOf(o *object) string {
	x, ok := o.values["resample"].(float64)
	if ok && x == math.Trunc(x) && x >= 0 && int(x) < len(resamplings()) {
		return resamplings()[int(x)]
	}
	if ok {
		o.setError("resample", "must be 0 to %d, or a name", len(resamplings())-1)
		return ""
	}
	return o.resampling("resample")
}

// resampling returns the name of a resampling; "" if the key is absent.
func (o *object) resampling(name string) string {
	x := o.text(name)
	if x != "" && !slices.Contains(resamplings(), x) {
		o.setError(name, "must be one of %s", strings.Join(resamplings(), ", "))
		return ""
	}
	return x
}
