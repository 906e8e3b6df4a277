package run

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	dense "github.com/kindred-ml/kindred/mat"
)

// Values of network.head.
const (
	randomHead   = "random"
	pcaHead      = "pca"
	identityHead = "identity"
)

// prepare decides two things that the configuration may leave open, by the features before
// training: the start of the embedding layer, and which positives to train with.
func (t *built) prepare(ctx context.Context) error {
	n := &t.cfg.Network
	if n.Head == identityHead && !t.opts.Resume {
		if err := t.identityHead(); err != nil {
			return err
		}
	}
	judged := t.judges()
	head := t.tunes() && n.Dim > 0 && (n.Head == "" || n.Head == pcaHead)
	var x *dense.Dense
	var labels []int64
	if judged || head {
		var err error
		if x, labels, err = t.startFeatures(ctx); err != nil {
			return err
		}
	}
	if head {
		if err := t.startHead(x); err != nil {
			return err
		}
	}
	if !judged {
		x = nil
	}
	return t.decidePolicies(ctx, x, labels)
}

// startFeatures are those of the training samples before training, with their labels.
func (t *built) startFeatures(ctx context.Context) (*dense.Dense, []int64, error) {
	feed, err := newFeed(t.sel.Train, t.cfg.Data, t.cfg.Train.Seed, false, false)
	if err != nil {
		return nil, nil, err
	}
	if t.features != nil {
		x, pos, err := t.features.all(ctx, feed)
		return x, pick(t.sel.Train.Label, pos), err
	}
	body, err := t.net.Body()
	if err != nil {
		return nil, nil, err
	}
	if t.opts.Features != nil {
		feed.data = watched{feed.data, func(done int) { t.opts.Features(done, feed.part.Len()) }}
	}
	e, err := embed(ctx, body, feed, t.cfg.Eval.Batch)
	if err != nil {
		return nil, nil, err
	}
	return e.X, pick(t.sel.Train.Label, e.Pos), nil
}

// identityHead makes the embedding layer pass the features on.
func (t *built) identityHead() error {
	layer := t.net.Spec().Head()
	w := t.net.Param(layer + ".weight")
	n := t.cfg.Network.Dim
	if w == nil || len(w.Value) != n*n {
		return fmt.Errorf("network.head: %s needs as many values as there are features; leave network.dim out, or "+
			"choose %s", identityHead, pcaHead)
	}
	clear(w.Value)
	for i := range n {
		w.Value[i*n+i] = 1
	}
	if b := t.net.Param(layer + ".bias"); b != nil {
		clear(b.Value)
	}
	return nil
}

// startHead starts the embedding layer as the projection onto the directions that hold most
// of the features' length, so that training begins with what the features know.
func (t *built) startHead(x *dense.Dense) error {
	n := &t.cfg.Network
	layer := t.net.Spec().Head()
	w := t.net.Param(layer + ".weight")
	if w == nil || min(x.Rows, x.Cols) < n.Dim || len(w.Value) != n.Dim*x.Cols {
		if n.Head == pcaHead {
			return fmt.Errorf("network.head: %d principal components cannot be had from %d samples of %d features",
				n.Dim, x.Rows, x.Cols)
		}
		n.Head = randomHead
		return nil
	}
	n.Head = pcaHead
	axes, err := principal(x, n.Dim)
	if err != nil {
		return err
	}
	copy(w.Value, axes) // features come in the engine's order, as the weights lie there
	if b := t.net.Param(layer + ".bias"); b != nil {
		clear(b.Value)
	}
	return nil
}

// principal returns the k eigenvectors of X'X with the largest eigenvalues, one
// after the other. The rows are not centred: cosines are about the origin.
func principal(x *dense.Dense, k int) ([]float32, error) {
	c := mat.NewSymDense(x.Cols, nil)
	row := mat.NewVecDense(x.Cols, nil)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			row.SetVec(j, float64(v))
		}
		c.SymRankOne(c, 1, row)
	}
	var e mat.EigenSym
	if !e.Factorize(c, true) {
		return nil, errors.New("network.head: the features have no principal components")
	}
	var v mat.Dense
	e.VectorsTo(&v)
	var out []float32
	for j := range k {
		col := x.Cols - 1 - j
		for i := range x.Cols {
			out = append(out, float32(v.At(i, col)))
		}
	}
	return out, nil
}
