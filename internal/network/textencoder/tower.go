package textencoder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/tokenizer"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
)

// Tower turns texts into embeddings. It is safe for concurrent use.
type Tower struct {
	dir     string
	tokens  *tokenizer.Tokenizer
	shape   towerShape
	encoder encoder
	mu      sync.Mutex
	logit   logit
	image   map[string][]float32 // some weights of the image tower in the same file, as package nn/zoo names them
}

// encoder computes the embedding of each list of ids. All lists have the tower's length, and embeddings are taken at
// the positions at.
type encoder interface {
	encode(ids [][]int32, at []int) (*matrix.Dense, error)
}

// towerShape is the content of a configuration.
type towerShape struct {
	published       *published.Text
	siglip          bool // no causal mask; padded, and taken at the last position
	length, dim     int
	heads           int
	act             nn.Kind
	eps             float64
	end, pad, vocab int32 // end is -1 if the largest id is the end of a text
}

// IsTower reports whether a folder may hold a text tower: it has a tokenizer.json and a configuration.
func IsTower(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, tokenizer.FileName))
	_, found := firstExisting(dir, "config.json", "open_clip_config.json")
	return err == nil && found == nil
}

// Open reads the tower of a folder. The error wraps fs.ErrNotExist if a file is missing.
func Open(dir string) (*Tower, error) {
	tokens, err := tokenizer.Read(dir)
	if err != nil {
		return nil, missingFileError(dir, err)
	}
	t := &Tower{dir: dir, tokens: tokens}
	if err = t.readWeights(); err != nil {
		return nil, missingFileError(dir, err)
	}
	if _, err := tokens.Encode("", t.shape.length); err != nil {
		return nil, fmt.Errorf("%s: texts have %d tokens, which are too few: %w", dir, t.shape.length, err)
	}
	return t, nil
}

// missingFileError returns the error for a folder that lacks a file of a tower.
func missingFileError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a folder of a text tower, which holds tokenizer.json, config.json and "+
			"model.safetensors: %w", dir, err)
	}
	return err
}

// Dim returns the length of the embeddings.
func (t *Tower) Dim() int { return t.shape.dim }

// Dir returns the folder of the tower.
func (t *Tower) Dir() string { return t.dir }

// CheckImageTower returns an error if the file of the tower holds the image tower that it was trained with
// too, and net has other weights. Only a few weights are compared.
func (t *Tower) CheckImageTower(net *nn.Net) error {
	for name, want := range t.image {
		p := net.Param(name)
		if p == nil || len(p.Value) != len(want) {
			continue
		}
		is := make([]float32, len(want))
		if p.ToTorch(is); !slices.Equal(is, want) {
			return fmt.Errorf("%s has other values than the image tower that was trained with the text tower: "+
				"the network was trained further, or it is another network", name)
		}
	}
	return nil
}

