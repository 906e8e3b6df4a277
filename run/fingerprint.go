package run

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/kindred-ml/kindred/embedding"
)

// Identity returns the identity of the model for the embeddings that it makes, with a name for people. The
// fingerprint covers the network and the preparation of photos, so it is the same wherever the model was read from.
// Bfloat16 does not count: it rounds the same embedding. The method reads all weights.
func (m *Model) Identity(name string) (embedding.Network, error) {
	id := embedding.Network{Name: name}
	net, err := m.Net.Fingerprint()
	if err != nil {
		return id, err
	}
	of := []any{net}
	in := m.Net.Spec().Input
	if in.H*in.W > 1 { // ready features are not prepared
		img, err := m.Config.Data.images(false)
		if err != nil {
			return id, err
		}
		for i, std := range img.Normalize.Std {
			if std == 0 { // the zero value means no division
				img.Normalize.Std[i] = 1
			}
		}
		n := &img.Normalize
		of = append(of, n.Mean[:in.C], n.Std[:in.C], n.BGR && in.C > 1, img.Fit, img.Shorter, img.Rounded,
			m.Config.Data.Chroma == smoothChroma, m.Config.Data.Crop)
		if id.Preparation, err = m.preparationText(); err != nil {
			return id, err
		}
	}
	text, err := json.Marshal(of)
	id.Fingerprint = fmt.Sprintf("k1:%x", sha256.Sum256(text))
	return id, err
}

// preparationText describes for people how photos become the network's input.
func (m *Model) preparationText() (string, error) {
	p, err := m.Preparation()
	if err != nil {
		return "", err
	}
	in := m.Net.Spec().Input
	text := fmt.Sprintf("%d x %d, pixels %s, fit %s", in.H, in.W, p.Pixels, p.Fit)
	if p.Shorter > 0 {
		text += fmt.Sprintf(" after the shorter side is %d", p.Shorter)
	}
	return text, nil
}
