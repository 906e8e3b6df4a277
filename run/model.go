package run

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/nn"
)

// Model is the network of a finished run, with how its input is prepared.
type Model struct {
	Config Config
	Net    *nn.Net
	// Cache, if set, is a folder (see FeatureHome) in which Embed keeps what the
	// network makes of each image, and finds what it, or training on it as a frozen
	// body, has made before.
	Cache string
}

// Load reads the network of the run in dir.
func Load(dir string) (*Model, error) {
	f, err := Open(dir)
	if err != nil {
		return nil, err
	}
	return f.Model()
}

// Embed computes the embeddings of the samples of p, which are converted to the
// size and the channels that the network was trained on.
func (m *Model) Embed(ctx context.Context, p *data.Part) (*Embedded, error) {
	f, err := newFeed(p, m.Config.Data, 0, false)
	if err != nil {
		return nil, err
	}
	h, w, c := f.shape()
	if in := m.Net.Spec().Input; in.H != h || in.W != w || in.C != c {
		return nil, fmt.Errorf("data set %s gives samples of %d x %d x %d, but the network takes %s", p.Data.Name, h, w,
			c, in)
	}
	if err := checkEmbedding(m.Net.Spec(), p.Len(), m.Config.Eval.Batch); err != nil {
		return nil, err
	}
	e := &Embedded{Part: p}
	if m.Cache != "" && f.loader != nil {
		kept := &features{body: m.Net, cfg: m.Config.Data, batch: m.Config.Eval.Batch, dir: m.Cache}
		e.X, e.Pos, err = kept.all(ctx, f)
	} else {
		e, err = embed(ctx, m.Net, f, m.Config.Eval.Batch)
	}
	if err != nil {
		return nil, err
	}
	e.LeftOut = p.Data.Unread(f.stats())
	return e, nil
}
