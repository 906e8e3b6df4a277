package train

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/kindred-ml/kindred/matrix"
)

// Ranks are processes that train one run together. Each rank embeds its own pieces of every batch
// (Config.MicroBatch). Then all ranks get the embeddings of the whole batch, compute the same loss, and
// take the same step with the sum of all gradients. So every sample is compared with the samples
// of all ranks, and the run has the same bits as that of one process with the same Chunk.
//
// All ranks call the methods in the same order. A call returns once the ranks that it needs have
// called too. After an error the run cannot go on.
type Ranks interface {
	// Rank returns the number of this process, from 0 to Size() - 1.
	Rank() int
	Size() int
	// AllGather gives every rank the parts of all ranks: element r is from rank r. Parts may differ in
	// length.
	AllGather(part []byte) ([][]byte, error)
	// Send gives x to a rank that calls Receive with as many values.
	Send(to int, x []float32) error
	Receive(from int, x []float32) error
	// Broadcast copies x of rank 0 to x of all ranks.
	Broadcast(x []float32) error
}

// RankError is the error of a run whose ranks cannot go on together.
type RankError struct{ Err error }

func (e *RankError) Error() string { return "between the ranks: " + e.Err.Error() }
func (e *RankError) Unwrap() error { return e.Err }

// momentsNetwork is a Network that can update its running statistics later from the batch statistics of
// pieces. *nn.Net implements it.
type momentsNetwork interface {
	DeferMoments(on bool)
	TakeMoments() []float64
	ApplyMoments(m []float64) error
}

// prepareRanks checks that ranks can share a run, and prepares the network.
func (c *Config) prepareRanks() error {
	if c.Ranks == nil {
		return nil
	}
	if c.MicroBatch == 0 {
		return errors.New("Config.Ranks needs MicroBatch: ranks share the micro-batches of a batch")
	}
	m, ok := c.Network.(momentsNetwork)
	if !ok {
		return errors.New("Config.Ranks needs a Network with the methods of *nn.Net for moments")
	}
	m.DeferMoments(true)
	return nil
}

// partReader is Data that can read a part of each batch, such as Images.
type partReader interface {
	EpochPart(ctx context.Context, epoch int, batches [][]int,
		part func(n int) (first, end int)) iter.Seq2[Batch, error]
}

// readBatches reads the batches: whole or, with ranks, only the samples of this process's pieces.
func (t *Trainer) readBatches(ctx context.Context, epoch int, batches [][]int) (iter.Seq2[Batch, error], error) {
	if t.cfg.Ranks == nil {
		return t.cfg.Data.Epoch(ctx, epoch, batches), nil
	}
	for _, b := range batches {
		t.micro.divide(len(b), t.cfg.MicroBatch)
		if size := t.cfg.Ranks.Size(); t.micro.count < size {
			return nil, fmt.Errorf("a batch of %d samples in pieces of at most %d is %d pieces, too few for %d ranks: "+
				"each rank needs a piece", len(b), t.cfg.MicroBatch, t.micro.count, size)
		}
	}
	part := func(n int) (first, end int) {
		p := microBatches{ranks: t.cfg.Ranks}
		p.divide(n, t.cfg.MicroBatch)
		return p.ownSamples()
	}
	if d, ok := t.cfg.Data.(partReader); ok {
		return d.EpochPart(ctx, epoch, batches, part), nil
	}
	return takeParts(t.cfg.Data.Epoch(ctx, epoch, batches), batches, part), nil
}

// takeParts takes a part of each batch that is read whole. A batch with missing samples is passed on
// unchanged, so that whole returns the error.
func takeParts(all iter.Seq2[Batch, error], batches [][]int, part func(n int) (first, end int)) iter.Seq2[Batch,
	error] {
	return func(yield func(Batch, error) bool) {
		i := 0
		for b, err := range all {
			if n := len(b.Pos); err == nil && n == len(batches[i]) {
				first, end := part(n)
				size := len(b.X) / n
				b.X, b.Pos = b.X[first*size:end*size], b.Pos[first:end]
			} else if err == nil {
				b.Pos = nil
			}
			if i++; !yield(b, err) {
				return
			}
		}
	}
}

// completeBatch returns b, this process's part of a batch, with the positions of all samples of the batch.
func (t *Trainer) completeBatch(b Batch, all []int) (Batch, error) {
	if t.cfg.Ranks == nil {
		return b, nil
	}
	t.micro.divide(len(all), t.cfg.MicroBatch)
	first, end := t.micro.ownSamples()
	if len(b.Pos) != end-first {
		return b, errors.New("a sample cannot be read, and several ranks may not leave samples out: find it with " +
			"kindred data info, and remove it from the data set")
	}
	b.Pos = all
	return b, nil
}

// isTrueOnAnyRank reports whether yes is true on any rank. Without ranks it returns yes.
func (t *Trainer) isTrueOnAnyRank(yes bool) (bool, error) {
	if t.cfg.Ranks == nil {
		return yes, nil
	}
	b := []byte{0}
	if yes {
		b[0] = 1
	}
	all, err := t.cfg.Ranks.AllGather(b)
	if err != nil {
		return false, &RankError{err}
	}
	for _, said := range all {
		if len(said) != 1 {
			return false, &RankError{fmt.Errorf("a rank sent %d bytes instead of one: the ranks are not at the same "+
				"step",
				len(said))}
		}
		yes = yes || said[0] == 1
	}
	return yes, nil
}

