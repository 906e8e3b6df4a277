package published

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writePreparation reads a folder with the given files.
func writePreparation(t *testing.T, files map[string]string) (Preparation, []string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return ReadPreparation(dir)
}

// TestProcessors: what the processors of Hugging Face's libraries say, in the forms that their
// versions write.
func TestProcessors(t *testing.T) {
	const half = `"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]`
	for text, want := range map[string]Preparation{
		`{` + half + `, "size": 224}`: {Pixels: "0.5,0.5,0.5/0.5,0.5,0.5", Side: 224, Fit: "stretch"},
		`{` + half + `, "size": {"height": 224, "width": 224}, "do_rescale": true, "rescale_factor": ` +
			`0.00392156862745098}`: {Pixels: "0.5,0.5,0.5/0.5,0.5,0.5", Side: 224, Fit: "stretch"},
		`{` + half + `, "size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}}`: {
			Pixels: "0.5,0.5,0.5/0.5,0.5,0.5", Side: 224, Shorter: 256, Fit: "cover"},
		`{` + half + `, "size": 224, "crop_size": 224, "do_center_crop": true}`: {
			Pixels: "0.5,0.5,0.5/0.5,0.5,0.5", Side: 224, Fit: "cover"},
		`{` + half + `, "size": {"shortest_edge": 224}, "crop_pct": 0.875}`: {
			Pixels: "0.5,0.5,0.5/0.5,0.5,0.5", Side: 224, Shorter: 256, Fit: "cover"},
		`{` + half + `, "size": 224, "crop_pct": 0.875, "resample": 2}`: {
			Pixels: "0.5,0.5,0.5/0.5,0.5,0.5", Side: 224, Shorter: 256, Fit: "cover"},
		`{` + half + `, "size": {"shortest_edge": 384}, "crop_pct": 0.875}`: {
			Pixels: "0.5,0.5,0.5/0.5,0.5,0.5", Side: 384, Fit: "stretch"},
		`{` + half + `, "size": {"shortest_edge": 224}, "crop_size": 192, "do_center_crop": false}`: {
			Pixels: "0.5,0.5,0.5/0.5,0.5,0.5", Side: 224, Fit: "cover"},
		`{` + half + `, "size": {"longest_edge": 1333}}`:             {Pixels: "0.5,0.5,0.5/0.5,0.5,0.5"},
		`{` + half + `, "size": {"height": 256, "width": 128}}`:      {Pixels: "0.5,0.5,0.5/0.5,0.5,0.5"},
		`{` + half + `, "size": 224, "do_resize": false}`:            {Pixels: "0.5,0.5,0.5/0.5,0.5,0.5"},
		`{` + half + `, "do_normalize": false}`:                      {Pixels: "unit"},
		`{` + half + `, "do_normalize": false, "do_rescale": false}`: {Pixels: "byte"},
		`{` + half + `, "do_rescale": false}`: {Pixels: "0.0019607844,0.0019607844,0.0019607844/" +
			"0.0019607844,0.0019607844,0.0019607844"},
		`{"image_mean": 0, "image_std": 1, "rescale_factor": 0.00784313725490196, "rescale_offset": true}`: {
			Pixels: "0.5,0.5,0.5/0.5,0.5,0.5"}, // v / 127.5 - 1
		`{"do_rescale": true, "do_flip_channel_order": true, "do_normalize": false}`: {Pixels: "bgr:0,0,0/1,1,1",
			BGR: true},
		`{"image_mean": [0.1, 0.2, 0.3], "image_std": [1, 2, 4], "do_flip_channel_order": true}`: {
			Pixels: "bgr:0.3,0.2,0.1/4,2,1", BGR: true},
		`{"image_mean": [0.2], "image_std": [0.3]}`:    {Pixels: "0.2,0.2,0.2/0.3,0.3,0.3"},
		`{"image_mean": null, "image_std": null}`:      {},
		`{"feature_size": 80, "sampling_rate": 16000}`: {},
		`{}`: {},
	} {
		p, _, err := writePreparation(t, map[string]string{processorFile: text})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		source := ""
		if want.Pixels != "" {
			source = processorFile
		}
		if p.Pixels != want.Pixels || p.Side != want.Side || p.Shorter != want.Shorter || p.Fit != want.Fit ||
			p.BGR != want.BGR || p.Source != source {
			t.Errorf("%s:\n%+v, want\n%+v", text, p, want)
		}
	}
}

