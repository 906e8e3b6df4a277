package published

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// The files that say how a network was published.
const (
	processorFile = "preprocessor_config.json"
	configFile    = "config.json"
	openCLIPFile  = "open_clip_config.json"
)

// maxConfigFile bounds these files, which have some kilobytes.
const maxConfigFile = 1 << 20

// Weights returns the file of weights of a folder of transformers, timm or OpenCLIP, and the configuration beside
// it; "" if the folder does not have both.
func Weights(dir string) (weights, config string) {
	is := func(name string) bool {
		st, err := os.Stat(filepath.Join(dir, name))
		return err == nil && st.Mode().IsRegular()
	}
	for _, kind := range []struct{ config, weights string }{
		{configFile, "model.safetensors open_clip_model.safetensors pytorch_model.bin open_clip_pytorch_model.bin"},
		{openCLIPFile, "open_clip_model.safetensors model.safetensors open_clip_pytorch_model.bin pytorch_model.bin"},
	} {
		if !is(kind.config) {
			continue
		}
		for name := range strings.FieldsSeq(kind.weights) {
			named := strings.HasPrefix(name, "open_clip")
			if is(name) && (!named || kind.config == openCLIPFile) {
				return filepath.Join(dir, name), filepath.Join(dir, kind.config)
			}
		}
	}
	return "", ""
}

// ReadPreparation returns how images are prepared by the files in the folder of a network: preprocessor_config.json,
// config.json, or without these open_clip_config.json. path is the folder, or a file in it or in its sub-folder
// onnx. What no file says is zero. Notes say what is not known here. An error names the file and the key.
func ReadPreparation(path string) (p Preparation, notes []string, err error) {
	dir := path
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		dir = filepath.Dir(path)
	}
	dirs := []string{dir}
	if whole, err := filepath.Abs(dir); err == nil && filepath.Base(whole) == "onnx" {
		dirs = append(dirs, filepath.Dir(whole))
	}
	open := strings.HasPrefix(filepath.Base(path), "open_clip_")
	files := []string{processorFile, configFile, openCLIPFile}
	if open {
		files = []string{openCLIPFile, processorFile, configFile}
	}
	config, configPath, err := readFirst(dirs, configFile) // its model_type tells the class of a preprocessor
	if err != nil {
		return p, nil, err
	}
	for _, name := range files {
		if name == openCLIPFile && !open && p.Pixels != "" {
			continue
		}
		o, at := config, configPath
		if name != configFile {
			if o, at, err = readFirst(dirs, name); err != nil {
				return p, nil, err
			}
		}
		if o == nil {
			continue
		}
		said, also := parsePreparation(o, config)
		if o.err != nil {
			return p, nil, fmt.Errorf("%s: %w: correct it, or move the network to a folder without it", at, o.err)
		}
		p.fill(&said, name)
		notes = append(notes, also...)
	}
	return p, notes, nil
}

// parsePreparation reads the preparation that one of the files states. config is config.json, or nil.
func parsePreparation(o, config *object) (Preparation, []string) {
	switch o.file {
	case processorFile:
		modelType := ""
		if config != nil {
			modelType, _ = config.values["model_type"].(string)
		}
		return parseProcessor(o, modelType)
	case openCLIPFile:
		return parseOpenCLIP(o), nil
	}
	return parseConfig(o), nil
}

// fill takes what another file says of what p leaves open.
func (p *Preparation) fill(said *Preparation, file string) {
	if p.Pixels == "" && said.Pixels != "" {
		p.Pixels, p.Mean, p.Std, p.BGR, p.Source = said.Pixels, said.Mean, said.Std, said.BGR, file
	}
	if p.Side == 0 {
		p.Side = said.Side
	}
	if p.Fit+p.Unfit == "" && said.Fit+said.Unfit != "" {
		p.Fit, p.Shorter, p.Unfit, p.Resample = said.Fit, said.Shorter, said.Unfit, said.Resample
		p.FitSource = file
	}
}

// readFirst reads a file from the first of the folders that has it; nil if none has.
func readFirst(dirs []string, name string) (o *object, path string, err error) {
	for _, dir := range dirs {
		path = filepath.Join(dir, name)
		text, err := fileinfo.ReadAtMost(path, name, maxConfigFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, path, err
		}
		o, err := parse(name, text)
		if err != nil {
			return nil, path, fmt.Errorf("%s: %w: correct it, or move the network to a folder without it", path, err)
		}
		return o, path, nil
	}
	return nil, "", nil
}