// contextError returns the error of a run that must stop because the context has ended, on any rank.
func (t *Trainer) contextError(ctx context.Context) error {
	if t.isAskedToStop == nil {
		return ctx.Err()
	}
	stop, err := t.isTrueOnAnyRank(t.isAskedToStop())
	if err == nil && stop {
		err = context.Canceled
	}
	return err
}

// gatherEmbeddings completes the embeddings of a batch, where this process has rows first to end. It
// updates the running statistics by all pieces in order.
func (p *microBatches) gatherEmbeddings(first, end int) error {
	net := p.net.(momentsNetwork)
	held := net.TakeMoments()
	own := make([]byte, 0, 4*(end-first)*p.all.Cols+8*len(held))
	for i := first; i < end; i++ {
		for _, v := range p.all.Row(i) {
			own = binary.LittleEndian.AppendUint32(own, math.Float32bits(v))
		}
	}
	for _, v := range held {
		own = binary.LittleEndian.AppendUint64(own, math.Float64bits(v))
	}
	parts, err := p.ranks.AllGather(own)
	if err != nil {
		return &RankError{err}
	}
	for r, part := range parts {
		if err := p.readPart(r, part, net); err != nil {
			return err
		}
	}
	return nil
}

// readPart reads the embeddings and batch statistics that rank r computed for its pieces.
func (p *microBatches) readPart(r int, part []byte, net momentsNetwork) error {
	s := rankNode(p.count, r, p.ranks.Size())
	first, end := p.firstSample(s.lo), p.firstSample(s.hi)
	if size := 4 * (end - first) * p.all.Cols; len(part) < size || (len(part)-size)%8 != 0 {
		return &RankError{fmt.Errorf("rank %d sent %d bytes for %d embeddings of length %d", r, len(part), end-first,
			p.all.Cols)}
	}
	for i := first; i < end; i++ {
		row := p.all.Row(i)
		for j := range row {
			row[j] = math.Float32frombits(binary.LittleEndian.Uint32(part))
			part = part[4:]
		}
	}
	m := make([]float64, len(part)/8)
	for i := range m {
		m[i] = math.Float64frombits(binary.LittleEndian.Uint64(part[8*i:]))
	}
	return net.ApplyMoments(m)
}

// reduceGradients makes sums[root] the sum of all pieces, on every rank. At first, sums holds the sums of
// the largest nodes whose pieces all belong to this rank.
func (p *microBatches) reduceGradients(n node, sums map[node][]float32) error {
	me, size := p.ranks.Rank(), p.ranks.Size()
	if n.isWithin(rankNode(p.count, me, size)) || n.isLeaf() {
		return nil
	}
	left, right := n.halves()
	for _, half := range []node{right, left} {
		if err := p.reduceGradients(half, sums); err != nil {
			return err
		}
	}
	from, to := ownerRank(right, p.count, size), ownerRank(left, p.count, size)
	switch {
	case me == from && me != to:
		if err := p.ranks.Send(to, sums[right]); err != nil {
			return &RankError{err}
		}
		p.free = append(p.free, sums[right])
		delete(sums, right)
	case me == to:
		if me != from {
			sums[right] = p.takeBuffer()
			if err := p.ranks.Receive(from, sums[right]); err != nil {
				return &RankError{err}
			}
		}
		p.addHalves(n, sums)
	}
	return nil
}

// EmbedDistributed is Embed, shared among ranks. Each rank embeds some consecutive positions, and all
// get the same bits. If ranks is nil, this process embeds all positions.
func EmbedDistributed(ctx context.Context, ranks Ranks, net Network, d Data, n, size int) (*matrix.Dense, []int,
	error) {
	if ranks == nil {
		return Embed(ctx, net, d, n, size)
	}
	own := rankNode(n, ranks.Rank(), ranks.Size())
	x, pos, err := embed(ctx, net, d, own.lo, own.hi, size)
	if err != nil {
		return nil, nil, err
	}
	part := make([]byte, 0, len(pos)*(8+4*x.Cols))
	for i, p := range pos {
		part = binary.LittleEndian.AppendUint64(part, uint64(p))
		for _, v := range x.Row(i) {
			part = binary.LittleEndian.AppendUint32(part, math.Float32bits(v))
		}
	}
	parts, err := ranks.AllGather(part)
	if err != nil {
		return nil, nil, &RankError{err}
	}
	whole := matrix.New(n, net.Dim())
	pos = pos[:0:0]
	for r, part := range parts {
		if len(part)%(8+4*whole.Cols) != 0 || len(part)/(8+4*whole.Cols) > n-len(pos) {
			return nil, nil, &RankError{fmt.Errorf("rank %d sent %d bytes for embeddings of length %d", r, len(part),
				whole.Cols)}
		}
		for ; len(part) > 0; part = part[8+4*whole.Cols:] {
			row := whole.Row(len(pos))
			pos = append(pos, int(binary.LittleEndian.Uint64(part)))
			for j := range row {
				row[j] = math.Float32frombits(binary.LittleEndian.Uint32(part[8+4*j:]))
			}
		}
	}
	return whole.RowRange(0, len(pos)), pos, nil
}
