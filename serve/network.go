package serve

import (
	"context"
	"image"
	"sync"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// NetworkEmbedder returns the embedder of a run's network. It prepares pictures exactly like
// run.Model.EmbedPart. Many goroutines may call its methods, and those of the model.
func NetworkEmbedder(m *run.Model) Embedder { return &network{model: m} }

type network struct {
	model    *run.Model
	decoders sync.Pool // of *imaging.Decoder
}

// decoder returns a decoder that was used before, or a new one.
func (n *network) decoder() (*imaging.Decoder, error) {
	if dec, ok := n.decoders.Get().(*imaging.Decoder); ok {
		return dec, nil
	}
	return n.model.Decoder()
}

// Shrink makes the network a Shrinker.
func (n *network) Shrink(w, h int) int {
	dec, err := n.decoder()
	if err != nil || dec.Shrink == nil {
		return 1
	}
	defer n.decoders.Put(dec)
	return dec.Shrink(w, h)
}

// Side makes the network a Sizer.
func (n *network) Side() int {
	in := n.model.Net.Spec().Input
	return max(in.H, in.W, n.model.Config.Data.Shorter)
}

func (n *network) Decode(ctx context.Context, p *imaging.Picture, maxPixels int) (*imaging.Image, error) {
	dec, err := n.decoder()
	if err != nil {
		return nil, err
	}
	dec.MaxPixels, dec.MaxBytes = maxPixels, decodingBytes(&p.Header, n)
	im := new(imaging.Image)
	if err := p.Decode(ctx, dec, im); err != nil {
		return nil, err // a decoder that failed is not used again
	}
	n.decoders.Put(dec)
	return im, nil
}

func (n *network) Embed(ctx context.Context, pictures []*imaging.Image) (*matrix.Dense, error) {
	images := make([]image.Image, len(pictures))
	for i, p := range pictures {
		images[i] = p
	}
	return n.model.Embed(ctx, images...)
}
