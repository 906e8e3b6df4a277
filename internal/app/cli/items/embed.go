package items

import (
	"context"
	"iter"
	"sync"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/run"
)

// piece is the least number of photos embedded between two writes to the disk. Jobs embed shardsPerPiece
// parts of it at the same time, and two such pieces, so that workers have jobs while a piece is written and
// while the last job of a piece is not done.
const (
	minPiece       = 1024
	shardsPerPiece = 64
	piecesAhead    = 2
)

// embeddedPiece is a piece of a set with its embeddings.
type embeddedPiece struct {
	*run.Embeddings
	fileInfo
	// written removes the piece's results from a queue.
	written func(context.Context) error
}

// embedPieces embeds the samples of a set at ascending positions, and yields them in this order.
func (d *Adder) embedPieces(ctx context.Context, m *run.Model, set *data.Dataset,
	todo []int) iter.Seq2[*embeddedPiece, error] {
	rows, ahead := shards.WholeBatches(m, minPiece), 1
	if d.Shared != nil {
		rows, ahead = shardsPerPiece*d.Shared.Rows, piecesAhead
	}
	part := set.All()
	return func(yield func(*embeddedPiece, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		type result struct {
			e   *embeddedPiece
			err error
		}
		var pending []chan result
		for lo := 0; lo < len(todo) || len(pending) > 0; {
			for ; lo < len(todo) && len(pending) < ahead; lo += rows {
				some, c := part.Subset(todo[lo:min(lo+rows, len(todo))]), make(chan result, 1)
				wg.Go(func() {
					e, err := d.embed(ctx, m, some)
					c <- result{e, err}
				})
				pending = append(pending, c)
			}
			r := <-pending[0]
			if pending = pending[1:]; !yield(r.e, r.err) || r.err != nil {
				return
			}
		}
	}
}

// embed embeds a piece. It reads the facts about files first: a file that changes in between then differs from its
// facts, and the next kindred index sync embeds it again.
func (d *Adder) embed(ctx context.Context, m *run.Model, p *data.Part) (*embeddedPiece, error) {
	l, err := d.readFileInfo(ctx, p)
	if err != nil {
		return nil, err
	}
	if d.Shared == nil {
		e, err := m.EmbedPart(ctx, p)
		return &embeddedPiece{e, l, func(context.Context) error { return nil }}, err
	}
	var digests []string
	for _, i := range p.Index {
		digests = append(digests, l.facts[p.Data.ItemName(i)].Digest)
	}
	e, list, err := d.Shared.Embed(ctx, p, digests)
	return &embeddedPiece{e, l, func(ctx context.Context) error { return d.Shared.RemoveResults(ctx, list) }}, err
}
