package textencoder

import (
	"math"

	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// The lengths of texts that CLIP and SigLIP were trained with.
const (
	clipTextLength   = 77
	siglipTextLength = 64
)

// onnxEncoder is the encoder of an ONNX model, which takes one text at a time and finds the place of its
// embedding itself.
type onnxEncoder struct{ model *onnxnet.Tokens }

func (g onnxEncoder) encode(ids [][]int32, _ []int) (*matrix.Dense, error) {
	out := matrix.New(len(ids), g.model.Dim())
	for i, list := range ids {
		row, err := g.model.Embed(list)
		if err != nil {
			return nil, err
		}
		copy(out.Row(i), row)
	}
	return out, nil
}

// readONNX reads a tower that is an ONNX model. It has no scale of logits: for CLIP the default is used, for SigLIP
// there is none.
func (t *Tower) readONNX(path string) (err error) {
	s := &t.shape
	if s.length == 0 {
		s.length = clipTextLength
		if s.siglip {
			s.length = siglipTextLength
		}
	}
	if s.vocab == 0 {
		s.vocab = math.MaxInt32
	}
	model, err := onnxnet.ReadTokens(path, s.length)
	if err != nil {
		return err
	}
	s.dim, t.encoder = model.Dim(), onnxEncoder{model}
	t.logit, err = readLogit(&safetensors.File{}, s.siglip)
	return err
}