// Checksum returns the SHA-256 of the tower's files: configuration, weights, tokenizer. Different sums are
// different towers.
func Checksum(dir string) (string, error) {
	config, weights, err := findFiles(dir)
	if err != nil {
		return "", missingFileError(dir, err)
	}
	sum := sha256.New()
	for _, path := range []string{config, weights, filepath.Join(dir, tokenizer.FileName)} {
		f, err := fileinfo.Open(path)
		if err != nil {
			return "", missingFileError(dir, err)
		}
		_, err = io.Copy(sum, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// batchTexts is the number of texts that are computed at a time.
const batchTexts = 16

// Embed returns an embedding for each text, as the tower computes it: not of unit length. Texts longer than the tower
// takes are cut off: see Cuts.
func (t *Tower) Embed(ctx context.Context, texts []string) (*matrix.Dense, error) {
	out := matrix.New(len(texts), t.shape.dim)
	for begin := 0; begin < len(texts); begin += batchTexts {
		part := texts[begin:min(len(texts), begin+batchTexts)]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ids, at, err := t.tokenIDs(part)
		if err != nil {
			return nil, err
		}
		t.mu.Lock()
		if err := ctx.Err(); err != nil { // it may have waited
			t.mu.Unlock()
			return nil, err
		}
		got, err := t.encoder.encode(ids, at)
		t.mu.Unlock()
		if err != nil {
			return nil, err
		}
		for i := range part {
			copy(out.Row(begin+i), got.Row(i))
		}
	}
	return out, nil
}

// TruncationNotes returns a sentence for each text that is longer than the tower's limit.
func (t *Tower) TruncationNotes(texts []string) (notes []string) {
	most := t.shape.length
	for _, text := range texts {
		if _, whole, err := t.tokens.EncodeTruncated(t.canonical(text), most); err == nil && whole > most {
			notes = append(notes, fmt.Sprintf(
				"the text %.60q has %d tokens, but the text tower takes %d: the rest is cut off", text, whole, most))
		}
	}
	return notes
}

// checkDistinct returns an error if two texts have the same tokens for the tower.
func (t *Tower) checkDistinct(texts []string) error {
	ids, _, err := t.tokenIDs(texts)
	if err != nil {
		return err
	}
	seen := map[string]string{}
	for i, list := range ids {
		key := fmt.Sprint(list)
		other, ok := seen[key]
		if ok && len(t.TruncationNotes(texts[i:i+1])) > 0 {
			return fmt.Errorf("%.200q and %.200q are the same text after the text tower has cut them to %d tokens: "+
				"shorten them", other, texts[i], t.shape.length)
		}
		if ok {
			return fmt.Errorf("%.200q and %.200q are the same text for the text tower, as its tokenizer reads them",
				other, texts[i])
		}
		seen[key] = texts[i]
	}
	return nil
}

// tokenIDs returns the ids of texts, padded to the tower's length, and where their embeddings are taken.
func (t *Tower) tokenIDs(texts []string) (tokenIDs [][]int32, at []int, err error) {
	for _, text := range texts {
		text = t.canonical(text)
		list, err := t.tokens.Encode(text, t.shape.length)
		if err != nil {
			return nil, nil, fmt.Errorf("the text %.60q: %w", text, err)
		}
		if i := slices.IndexFunc(list, func(id int32) bool { return id >= t.shape.vocab }); i >= 0 {
			return nil, nil, fmt.Errorf("the text %.60q has the token %d, but the weights in %s have %d: "+
				"tokenizer.json is of another network", text, list[i], t.dir, t.shape.vocab)
		}
		place := t.endPosition(list)
		for len(list) < t.shape.length {
			list = append(list, t.shape.pad)
		}
		if t.shape.siglip {
			place = t.shape.length - 1
		}
		tokenIDs, at = append(tokenIDs, list), append(at, place)
	}
	return tokenIDs, at, nil
}

// canonical returns the text in the form that SigLIP saw in training, in case the tokenizer does not convert it: in
// lower case, and without punctuation for the first SigLIP.
func (t *Tower) canonical(text string) string {
	if !t.shape.siglip {
		return text
	}
	text = strings.ToLower(text)
	if t.tokens.IsUnigram() {
		text = strings.Map(func(r rune) rune {
			if strings.ContainsRune(punctuation, r) {
				return -1
			}
			return r
		}, text)
		text = strings.Join(strings.Fields(text), " ")
	}
	return text
}

const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// endPosition returns the position of the end of a text: the first end token, or the first largest id.
func (t *Tower) endPosition(list []int32) int {
	if t.shape.end < 0 {
		if len(list) == 0 {
			return 0
		}
		return slices.Index(list, slices.Max(list))
	}
	return max(0, slices.Index(list, t.shape.end))
}

// NormalizeRows divides each row by its length. A row that is zero or not finite is an error.
func NormalizeRows(m *matrix.Dense) error {
	for i := range m.Rows {
		var sum float64
		row := m.Row(i)
		for _, v := range row {
			sum += float64(v) * float64(v)
		}
		if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
			return fmt.Errorf("embedding %d has the length %v: nothing points in its direction", i+1, math.Sqrt(sum))
		}
		for k := range row {
			row[k] = float32(float64(row[k]) / math.Sqrt(sum))
		}
	}
	return nil
}