// TestConfigs: what config.json says, of transformers and of timm, and which file goes before.
func TestConfigs(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  Preparation
	}{
		{map[string]string{configFile: `{"model_type": "vit", "image_size": 384}`}, Preparation{Side: 384}},
		{map[string]string{configFile: `{"image_size": [256, 256]}`}, Preparation{Side: 256}},
		{map[string]string{configFile: `{"vision_config": {"image_size": 336}, "text_config": {}}`},
			Preparation{Side: 336}},
		{map[string]string{configFile: `{"architecture": "resnet50", "pretrained_cfg": {"mean": [0.485, 0.456, 0.406], ` +
			`"std": [0.229, 0.224, 0.225], "input_size": [3, 224, 224], "crop_pct": 0.95, "interpolation": "bicubic"}}`},
			Preparation{Pixels: "0.485,0.456,0.406/0.229,0.224,0.225", Side: 224, Shorter: 235, Fit: "cover",
				Source: configFile, Resample: "bicubic"}},
		{map[string]string{configFile: `{"pretrained_cfg": {"mean": [0.5], "std": [0.5], "input_size": [3, 256, 256], ` +
			`"crop_mode": "squash", "crop_pct": 1.0, "interpolation": "bilinear"}}`},
			Preparation{Pixels: "0.5,0.5,0.5/0.5,0.5,0.5", Side: 256, Fit: "stretch", Source: configFile,
				Resample: "bilinear"}},
		{map[string]string{configFile: `{"image_size": 224}`,
			processorFile: `{"size": {"height": 256, "width": 256}, ` +
				`"image_mean": [0, 0, 0], "image_std": [1, 1, 1], "resample": 3}`},
			Preparation{Pixels: "unit", Side: 256, Fit: "stretch", Source: processorFile,
				Resample: "bicubic"}},
		{map[string]string{configFile: `{"pretrained_cfg": {"input_size": [3, 224, 224], "crop_pct": 0.875}}`,
			processorFile: `{"do_normalize": false, "do_rescale": true}`},
			Preparation{Pixels: "unit", Side: 224, Shorter: 256, Fit: "cover", Source: processorFile,
				Resample: "bicubic"}},
		{nil, Preparation{}},
	} {
		p, notes, err := writePreparation(t, c.files)
		if err != nil {
			t.Errorf("%v: %v", c.files, err)
		}
		p.Mean, p.Std = nil, nil
		if p.Pixels != c.want.Pixels || p.Side != c.want.Side || p.Shorter != c.want.Shorter || p.Fit != c.want.Fit ||
			p.Source != c.want.Source || p.Resample != c.want.Resample || len(notes) > 0 {
			t.Errorf("%v:\n%+v, want\n%+v", c.files, p, c.want)
		}
	}
}

