package train

import (
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
)

// MicroBatchNetwork is a Network that embeds a batch in pieces, for Config.MicroBatch. *nn.Net implements it.
type MicroBatchNetwork interface {
	Network
	// ForwardMicroBatch is Forward for a piece of a batch: n samples from position first of the batch
	// on. again says that the same step has embedded the piece before, and that Backward follows.
	// Then the embeddings are the same, and neither running statistics nor the count of steps
	// change.
	ForwardMicroBatch(x []float32, n, first int, again bool) *matrix.Dense
}

// microBatches takes a batch through the network piece by piece. embed computes and keeps all
// embeddings. backward later sends each piece's part of the gradient back. With ranks, this
// process takes some consecutive pieces, and the other ranks take the rest.
type microBatches struct {
	net    MicroBatchNetwork
	ranks  Ranks
	x      []float32 // samples of this process's pieces
	n      int       // number of samples in the batch
	count  int       // number of pieces of the batch
	all    *matrix.Dense
	free   [][]float32  // buffers for the gradients of all parameters, one after the other
	size   int          // number of values in each buffer
	header matrix.Dense // a piece's rows of the gradient
}

// divide divides a batch of n samples into the fewest pieces of at most chunk samples. Their sizes
// differ by at most one.
func (p *microBatches) divide(n, chunk int) { p.n, p.count = n, (n+chunk-1)/chunk }

// ownNode returns the pieces that this process takes.
func (p *microBatches) ownNode() node {
	if p.ranks == nil {
		return node{0, p.count}
	}
	return rankNode(p.count, p.ranks.Rank(), p.ranks.Size())
}

// firstSample returns the first sample of piece i. For i = count it is the number of samples.
func (p *microBatches) firstSample(i int) int { return i * p.n / p.count }

// ownSamples returns the range of samples, from first up to end, that this process takes.
func (p *microBatches) ownSamples() (first, end int) {
	own := p.ownNode()
	return p.firstSample(own.lo), p.firstSample(own.hi)
}

// samples returns the samples of piece i, and their position and number in the batch.
func (p *microBatches) samples(i int) (x []float32, first, n int) {
	begin, end := p.ownSamples()
	first = p.firstSample(i)
	n = p.firstSample(i+1) - first
	size := len(p.x) / (end - begin)
	return p.x[(first-begin)*size : (first-begin+n)*size], first, n
}

// embed returns the embeddings of the batch, valid until the next call.
func (p *microBatches) embed() (*matrix.Dense, error) {
	own := p.ownNode()
	if own.lo > 0 {
		if c, ok := p.net.(stepCounter); ok {
			c.SetStep(c.Step() + 1) // another rank has the piece at 0, which counts the step
		}
	}
	for i := own.lo; i < own.hi; i++ {
		x, first, n := p.samples(i)
		e := p.net.ForwardMicroBatch(x, n, first, false)
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
		if err := p.gatherEmbeddings(p.ownSamples()); err != nil {
			return nil, err
		}
	}
	return p.all, nil
}

// backward sets every parameter's Grad to the sum over all pieces. It begins with this process's
// last piece, whose activations are still in memory.
func (p *microBatches) backward(grad *matrix.Dense) error {
	params := p.net.Params()
	p.size = 0
	for _, q := range params {
		p.size += len(q.Grad)
	}
	root, sums := node{0, p.count}, map[node][]float32{}
	p.nodeGradients(root, grad, sums)
	if p.ranks != nil {
		if err := p.reduceGradients(root, sums); err != nil {
			return err
		}
		if sums[root] == nil {
			sums[root] = p.takeBuffer()
		}
		if err := p.ranks.Broadcast(sums[root]); err != nil {
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

// nodeGradients computes the gradients of this process's pieces below a node, from the last to the
// first. It adds them up as soon as both halves of a node are known.
func (p *microBatches) nodeGradients(n node, grad *matrix.Dense, sums map[node][]float32) {
	own := p.ownNode()
	if n.hi <= own.lo || own.hi <= n.lo {
		return
	}
	if n.isLeaf() {
		sums[n] = p.sampleGradient(n.lo, n.hi < own.hi, grad)
		return
	}
	left, right := n.halves()
	p.nodeGradients(right, grad, sums)
	p.nodeGradients(left, grad, sums)
	if n.isWithin(own) {
		p.addHalves(n, sums)
	}
}

// sampleGradient sends a piece's part of grad back. again says that its activations are no longer in
// memory.
func (p *microBatches) sampleGradient(i int, again bool, grad *matrix.Dense) []float32 {
	x, first, n := p.samples(i)
	if again {
		p.net.ForwardMicroBatch(x, n, first, true)
	}
	p.header = *grad
	p.header.Rows, p.header.Data = n, grad.Data[first*grad.Stride:]
	p.net.Backward(&p.header)
	g, at := p.takeBuffer(), 0
	for _, q := range p.net.Params() {
		at += copy(g[at:], q.Grad)
	}
	return g
}

// addHalves replaces the sums of a node's halves by their sum.
func (p *microBatches) addHalves(n node, sums map[node][]float32) {
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

// takeBuffer returns a buffer for the gradients of all parameters.
func (p *microBatches) takeBuffer() []float32 {
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
	if !t.usesMicroBatches(n) {
		return d.Diagnose(b.X, n)
	}
	own := t.micro.ownNode()
	for i := own.lo; i < own.hi; i++ {
		x, _, n := t.micro.samples(i)
		if err := d.Diagnose(x, n); err != nil {
			return err
		}
	}
	return nil
}

// usesMicroBatches reports whether a batch of n samples is taken in pieces.
func (t *Trainer) usesMicroBatches(n int) bool {
	return t.cfg.MicroBatch > 0 && (n > t.cfg.MicroBatch || t.cfg.Ranks != nil)
}

// forward embeds a batch, at once or in pieces.
func (t *Trainer) forward(b Batch) (*matrix.Dense, error) {
	n := len(b.Pos)
	if t.usesMicroBatches(n) {
		t.micro.x = b.X
		t.micro.divide(n, t.cfg.MicroBatch)
		return t.micro.embed()
	}
	var e *matrix.Dense
	if b.staged != nil {
		e = b.staged.Forward()
	} else {
		e = t.cfg.Network.Forward(b.X, n)
	}
	if err := deviceError(t.cfg.Network); err != nil {
		return nil, err
	}
	if e.Rows != n {
		return nil, fmt.Errorf("the network made %d embeddings of %d samples", e.Rows, n)
	}
	return e, nil
}

// backward sends the gradient of the batch's embeddings back, at once or in pieces as in forward.
func (t *Trainer) backward(n int) error {
	if t.usesMicroBatches(n) {
		return t.micro.backward(t.grad)
	}
	t.cfg.Network.Backward(t.grad)
	return nil
}
