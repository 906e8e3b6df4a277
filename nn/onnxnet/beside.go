package onnxnet

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// The files in which Hugging Face's libraries and timm write how a network's images are prepared.
const (
	processorFile = "preprocessor_config.json"
	configFile    = "config.json"
)

// maxBeside bounds these files, which have some kilobytes.
const maxBeside = 1 << 20

// Beside returns how images are prepared by preprocessor_config.json and config.json in the folder
// of a network, as Hugging Face's libraries and timm write them. path is the folder, or a file in it
// or in its sub-folder onnx. What neither file says is zero. Notes say what cannot be followed. An
// error names the file and the key.
func Beside(path string) (p Preparation, notes []string, err error) {
	dir := path
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		dir = filepath.Dir(path)
	}
	dirs := []string{dir}
	if whole, err := filepath.Abs(dir); err == nil && filepath.Base(whole) == "onnx" {
		dirs = append(dirs, filepath.Dir(whole))
	}
	for _, name := range []string{processorFile, configFile} {
		text, at, err := readFirst(dirs, name)
		if err != nil {
			return p, nil, err
		}
		if text == nil {
			continue
		}
		parse := parseProcessor
		if name == configFile {
			parse = parseConfig
		}
		said, resampling, err := parse(text)
		if err != nil {
			return p, nil, fmt.Errorf("%s: %w: correct it, or move the network to a folder without it", at, err)
		}
		if p.Pixels == "" && said.Pixels != "" {
			p.Pixels, p.Mean, p.Std, p.BGR = said.Pixels, said.Mean, said.Std, said.BGR
			p.Source = name
		}
		if p.Side == 0 {
			p.Side = said.Side
		}
		if p.Fit == "" && said.Fit != "" {
			p.Fit, p.Shorter, p.Resample = said.Fit, said.Shorter, resampling
		}
	}
	return p, notes, nil
}

// readFirst reads a file from the first of the folders that has it; nil if none has.
func readFirst(dirs []string, name string) (text []byte, path string, err error) {
	for _, dir := range dirs {
		path = filepath.Join(dir, name)
		text, err = regular.ReadWithin(path, name, maxBeside)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return text, path, err
		}
	}
	return nil, "", nil
}

// processor is what preprocessor_config.json says. Other keys are ignored. Fields that have
// several forms are of type any.
type processor struct {
	Mean      any      `json:"image_mean"`
	Std       any      `json:"image_std"`
	Normalize *bool    `json:"do_normalize"`
	Rescale   *bool    `json:"do_rescale"`
	Factor    *float64 `json:"rescale_factor"`
	Offset    *bool    `json:"rescale_offset"`
	BGR       *bool    `json:"do_flip_channel_order"`
	Resize    *bool    `json:"do_resize"`
	Center    *bool    `json:"do_center_crop"`
	Size      any      `json:"size"`
	Crop      any      `json:"crop_size"`
	CropPart  *float64 `json:"crop_pct"`
	Resample  any      `json:"resample"`
}

// is returns the truth that a key has, or otherwise if the key is absent.
func is(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}

// parseProcessor reads preprocessor_config.json.
func parseProcessor(text []byte) (p Preparation, resampling string, err error) {
	var c processor
	if err := strictjson.Loose(text, &c); err != nil {
		return p, "", err
	}
	if err := c.values(&p); err != nil {
		return p, "", err
	}
	if err := c.sides(&p); err != nil {
		return p, "", err
	}
	return p, resamplingOf(c.Resample), nil
}

// values reads the range of pixel values. Rescaling multiplies a value of 0 to 255 by a factor.
func (c *processor) values(p *Preparation) error {
	mean, err := perColour("image_mean", c.Mean)
	if err != nil {
		return err
	}
	std, err := perColour("image_std", c.Std)
	if err != nil {
		return err
	}
	factor := 1. / 255
	if c.Factor != nil {
		factor = *c.Factor
	}
	if !(factor > 0 && factor <= 1e6) {
		return fmt.Errorf("rescale_factor is %g: must be above 0 and at most 1e6", factor)
	}
	if c.Mean == nil && c.Std == nil && c.Normalize == nil && c.Rescale == nil && c.Factor == nil {
		return nil // it is no configuration of images
	}
	if !is(c.Rescale, true) {
		factor = 1
	}
	if !is(c.Normalize, c.Mean != nil) {
		mean, std = nil, nil
	} else if mean == nil || std == nil {
		return errors.New("do_normalize is true without image_mean or image_std: both are required")
	}
	shift := 0.
	if is(c.Rescale, true) && is(c.Offset, false) {
		shift = 1
	}
	return p.normalised(mean, std, factor, shift, is(c.BGR, false))
}