// TestProblemsBeside: an error names the file and the key, and repeats little of it.
func TestProblemsBeside(t *testing.T) {
	long := strings.Repeat("9, ", 5000)
	for _, c := range []struct{ file, text, want string }{
		{processorFile, `{`, "ends too early"},
		{processorFile, `{"image_mean": NaN}`, "byte"},
		{processorFile, strings.Repeat(`{"size":`, 20000), "within one another"},
		{processorFile, `{"x": "` + strings.Repeat("a", maxConfigFile) + `"}`, "1 MiB"},
		{processorFile, `[1, 2]`, "an array, which it cannot be"},
		{processorFile, `{"image_mean": [0.5, 0.5], "image_std": [1, 1, 1]}`,
			"image_mean is [0.5 0.5]: must be 1 or 3"},
		{processorFile, `{"image_mean": [` + long + `1], "image_std": 1}`, "image_mean is [9 9"},
		{processorFile, `{"image_mean": [0.5, null, 0.5], "image_std": 1}`, "image_mean"},
		{processorFile, `{"image_mean": {"r": 1}, "image_std": 1}`, "image_mean"},
		{processorFile, `{"image_mean": 0.5, "image_std": [1, 0, 1]}`, "image_std"},
		{processorFile, `{"image_mean": 0.5, "image_std": -1}`, "is -1: must be above 0"},
		{processorFile, `{"image_mean": 0.5, "image_std": 1e-300}`, "not usable numbers"},
		{processorFile, `{"image_mean": 1e300, "image_std": 1}`, "not usable numbers"},
		{processorFile, `{"image_mean": 1e999, "image_std": 1}`, "1e999"},
		{processorFile, `{"image_mean": 0.5}`, "both are required"},
		{processorFile, `{"do_normalize": true}`, "both are required"},
		{processorFile, `{"do_normalize": "yes"}`, "do_normalize"},
		{processorFile, `{"rescale_factor": 0}`, "rescale_factor is 0"},
		{processorFile, `{"rescale_factor": -1}`, "rescale_factor is -1"},
		{processorFile, `{"size": -224}`, "size is -224: must be a number of pixels from 1 to 16384"},
		{processorFile, `{"size": 1e9}`, "size"},
		{processorFile, `{"size": 22.5}`, "size is 22.5"},
		{processorFile, `{"size": {"height": 224}}`, "size.width"},
		{processorFile, `{"size": {"shortest_edge": "big"}}`, "size.shortest_edge is big"},
		{processorFile, `{"crop_size": [1, 2, 3]}`, "crop_size is [1 2 3]: must be height and width"},
		{processorFile, `{"crop_size": true}`, "crop_size is true"},
		{processorFile, `{"crop_pct": 0}`, "crop_pct is 0"},
		{configFile, `{"image_size": 0}`, "image_size is 0"},
		{configFile, `{"vision_config": {"image_size": "x"}}`, "vision_config.image_size is x"},
		{configFile, `{"pretrained_cfg": {"input_size": [224, 224]}}`, "pretrained_cfg.input_size"},
		{configFile, `{"pretrained_cfg": {"input_size": [3, -1, 224]}}`, "pretrained_cfg.input_size"},
		{configFile, `{"pretrained_cfg": {"mean": [1, 2], "std": [1, 1, 1]}}`, "pretrained_cfg.mean"},
		{configFile, `{"pretrained_cfg": {"mean": 0, "std": 0}}`, "pretrained_cfg"},
		{configFile, `{"pretrained_cfg": {"crop_pct": 1e-300, "input_size": [3, 8, 8]}}`, ""},
		{processorFile, `{"size": {"shortest_edge": 224}, "crop_pct": 1e-300}`, ""},
		{configFile, `{"pretrained_cfg": {"crop_pct": -1}}`, "pretrained_cfg.crop_pct"},
		{configFile, `{"pretrained_cfg": {"crop_mode": 3}}`, "crop_mode"},
	} {
		p, _, err := writePreparation(t, map[string]string{c.file: c.text})
		short := c.text[:min(len(c.text), 100)]
		if c.want == "" {
			if err != nil || p.Shorter != 2*maxSide {
				t.Errorf("%s: %+v, %v", short, p, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.file) ||
			len(err.Error()) > 700 {
			t.Errorf("%s: %v, want %q", short, err, c.want)
		}
		for _, v := range append(p.Mean, p.Std...) {
			if math.IsNaN(float64(v)) {
				t.Errorf("%s: %v", short, p)
			}
		}
	}
}

// A preprocessor that names neither its class nor a resampling has those of its network's model_type. Its class counts
// before that.
func TestProcessorOfModelType(t *testing.T) {
	const half = `"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "size": 224`
	for _, c := range []struct{ text, modelType, resample, fit string }{
		{half, "clip", "bicubic", "cover"}, {half, "vit", "bilinear", "stretch"}, {half, "dinov2", "bicubic", "cover"},
		{half, "siglip", "bicubic", "stretch"}, {half, "convnext", "bilinear", "cover"},
		{half + `, "resample": 1`, "clip", "lanczos", "cover"},
		{half + `, "image_processor_type": "ViTImageProcessor"`, "clip", "bilinear", "stretch"},
		{half, "another", "", "stretch"},
	} {
		p, notes, err := writePreparation(t, map[string]string{processorFile: "{" + c.text + "}",
			configFile: `{"model_type": "` + c.modelType + `"}`})
		assumed := strings.Contains(strings.Join(notes, " "), "bilinear is assumed")
		if err != nil || p.Resample != c.resample || p.Fit != c.fit || assumed != (c.resample == "") {
			t.Errorf("%s of %s: %+v, %q, %v", c.text, c.modelType, p, notes, err)
		}
	}
}
