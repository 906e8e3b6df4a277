package published

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn/zoo"
)

// nested returns the text of a file whose part at path has one more value.
func nested(base string, path []string, key string, value any) string {
	var all map[string]any
	if err := json.Unmarshal([]byte(base), &all); err != nil {
		panic(err)
	}
	at := all
	for _, p := range path {
		at = at[p].(map[string]any)
	}
	at[key] = value
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// reader returns a function that reads the text of a file in the folder of a network.
func reader(t *testing.T, file string) func(text string) error {
	dir, weights := t.TempDir(), "model.safetensors"
	if file == openCLIPFile {
		weights = "open_clip_model.safetensors"
	}
	config := filepath.Join(dir, file)
	return func(text string) error {
		if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if file != processorFile {
			_, err := Read(filepath.Join(dir, weights), config)
			return err
		}
		p, _, err := ReadPreparation(dir)
		if err == nil && p.Unfit != "" {
			err = errors.New(p.Unfit)
		}
		return err
	}
}

// TestEveryKeyCounts: a value of another type is noticed, under every key that is said to be followed, compared with
// the weights or refused, and under no other. So the table says what is done.
func TestEveryKeyCounts(t *testing.T) {
	const vit = `{"model_type": "vit", "hidden_size": 8}`
	const clip = `{"model_type": "clip", "vision_config": {}, "text_config": {}}`
	const timm = `{"architecture": "vit_base_patch16_224", "pretrained_cfg": {"input_size": [3, 8, 8]}, "model_args": {}}`
	const open = `{"model_cfg": {"vision_cfg": {}, "text_cfg": {}}, "preprocess_cfg": {}}`
	const openTimm = `{"model_cfg": {"vision_cfg": {"timm_model_name": "vit_base_patch16_siglip_224", "timm_proj": "none", ` +
		`"timm_model_kwargs": {}}, "text_cfg": {}}, "preprocess_cfg": {}}`
	const processor = `{"image_mean": 0.5, "image_std": 0.5, "size": 8}`
	// These are read for texts alone, for ConvNeXt alone, or with another key.
	texts := "eos_token_id pad_token_id max_position_embeddings vocab_size"
	stages := "depths hidden_sizes num_stages"
	for _, c := range []struct {
		section section
		file    string
		base    string
		path    []string
		but     string // keys that this reader leaves alone
	}{
		{towerSection, configFile, vit, nil, texts + " " + stages},
		{towerSection, configFile, clip, []string{"vision_config"}, texts + " " + stages + " model_type"},
		{jointSection, configFile, clip, nil, "text_config text_config_dict"},
		{timmSection, configFile, timm, nil, "model_type"},
		{pretrainedSection, configFile, timm, []string{"pretrained_cfg"}, ""},
		{argsSection, configFile, timm, []string{"model_args"}, ""},
		{openSection, openCLIPFile, open, nil, ""},
		{modelSection, openCLIPFile, open, []string{"model_cfg"}, "text_cfg"},
		{visionSection, openCLIPFile, open, []string{"model_cfg", "vision_cfg"}, "timm_pool timm_model_kwargs"},
		{argsSection, openCLIPFile, openTimm, []string{"model_cfg", "vision_cfg", "timm_model_kwargs"}, ""},
		{imagesSection, openCLIPFile, open, []string{"preprocess_cfg"}, ""},
		{processorSection, processorFile, processor, nil, ""},
	} {
		read := reader(t, c.file)
		if err := read(c.base); err != nil {
			t.Fatalf("%s: %v", c.base, err)
		}
		rows := tableOf(c.section)
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			but := slices.Contains(strings.Fields(c.but), key)
			wrong := any([]any{map[string]any{"x": 1}})
			err := read(nested(c.base, c.path, key, wrong))
			switch counts := rows[key].use != useIgnored; {
			case counts && !but && (err == nil || !strings.Contains(err.Error(), key)):
				t.Errorf("%s: %s is wrong: %v", c.section, key, err)
			case !counts && err != nil:
				t.Errorf("%s: %s does not count: %v", c.section, key, err)
			}
			if err := read(nested(c.base, c.path, key, nil)); err != nil && !slices.Contains(c.path, key) &&
				!strings.Contains(c.base, key) {
				t.Errorf("%s: %s is null: %v", c.section, key, err)
			}
		}
		err := read(nested(c.base, c.path, "other_way", 1))
		strict := c.section != jointSection && c.section != timmSection && c.section != openSection &&
			c.section != processorSection
		if (err != nil && strings.Contains(err.Error(), "other_way")) != strict {
			t.Errorf("%s: an unknown key: %v", c.section, err)
		}
	}
}

// TestStages: the stages of a ConvNeXt are kept for the comparison with its weights.
func TestStages(t *testing.T) {
	for _, key := range strings.Fields("depths hidden_sizes num_stages patch_size") {
		n := &Tower{from: map[string]string{}}
		o, err := parse(configFile, []byte(nested(`{"model_type": "convnext"}`, nil, key, 7)))
		if err != nil {
			t.Fatal(err)
		}
		if n.parse(o); n.convNeXt == nil || o.err != nil {
			t.Fatalf("%s: %v", key, o.err)
		}
		err = n.Apply("convnext_tiny", &zoo.Options{Multiple: 1})
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestPublishedFiles: configurations as Hugging Face, timm and OpenCLIP publish them are read without a remark.
func TestPublishedFiles(t *testing.T) {
	text, err := os.ReadFile("testdata/published.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name, File string
		Text       json.RawMessage
	}
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 20 {
		t.Fatal(len(all), err)
	}
	for _, c := range all {
		dir, weights := t.TempDir(), "model.safetensors"
		if err := os.WriteFile(filepath.Join(dir, c.File), c.Text, 0o666); err != nil {
			t.Fatal(err)
		}
		if c.File == openCLIPFile {
			weights = "open_clip_model.safetensors"
		}
		p, notes, err := ReadPreparation(filepath.Join(dir, weights))
		if err != nil || len(notes) > 0 || c.File != configFile && (p.Pixels == "" || p.Fit == "" || p.Resample == "") {
			t.Errorf("%s: %+v %q %v", c.Name, p, notes, err)
		}
		if c.File == processorFile {
			continue
		}
		n, err := Read(filepath.Join(dir, weights), filepath.Join(dir, c.File))
		if err != nil || len(n.Notes) > 0 {
			t.Errorf("%s: %v %+v", c.Name, err, n)
		}
	}
}