// normalised sets the range to (v*factor - shift - mean) / std, where nil is mean 0 and std 1. With
// bgr the channels are reversed after that.
func (p *Preparation) normalised(mean, std []float64, factor, shift float64, bgr bool) error {
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
		return "bgr:" + joinNumbers(mean) + "/" + joinNumbers(std)
	case flat(mean, 0) && flat(std, 1):
		return unitPixels
	case flat(mean, 0) && flat(std, 1./255):
		return bytePixels
	}
	return joinNumbers(mean) + "/" + joinNumbers(std)
}

// sides reads the size of images, and how they are made square.
func (c *processor) sides(p *Preparation) error {
	size, err := extentOf("size", c.Size)
	if err != nil {
		return err
	}
	crop, err := extentOf("crop_size", c.Crop)
	if err != nil {
		return err
	}
	if c.CropPart != nil && !(*c.CropPart > 0 && *c.CropPart <= 1) {
		return fmt.Errorf("crop_pct is %g: must be above 0 and at most 1", *c.CropPart)
	}
	if !is(c.Resize, true) {
		size = extent{}
	}
	if !is(c.Center, c.Crop != nil) {
		crop = extent{}
	}
	if c.CropPart != nil {
		size.shortest = max(size.shortest, size.single)
	}
	switch {
	case crop.square() > 0: // the shorter side is resized, or both, and the middle cut out
		p.Side, p.Fit = crop.square(), "cover"
		p.Shorter = max(size.shortest, size.single, size.square())
	case size.shortest > 0 && c.CropPart != nil && size.shortest < wholeFrom:
		p.Side, p.Fit = size.shortest, "cover"
		p.Shorter = beforeCrop(size.shortest, *c.CropPart)
	case size.shortest > 0 && c.CropPart != nil:
		p.Side, p.Fit = size.shortest, "stretch"
	case size.shortest > 0:
		p.Side, p.Fit = size.shortest, "cover"
	case size.square() > 0:
		p.Side, p.Fit = size.square(), "stretch"
	}
	if p.Shorter <= p.Side {
		p.Shorter = 0
	}
	return nil
}

// wholeFrom is the size from which ConvNeXt's processor, which has crop_pct, cuts nothing out.
const wholeFrom = 384

// config is what config.json says: of transformers the side of images, of timm more.
type config struct {
	Side   any `json:"image_size"`
	Vision struct {
		Side any `json:"image_size"`
	} `json:"vision_config"`
	Timm *struct {
		Mean          any      `json:"mean"`
		Std           any      `json:"std"`
		Input         any      `json:"input_size"`
		CropPart      *float64 `json:"crop_pct"`
		CropMode      *string  `json:"crop_mode"`
		Interpolation *string  `json:"interpolation"`
	} `json:"pretrained_cfg"`
}

