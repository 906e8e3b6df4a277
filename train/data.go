package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/matrix"
)

// Data reads samples by their positions 0, 1, 2... Images and Rows implement it.
type Data interface {
	// Epoch yields the samples of batches in order. Each batch is a list of positions. Random
	// augmentation depends only on epoch. After an error it yields nothing more; once ctx has
	// ended, it yields ctx's error. A batch is valid until the next one.
	Epoch(ctx context.Context, epoch int, batches [][]int) iter.Seq2[Batch, error]
}

// Batch holds the values of samples.
type Batch struct {
	X   []float32 // the samples' values, one sample after the other
	Pos []int     // positions of the samples, without unreadable ones
	// Bytes holds the values, from 0 to 255, in place of X, for a Network that stages batches. The
	// network normalises them.
	Bytes []uint8

	staged Staged // the samples on a device, in place of X and Bytes
}

// Images returns Data that reads the prepared images of a loader.
func Images(l *data.Loader) Data { return images{l} }

type images struct{ l *data.Loader }

func (d images) Epoch(ctx context.Context, epoch int, batches [][]int) iter.Seq2[Batch, error] {
	return streamBatches(func() *data.Stream { return d.l.Epoch(ctx, epoch, batches) })
}

// EpochPart implements parted by the loader's method of the same name.
func (d images) EpochPart(ctx context.Context, epoch int, batches [][]int,
	part func(n int) (first, end int)) iter.Seq2[Batch, error] {
	return streamBatches(func() *data.Stream { return d.l.EpochPart(ctx, epoch, batches, part) })
}

// streamBatches yields the batches of a stream, which it begins and closes.
func streamBatches(begin func() *data.Stream) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		st := begin()
		defer st.Close()
		for {
			b, err := st.Next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Batch{}, err)
				return
			case !yield(toBatch(b), nil):
				return
			}
		}
	}
}

// toBatch converts a loader's batch, which holds either floats or bytes.
func toBatch(b *data.Batch) Batch {
	if b.Bytes != nil {
		return Batch{Bytes: b.Bytes, Pos: b.Pos}
	}
	return Batch{X: b.Pixels, Pos: b.Pos}
}

// Rows is Data of ready features: each row of a matrix is a sample of 1 x 1 x X.Cols.
type Rows struct {
	X *matrix.Dense
	// Index holds the row of each position. If nil, position i is row i.
	Index []int
}

// Epoch gathers the rows of each batch into memory that is reused.
func (r Rows) Epoch(ctx context.Context, _ int, batches [][]int) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		var b Batch
		for _, pos := range batches {
			if err := ctx.Err(); err != nil {
				yield(Batch{}, err)
				return
			}
			b.X, b.Pos = b.X[:0], pos
			for _, i := range pos {
				if r.Index != nil {
					i = r.Index[i]
				}
				b.X = append(b.X, r.X.Row(i)...)
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// embedBatchSize is the default number of samples that Embed processes at a time.
const embedBatchSize = 64

// Embed computes the embeddings of positions 0 to n-1 of d in evaluation mode, size samples at a
// time (0 means 64). Row i of x is the embedding of position pos[i]. Samples that d cannot read
// have no row.
func Embed(ctx context.Context, net Network, d Data, n, size int) (x *matrix.Dense, pos []int, err error) {
	return embed(ctx, net, d, 0, n, size)
}

// embed implements Embed for positions first to end-1.
func embed(ctx context.Context, net Network, d Data, first, end, size int) (x *matrix.Dense, pos []int, err error) {
	if size <= 0 {
		size = embedBatchSize
	}
	n := end - first
	x = matrix.New(n, net.Dim())
	for b, err := range prefetch(net, d.Epoch(ctx, 0, consecutiveBatches(first, end, size)), false) {
		if err != nil {
			return nil, nil, err
		}
		if len(b.Pos) == 0 {
			continue
		}
		var e *matrix.Dense
		if b.staged != nil {
			e = b.staged.Infer()
		} else {
			e = net.Infer(b.X, len(b.Pos))
		}
		if err := deviceError(net); err != nil {
			return nil, nil, err
		}
		if e.Rows != len(b.Pos) || e.Cols != x.Cols || len(pos)+e.Rows > n {
			return nil, nil, fmt.Errorf("the network made %d x %d embeddings of %d samples of %d, of length "+
				"%d", e.Rows, e.Cols,
				len(b.Pos), n, x.Cols)
		}
		for i := range e.Rows {
			copy(x.Row(len(pos)+i), e.Row(i))
		}
		pos = append(pos, b.Pos...)
	}
	return x.RowRange(0, len(pos)), pos, nil
}

// consecutiveBatches cuts first..end-1 into batches.
func consecutiveBatches(first, end, size int) [][]int {
	var out [][]int
	for at := first; at < end; at += size {
		b := make([]int, min(size, end-at))
		for i := range b {
			b[i] = at + i
		}
		out = append(out, b)
	}
	return out
}
