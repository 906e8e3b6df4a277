package train

import (
	"fmt"

	"github.com/kindred-ml/kindred/mat"
)

// Pieces is a Network that embeds a batch in pieces, for Config.Chunk; *nn.Net is
// one.
type Pieces interface {
	Network
	// ForwardPiece is Forward of a piece of a batch: n samples from position first of
	// the batch on. again says that the same step has embedded the piece before, and
	// Backward follows: the embeddings are the same, and neither running statistics
	// nor the count of steps change.
	ForwardPiece(x []float32, n, first int, again bool) *mat.Dense
}

// pieces takes a batch through the network piece by piece: embed, all of them to
// embeddings that stay, and later backward, each with its part of the gradient.
type pieces struct {
	net    Pieces
	x      []float32 // of the batch
	n      int
	count  int         // pieces of the batch
	whole  *mat.Dense  // the batch's embeddings
	sums   [][]float32 // of the gradients of each parameter
	header mat.Dense   // a piece's rows of the gradient
}

// cut divides a batch of n samples into the fewest pieces of at most chunk, whose
// sizes differ by no more than one.
func (p *pieces) cut(b Batch, chunk int) {
	p.x, p.n = b.X, len(b.Pos)
	p.count = (p.n + chunk - 1) / chunk
}

// piece returns the samples of piece i, and which of the batch they are.
func (p *pieces) piece(i int) (x []float32, first, n int) {
	first = i * p.n / p.count
	n = (i+1)*p.n/p.count - first
	size := len(p.x) / p.n
	return p.x[first*size : (first+n)*size], first, n
}

// embed returns the embeddings of the batch, valid until the next call.
func (p *pieces) embed() (*mat.Dense, error) {
	for i := range p.count {
		x, first, n := p.piece(i)
		e := p.net.ForwardPiece(x, n, first, false)
		if e.Rows != n {
			return nil, fmt.Errorf("the network made %d embeddings of %d samples", e.Rows, n)
		}
		if p.whole == nil || p.whole.Rows != p.n || p.whole.Cols != e.Cols {
			p.whole = mat.New(p.n, e.Cols)
		}
		for j := range n {
			copy(p.whole.Row(first+j), e.Row(j))
		}
	}
	return p.whole, nil
}

// backward sets every parameter's Grad to the sum of those of the pieces. The last
// piece, whose activations are still there, comes first.
func (p *pieces) backward(grad *mat.Dense) {
	params := p.net.Params()
	if p.sums == nil {
		p.sums = make([][]float32, len(params))
		for k, q := range params {
			p.sums[k] = make([]float32, len(q.Grad))
		}
	}
	for i := p.count - 1; i >= 0; i-- {
		x, first, n := p.piece(i)
		if i < p.count-1 {
			p.net.ForwardPiece(x, n, first, true)
		}
		p.header = *grad
		p.header.Rows, p.header.Data = n, grad.Data[first*grad.Stride:]
		p.net.Backward(&p.header)
		for k, q := range params {
			add(p.sums[k], q.Grad, i == p.count-1)
		}
	}
	for k, q := range params {
		copy(q.Grad, p.sums[k])
	}
}

// add adds g to sum, or replaces it.
func add(sum, g []float32, replace bool) {
	if replace {
		copy(sum, g)
		return
	}
	for i, v := range g {
		sum[i] += v
	}
}

// diagnose asks the network which layer was the first to give what is not finite.
func (t *Trainer) diagnose(b Batch) error {
	d, ok := t.cfg.Network.(diagnoser)
	if !ok {
		return nil
	}
	n := len(b.Pos)
	if !t.inPieces(n) {
		return d.Diagnose(b.X, n)
	}
	for i := range t.pieces.count {
		x, _, n := t.pieces.piece(i)
		if err := d.Diagnose(x, n); err != nil {
			return err
		}
	}
	return nil
}

// inPieces tells whether a batch of n samples is taken in pieces.
func (t *Trainer) inPieces(n int) bool { return t.cfg.Chunk > 0 && n > t.cfg.Chunk }

// forward embeds a batch, at once or in pieces.
func (t *Trainer) forward(b Batch) (*mat.Dense, error) {
	n := len(b.Pos)
	if t.inPieces(n) {
		t.pieces.cut(b, t.cfg.Chunk)
		return t.pieces.embed()
	}
	var e *mat.Dense
	if b.staged != nil {
		e = b.staged.Forward()
	} else {
		e = t.cfg.Network.Forward(b.X, n)
	}
	if err := failure(t.cfg.Network); err != nil {
		return nil, err
	}
	if e.Rows != n {
		return nil, fmt.Errorf("the network made %d embeddings of %d samples", e.Rows, n)
	}
	return e, nil
}

// backward sends the gradient of the batch's embeddings back as forward took it.
func (t *Trainer) backward(n int) {
	if t.inPieces(n) {
		t.pieces.backward(t.grad)
		return
	}
	t.cfg.Network.Backward(t.grad)
}
