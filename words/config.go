package words

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/format/tokenizer"
	"github.com/kindred-ml/kindred/nn"
)

// maxConfig bounds the files of a configuration.
const maxConfig = 1 << 20

// config is a config.json of Hugging Face, or an open_clip_config.json.
type config struct {
	ModelType string      `json:"model_type"`
	Text      *textConfig `json:"text_config"`
	textConfig
	OpenCLIP *struct {
		QuickGELU bool `json:"quick_gelu"`
		Text      *struct {
			Heads int    `json:"heads"`
			Name  string `json:"hf_model_name"`
		} `json:"text_cfg"`
	} `json:"model_cfg"`
}

type textConfig struct {
	Heads int     `json:"num_attention_heads"`
	Act   string  `json:"hidden_act"`
	Eps   float64 `json:"layer_norm_eps"`
	End   *int64  `json:"eos_token_id"`
	Pad   *int64  `json:"pad_token_id"`

	// Of an ONNX model, whose weights do not tell.
	Length int64 `json:"max_position_embeddings"`
	Vocab  int64 `json:"vocab_size"`
}

func configFiles() []string { return []string{"config.json", "open_clip_config.json"} }

func weightFiles() []string {
	return []string{"model.safetensors", "open_clip_model.safetensors", "pytorch_model.bin",
		"open_clip_pytorch_model.bin", "text_model.onnx", filepath.Join("onnx", "text_model.onnx")}
}

// configOf returns the path and the text of the configuration that a tower has.
func configOf(dir string) (path string, text []byte, err error) {
	for _, name := range configFiles() {
		path = filepath.Join(dir, name)
		if text, err = regular.ReadWithin(path, "a configuration", maxConfig); !errors.Is(err, fs.ErrNotExist) {
			return path, text, err
		}
	}
	return path, nil, err
}

func weightsOf(dir string) (path string, err error) {
	for _, name := range weightFiles() {
		path = filepath.Join(dir, name)
		if _, err = os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return path, err
}

// activations maps the names of Hugging Face.
var activations = map[string]nn.Kind{"quick_gelu": nn.QuickGELU, "gelu": nn.GELU, "gelu_pytorch_tanh": nn.GELUTanh,
	"gelu_new": nn.GELUTanh, "gelu_fast": nn.GELUTanh}

// parseConfig reads the text of a configuration, without what the weights tell.
func parseConfig(text []byte) (shape, error) {
	var c config
	if err := strictjson.Unmarshal(text, &c); err != nil {
		return shape{}, err
	}
	t := c.textConfig
	if c.Text != nil {
		t = *c.Text
	}
	kind := strings.TrimSuffix(c.ModelType, "_text_model")
	s := shape{heads: t.Heads, act: t.Act, eps: t.Eps, end: -1, pad: -1, length: int(min(max(t.Length, 0), maxLength)),
		vocab: int32(min(max(t.Vocab, 0), math.MaxInt32))}
	switch {
	case c.OpenCLIP != nil:
		if c.OpenCLIP.Text == nil || c.OpenCLIP.Text.Name != "" {
			return s, fmt.Errorf("model_cfg.text_cfg is missing, or hf_model_name names another network, which is " +
				"not supported")
		}
		s.heads, s.act, s.eps = c.OpenCLIP.Text.Heads, "gelu", 1e-5
		if c.OpenCLIP.QuickGELU {
			s.act = "quick_gelu"
		}
	case kind == "clip":
		s.act, s.eps = cmp.Or(s.act, "quick_gelu"), cmp.Or(s.eps, 1e-5)
		// 2 is what CLIP's first configurations say by mistake: the end is then the largest id.
		if t.End != nil && *t.End != 2 {
			s.end = int32(max(0, min(*t.End, 1<<30)))
		} else if t.End == nil {
			s.end = 49407
		}
	case kind == "siglip", kind == "siglip2":
		s.siglip = true
		s.act, s.eps = cmp.Or(s.act, "gelu_pytorch_tanh"), cmp.Or(s.eps, 1e-6)
		s.pad = 1
	default:
		return s, fmt.Errorf("model_type is %.40q: must be clip, siglip or siglip2, or of their text models",
			c.ModelType)
	}
	if activations[s.act] == "" {
		return s, fmt.Errorf("hidden_act is %.40q: must be quick_gelu, gelu or gelu_pytorch_tanh", s.act)
	}
	if t.Pad != nil && s.siglip {
		s.pad = int32(max(0, min(*t.Pad, 1<<30)))
	}
	return s, nil
}

// padding finds the id that texts are padded with: that of the tokenizer before that of the configuration, which
// SigLIP 2 has wrong. It does not count where nothing looks beyond the end of a text.
func (s *shape) padding(dir string, tokens *tokenizer.Tokenizer) error {
	if !s.siglip {
		s.pad = 0
		return nil
	}
	if id, ok := tokens.Pad(); ok {
		s.pad = id
	}
	for _, name := range []string{"special_tokens_map.json", "tokenizer_config.json"} {
		path := filepath.Join(dir, name)
		text, err := regular.ReadWithin(path, "a list of special tokens", maxConfig)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		token, err := padToken(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if id, ok := tokens.ID(token); ok {
			s.pad = id
		}
	}
	if s.pad >= s.vocab {
		return fmt.Errorf("%s: the padding token is %d, but the weights have %d", dir, s.pad, s.vocab)
	}
	return nil
}

// padToken reads pad_token, which is a text or an object with the text; "" if it is missing.
func padToken(text []byte) (string, error) {
	var plain struct {
		Pad any `json:"pad_token"`
	}
	if err := strictjson.Unmarshal(text, &plain); err != nil {
		return "", err
	}
	switch pad := plain.Pad.(type) {
	case string:
		return pad, nil
	case map[string]any:
		content, _ := pad["content"].(string)
		return content, nil
	}
	return "", nil
}