// parseConfig reads config.json.
func parseConfig(text []byte) (p Preparation, resampling string, err error) {
	var c config
	if err := strictjson.Loose(text, &c); err != nil {
		return p, "", err
	}
	for _, s := range []struct {
		key string
		v   any
	}{{"image_size", c.Side}, {"vision_config.image_size", c.Vision.Side}} {
		side, err := extentOf(s.key, s.v)
		if err != nil {
			return p, "", err
		}
		p.Side = max(p.Side, side.square())
	}
	t := c.Timm
	if t == nil {
		return p, "", nil
	}
	input, ok := t.Input.([]any)
	if ok && len(input) == 3 {
		side, err := extentOf("pretrained_cfg.input_size", input[1:])
		if err != nil {
			return p, "", err
		}
		p.Side = side.square()
	} else if t.Input != nil {
		return p, "", fmt.Errorf("pretrained_cfg.input_size is %s: must be channels, height and width", shown(t.Input))
	}
	mean, err := perColour("pretrained_cfg.mean", t.Mean)
	if err != nil {
		return p, "", err
	}
	std, err := perColour("pretrained_cfg.std", t.Std)
	if err != nil {
		return p, "", err
	}
	if mean != nil && std != nil {
		if err := p.normalised(mean, std, 1./255, 0, false); err != nil {
			return p, "", fmt.Errorf("pretrained_cfg: %w", err)
		}
	}
	part := 1.
	if t.CropPart != nil {
		if part = *t.CropPart; !(part > 0 && part <= 1) {
			return p, "", fmt.Errorf("pretrained_cfg.crop_pct is %g: must be above 0 and at most 1", part)
		}
	}
	if p.Side > 0 {
		p.Fit = "cover"
		if t.CropMode != nil && *t.CropMode == "squash" {
			p.Fit = "stretch"
		} else if shorter := beforeCrop(p.Side, part); shorter > p.Side {
			p.Shorter = shorter
		}
	}
	if t.Interpolation != nil {
		resampling = *t.Interpolation
	}
	return p, resampling, nil
}

// beforeCrop returns the shorter side of an image of which the middle of the given side is that part.
func beforeCrop(side int, part float64) int { return int(min(float64(side)/part, 2*maxSide)) }

// shown returns a value of a file for a message.
func shown(v any) string { return escape.Line(fmt.Sprint(v)) }

// perColour reads a mean or a standard deviation: a number, or a list of one or three; nil if the
// key is absent.
func perColour(key string, v any) ([]float64, error) {
	list, ok := v.([]any)
	switch {
	case v == nil:
		return nil, nil
	case !ok:
		list = []any{v}
	}
	out := make([]float64, 3)
	for c := range out {
		if len(list) != 1 && len(list) != 3 {
			return nil, fmt.Errorf("%s is %s: must be 1 or 3 numbers", key, shown(v))
		}
		x, ok := list[c%len(list)].(float64)
		if !ok {
			return nil, fmt.Errorf("%s is %s: must be 1 or 3 numbers", key, shown(v))
		}
		out[c] = x
	}
	return out, nil
}

// extent is a size of images: a single number, the shorter side, or height and width.
type extent struct{ single, shortest, h, w int }

// square returns the side of a square; 0 if the size is not one.
func (s extent) square() int {
	if s.single > 0 {
		return s.single
	}
	if s.h == s.w {
		return s.h
	}
	return 0
}

// maxSide bounds the sides of images that the files give.
const maxSide = 1 << 14

// extentOf reads a size: a number, a list of height and width, or an object with one of the keys
// shortest_edge, or height and width. Other objects give no size.
func extentOf(key string, v any) (s extent, err error) {
	side := func(key string, v any) int {
		x, ok := v.(float64)
		if (!ok || x != math.Trunc(x) || x < 1 || x > maxSide) && err == nil {
			err = fmt.Errorf("%s is %s: must be a number of pixels from 1 to %d", key, shown(v), maxSide)
			return 0
		}
		return int(x)
	}
	switch x := v.(type) {
	case nil:
	case map[string]any:
		if e := x["shortest_edge"]; e != nil {
			s.shortest = side(key+".shortest_edge", e)
		}
		if h, w := x["height"], x["width"]; h != nil || w != nil {
			s.h, s.w = side(key+".height", h), side(key+".width", w)
		}
	case []any:
		if len(x) != 2 {
			return s, fmt.Errorf("%s is %s: must be height and width", key, shown(v))
		}
		s.h, s.w = side(key, x[0]), side(key, x[1])
	default:
		s.single = side(key, v)
	}
	return s, err
}

// resamplingOf names a resampling: Pillow's number for it, or its name.
func resamplingOf(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case float64:
		for k, name := range []string{"nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"} {
			if x == float64(k) {
				return name
			}
		}
		return "resampling " + strconv.FormatFloat(x, 'g', -1, 64)
	}
	return ""
}
