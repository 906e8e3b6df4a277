package train

import (
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
)

// Pieces is a Network that embeds a batch in pieces, for Config.Chunk. *nn.Net implements it.
type Pieces interface {
	Network
	// ForwardPiece is Forward for a piece of a batch: n samples from position first of the batch
	// on. again says that the same step has embedded the piece before, and that Backward follows.
	// Then the embeddings are the same, and neither running statistics nor the count of steps
	// change.
	ForwardPiece(x []float32, n, first int, again bool) *matrix.Dense
}

// pieces takes a batch through the network piece by piece. embed computes and keeps all
// embeddings. backward later sends each piece's part of the gradient back. With ranks, this
// process takes some consecutive pieces, and the other ranks take the rest.
type pieces struct {
	net    Pieces
	ranks  Ranks
	x      []float32 // samples of this process's pieces
	n      int       // number of samples in the batch
	count  int       // number of pieces of the batch
	all    *matrix.Dense
	free   [][]float32  // buffers for the gradients of all parameters, one after the other
	size   int          // number of values in each buffer
	header matrix.Dense // a piece's rows of the gradient
}

// cut divides a batch of n samples into the fewest pieces of at most chunk samples. Their sizes
// differ by at most one.
func (p *pieces) cut(n, chunk int) { p.n, p.count = n, (n+chunk-1)/chunk }

// own returns the pieces that this process takes.
func (p *pieces) own() node {
	if p.ranks == nil {
		return node{0, p.count}
	}
	return share(p.count, p.ranks.Rank(), p.ranks.Size())
}

// first returns the first sample of piece i. For i = count it is the number of samples.
func (p *pieces) first(i int) int { return i * p.n / p.count }

// mine returns the range of samples, from first up to end, that this process takes.
func (p *pieces) mine() (first, end int) {
	own := p.own()
	return p.first(own.lo), p.first(own.hi)
}

// piece returns the samples of piece i, and their position and number in the batch.
func (p *pieces) piece(i int) (x []float32, first, n int) {
	begin, end := p.mine()
	first = p.first(i)
	n = p.first(i+1) - first
	size := len(p.x) / (end - begin)
	return p.x[(first-begin)*size : (first-begin+n)*size], first, n
}

// embed returns the embeddings of the batch, valid until the next call.
func (p *pieces) embed() (*matrix.Dense, error) {
	own := p.own()
	if own.lo > 0 {
		if c, ok := p.net.(counter); ok {
			c.SetStep(c.Step() + 1) // another rank has the piece at 0, which counts the step
		}
	}
	for i := own.lo; i < own.hi; i++ {
		x, first, n := p.piece(i)
		e := p.net.ForwardPiece(x, n, first, false)
		if e.Rows != n {
			return nil, fmt.Errorf("the network made %d embeddings of %d samples", e.Rows, n)
		}
		if p.all == nil || p.all.Rows != p.n || p.all.Cols != e.Cols {
			p.all = matrix.New(p.n, e.Cols)
		}
		for j := range n {
			copy(p.all.Row(first+j), e.Row(j))
		}
	}
	if p.ranks != nil {
		if err := p.exchange(p.mine()); err != nil {
			return nil, err
		}
	}
	return p.all, nil
}

// backward sets every parameter's Grad to the sum over all pieces. It begins with this process's
// last piece, whose activations are still in memory.
func (p *pieces) backward(grad *matrix.Dense) error {
	params := p.net.Params()
	p.size = 0
	for _, q := range params {
		p.size += len(q.Grad)
	}
	root, sums := node{0, p.count}, map[node][]float32{}
	p.gradients(root, grad, sums)
	if p.ranks != nil {
		if err := p.combine(root, sums); err != nil {
			return err
		}
		if sums[root] == nil {
			sums[root] = p.buffer()
		}
		if err := p.ranks.Spread(sums[root]); err != nil {
			return &RankError{err}
		}
	}
	at := 0
	for _, q := range params {
		at += copy(q.Grad, sums[root][at:])
	}
	for _, s := range sums {
		p.free = append(p.free, s)
	}
	return nil
}

// gradients computes the gradients of this process's pieces below a node, from the last to the
// first. It adds them up as soon as both halves of a node are known.
func (p *pieces) gradients(n node, grad *matrix.Dense, sums map[node][]float32) {
	own := p.own()
	if n.hi <= own.lo || own.hi <= n.lo {
		return
	}
	if n.leaf() {
		sums[n] = p.gradient(n.lo, n.hi < own.hi, grad)
		return
	}
	left, right := n.halves()
	p.gradients(right, grad, sums)
	p.gradients(left, grad, sums)
	if n.within(own) {
		p.join(n, sums)
	}
}

// gradient sends a piece's part of grad back. again says that its activations are no longer in
// memory.
func (p *pieces) gradient(i int, again bool, grad *matrix.Dense) []float32 {
	x, first, n := p.piece(i)
	if again {
		p.net.ForwardPiece(x, n, first, true)
	}
	p.header = *grad
	p.header.Rows, p.header.Data = n, grad.Data[first*grad.Stride:]
	p.net.Backward(&p.header)
	g, at := p.buffer(), 0
	for _, q := range p.net.Params() {
		at += copy(g[at:], q.Grad)
	}
	return g
}

// join replaces the sums of a node's halves by their sum.
func (p *pieces) join(n node, sums map[node][]float32) {
	left, right := n.halves()
	sum, g := sums[left], sums[right]
	for i, v := range g {
		sum[i] += v
	}
	sums[n] = sum
	p.free = append(p.free, g)
	delete(sums, left)
	delete(sums, right)
}

// buffer returns a buffer for the gradients of all parameters.
func (p *pieces) buffer() []float32 {
	for k := len(p.free) - 1; k >= 0; k-- {
		b := p.free[k]
		p.free = p.free[:k]
		if len(b) == p.size {
			return b
		}
	}
	return make([]float32, p.size)
}

// diagnose asks the network for the first layer whose output is not finite.
func (t *Trainer) diagnose(b Batch) error {
	d, ok := t.cfg.Network.(diagnoser)
	if !ok {
		return nil
	}
	n := len(b.Pos)
	if !t.inPieces(n) {
		return d.Diagnose(b.X, n)
	}
	own := t.pieces.own()
	for i := own.lo; i < own.hi; i++ {
		x, _, n := t.pieces.piece(i)
		if err := d.Diagnose(x, n); err != nil {
			return err
		}
	}
	return nil
}

// inPieces reports whether a batch of n samples is taken in pieces.
func (t *Trainer) inPieces(n int) bool {
	return t.cfg.Chunk > 0 && (n > t.cfg.Chunk || t.cfg.Ranks != nil)
}

// forward embeds a batch, at once or in pieces.
func (t *Trainer) forward(b Batch) (*matrix.Dense, error) {
	n := len(b.Pos)
	if t.inPieces(n) {
		t.pieces.x = b.X
		t.pieces.cut(n, t.cfg.Chunk)
		return t.pieces.embed()
	}
	var e *matrix.Dense
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

// backward sends the gradient of the batch's embeddings back, at once or in pieces as in forward.
func (t *Trainer) backward(n int) error {
	if t.inPieces(n) {
		return t.pieces.backward(t.grad)
	}
	t.cfg.Network.Backward(t.grad)
	return nil
}
