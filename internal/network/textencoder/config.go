package textencoder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/format/tokenizer"
	"github.com/kindred-ml/kindred/internal/network/published"
)

// maxConfig bounds the files of a configuration.
const maxConfig = 1 << 20

// findFiles returns the configuration and the weights of a tower, or the ONNX model in their place. The error wraps
// fs.ErrNotExist if one is missing.
func findFiles(dir string) (config, weights string, err error) {
	if weights, config = published.Weights(dir); weights != "" {
		return config, weights, nil
	}
	config, err = firstExisting(dir, "config.json", "open_clip_config.json")
	if err != nil {
		return config, "", err
	}
	weights, err = firstExisting(dir, "text_model.onnx", filepath.Join("onnx", "text_model.onnx"))
	return config, weights, err
}

// firstExisting returns the first of the names that a folder has.
func firstExisting(dir string, names ...string) (path string, err error) {
	for _, name := range names {
		path = filepath.Join(dir, name)
		if _, err = os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return path, err
}

// parseConfig parses a configuration. The sizes that follow from the weights are not set.
func parseConfig(text []byte) (towerShape, error) {
	said, err := published.ParseText(text)
	if err != nil {
		return towerShape{}, err
	}
	return towerShape{published: said, siglip: said.SigLIP, act: said.Act, eps: said.Eps,
		length: min(said.Length, maxLength),
		end:    int32(said.End), pad: int32(said.Pad), vocab: int32(said.Vocab)}, nil
}

// choosePadID finds the id that texts are padded with. The tokenizer's comes before that of the configuration, which is
// wrong in SigLIP 2. Networks that ignore tokens beyond the end of a text do not need it.
func (s *towerShape) choosePadID(dir string, tokens *tokenizer.Tokenizer) error {
	if !s.siglip {
		s.pad = 0
		return nil
	}
	if id, ok := tokens.PadID(); ok {
		s.pad = id
	}
	for _, name := range []string{"special_tokens_map.json", "tokenizer_config.json"} {
		path := filepath.Join(dir, name)
		text, err := fileinfo.ReadAtMost(path, "a list of special tokens", maxConfig)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		token, err := parsePadToken(text)
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

// parsePadToken reads pad_token, which is a text or an object with the text; "" if it is missing.
func parsePadToken(text []byte) (string, error) {
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