// parse reads a file's text. The sections of config.json have names of their own.
func parse(name string, text []byte) (*object, error) {
	o := &object{file: name}
	if err := strictjson.UnmarshalLoose(text, &o.values); err != nil {
		return nil, err
	}
	switch {
	case name == processorFile:
		o.rows = tableOf(processorSection)
	case name == openCLIPFile || o.values["model_cfg"] != nil:
		o.rows = tableOf(openSection)
	case o.values["architecture"] != nil || o.values["pretrained_cfg"] != nil:
		o.rows = tableOf(timmSection)
	case o.values["vision_config"] != nil || o.values["text_config"] != nil:
		o.rows = tableOf(jointSection)
	default:
		o.rows = tableOf(towerSection)
	}
	return o, nil
}

// parseConfig reads the preparation out of config.json: of transformers the side of images, of timm more.
func parseConfig(o *object) (p Preparation) {
	p.Side = o.extent("image_size").square()
	if v := o.part("vision_config", towerSection); v != nil {
		p.Side = max(p.Side, v.extent("image_size").square())
		o.err = v.err
	}
	t := o.part("pretrained_cfg", pretrainedSection)
	if t == nil {
		return p
	}
	if input, ok := t.values["input_size"].([]any); ok && len(input) == 3 {
		side := &object{file: o.file, at: t.at, values: map[string]any{"input_size": input[1:]}, err: t.err}
		p.Side = side.extent("input_size").square()
		t.err = side.err
	} else if t.values["input_size"] != nil {
		t.setError("input_size", "must be channels, height and width")
	}
	mean, std := t.colours("mean"), t.colours("std")
	if mean == nil {
		mean = []float64{0.485, 0.456, 0.406} // what timm takes where a key is absent, as below
	}
	if std == nil {
		std = []float64{0.229, 0.224, 0.225}
	}
	if t.err == nil {
		if err := p.setNormalization(mean, std, 1./255, 0, false); err != nil {
			t.err = fmt.Errorf("pretrained_cfg: %w", err)
		}
	}
	part, mode := t.share("crop_pct"), t.text("crop_mode")
	if t.values["crop_pct"] == nil {
		part = 0.875
	}
	if p.Resample = t.resampling("interpolation"); p.Resample == "" {
		p.Resample = "bicubic"
	}
	if p.Side > 0 {
		p.Fit, p.Shorter = cover, beforeCrop(p.Side, part)
	}
	switch mode {
	case "", "center":
	case "squash":
		p.Fit = stretch
	default:
		p.setUnfit(t, "crop_mode", "only center and squash are supported")
	}
	if p.Shorter <= p.Side {
		p.Shorter = 0
	}
	o.err = t.err
	return p
}

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

// parseOpenCLIP reads the preparation out of open_clip_config.json. What preprocess_cfg leaves out is OpenCLIP's
// default.
func parseOpenCLIP(o *object) (p Preparation) {
	model := o.part("model_cfg", modelSection)
	if model == nil {
		return p
	}
	vision := model.part("vision_cfg", visionSection)
	if vision == nil {
		o.err = model.err
		return p
	}
	i := o.part("preprocess_cfg", imagesSection)
	if i == nil {
		i = &object{file: o.file, at: "preprocess_cfg.", rows: tableOf(imagesSection)}
	}
	i.check(true)
	mean, std := i.colours("mean"), i.colours("std")
	if mean == nil {
		mean = []float64{0.48145466, 0.4578275, 0.40821073}
	}
	if std == nil {
		std = []float64{0.26862954, 0.26130258, 0.27577711}
	}
	p.Resample = "bicubic" // also where interpolation is random, which is so in training alone
	switch x := i.text("interpolation"); x {
	case "", "bicubic", "random":
	case "bilinear":
		p.Resample = x
	default:
		i.setError("interpolation", "must be bicubic or bilinear")
	}
	p.Side = i.extent("size").square()
	if p.Side == 0 {
		p.Side = vision.extent("image_size").square()
	}
	switch mode := i.text("resize_mode"); mode {
	case "", "shortest":
		p.Fit = cover
	case "squash":
		p.Fit = stretch
	default:
		p.setUnfit(i, "resize_mode", "only shortest and squash are supported")
	}
	if o.err = errors.Join(vision.err, i.err); o.err == nil {
		o.err = p.setNormalization(mean, std, 1./255, 0, false)
	}
	return p
}
