package run

import (
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// LoadTextImage is Pretrained for embeddings that are compared with those of texts: CLIP's image tower keeps
// the projection that it ends with. Other networks are as Pretrained makes them.
func LoadTextImage(network, weights string, data DataConfig) (*Model, error) {
	f, err := zoo.ReadWeights(weights)
	if err != nil {
		return nil, err
	}
	return loadPretrained(network, weights, data, projectionLen(f))
}

// projectionLen is the length of the embeddings after the projection in a file of CLIP; 0 without one.
func projectionLen(f *safetensors.File) int {
	// Hugging Face has out x in, OpenAI in x out.
	for _, of := range []struct {
		name string
		axis int
	}{{"visual_projection.weight", 0}, {"visual.proj", 1}, {"proj", 1}} {
		if t := f.Tensor(of.name); t != nil && len(t.Shape) == 2 {
			return t.Shape[of.axis]
		}
	}
	return 0
}
