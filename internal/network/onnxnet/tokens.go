package onnxnet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// Tokens is a model that turns the tokens of a text into an embedding, such as the text tower of CLIP.
// It runs as it stands. Only one goroutine at a time may use it.
type Tokens struct {
	program *graphrun.Program
	length  int
	dim     int
}

// ReadTokens reads the model at path for texts of a number of tokens. Its input of ids has the axes
// batch and tokens. An attention mask, types and positions of tokens are filled in: no token is
// masked. Of several outputs the one whose name says text_embeds, embed or pool is taken, else the
// first that is one vector for a text.
func ReadTokens(path string, length int) (*Tokens, error) {
	m, err := onnx.Read(path)
	if err != nil {
		return nil, err
	}
	t, err := newTokens(m, length)
	if err != nil {
		return nil, fmt.Errorf("%s: onnx: %w", path, escape.Shorten(err))
	}
	return t, nil
}

// maxTokens bounds the tokens of a text.
const maxTokens = 1 << 14

func newTokens(m *onnx.Model, length int) (*Tokens, error) {
	ids, err := idsOf(m)
	if err != nil {
		return nil, err
	}
	if length < 1 || length > maxTokens {
		return nil, fmt.Errorf("texts of %d tokens: must be in 1..%d", length, maxTokens)
	}
	if d := ids.Shape[1].Size; d > 0 && d != int64(length) {
		return nil, fmt.Errorf("its input %s takes %d tokens, not %d", escape.Quote(ids.Name), d, length)
	}
	given := *m
	for _, in := range m.Graph.Inputs {
		if in.Name == ids.Name || len(in.Shape) != 2 || in.Type.IsFloat() {
			continue
		}
		v := make([]int64, length)
		name := strings.ToLower(in.Name)
		for i := range v {
			switch {
			case strings.Contains(name, "mask"):
				v[i] = 1
			case strings.Contains(name, "position"):
				v[i] = int64(i)
			}
		}
		t := onnx.Ints(in.Name, []int64{1, int64(length)}, v)
		given.Graph.Initializers = append(slices.Clip(given.Graph.Initializers), t)
	}
	var failed error
	for _, name := range textOutputs(m) {
		p, err := graphrun.Compile(&given, graphrun.Options{Input: ids.Name, Shape: []int{1, length}, Type: ids.Type,
			Outputs: []string{name}})
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if shape := p.OutputShape(0); isVector(shape) {
			return &Tokens{program: p, length: length, dim: tensor.Size(shape)}, nil
		}
		failed = errors.Join(failed, fmt.Errorf("its output %s is of shape %d, not one vector", escape.Quote(name),
			p.OutputShape(0)))
	}
	return nil, errors.Join(failed, errors.New("it has no output that is the embedding of a text"))
}

// idsOf returns the input of ids.
func idsOf(m *onnx.Model) (*onnx.Value, error) {
	var found []*onnx.Value
	for i := range m.Graph.Inputs {
		if in := &m.Graph.Inputs[i]; len(in.Shape) == 2 && in.Type != 0 && !in.Type.IsFloat() {
			found = append(found, in)
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(v *onnx.Value) bool { return !strings.Contains(v.Name, "input_ids") })
	}
	if len(found) != 1 {
		return nil, errors.New("it has no input of tokens: integers of batch x tokens, named input_ids if there are " +
			"several")
	}
	return found[0], nil
}

// textOutputs are the outputs that may be the embedding of a text, the likeliest first.
func textOutputs(m *onnx.Model) []string {
	var list []string
	for _, word := range []string{"text_embed", "embed", "pool", ""} {
		for _, o := range m.Graph.Outputs {
			name := strings.ToLower(o.Name)
			if strings.Contains(name, word) && !strings.Contains(name, "image") && !slices.Contains(list, o.Name) {
				list = append(list, o.Name)
			}
		}
	}
	return list
}

// Dim is the length of the embedding.
func (t *Tokens) Dim() int { return t.dim }

// Embed returns the embedding of a text, given its tokens: as many as ReadTokens was told.
func (t *Tokens) Embed(ids []int32) ([]float32, error) {
	if len(ids) != t.length {
		return nil, fmt.Errorf("onnx: %d tokens for a model of %d", len(ids), t.length)
	}
	v := make([]int64, len(ids))
	for i, id := range ids {
		v[i] = int64(id)
	}
	out, err := t.program.RunTensor(tensor.Integers([]int{1, t.length}, v))
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return slices.Clone(out[0].Floats), nil
}
