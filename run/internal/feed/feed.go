// Package feed reads the samples of a part for a network: prepared images, rows of ready features, or the features that
// a frozen body computes of images.
package feed

import (
	"context"
	"fmt"
	"iter"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// Feed reads the samples of a part: prepared images or rows of features.
type Feed struct {
	Data   train.Data
	Part   *data.Part
	Loader *data.Loader // nil for ready features
	Ranks  train.Ranks  // the ranks that share the embedding of the part; nil without ranks
}

// NewRows returns the feed of a part of ready features.
func NewRows(p *data.Part) *Feed {
	return &Feed{Data: train.Rows{X: p.Data.Features, Index: p.Index}, Part: p}
}

// NewImages returns the feed of a part of images, prepared as how says.
func NewImages(p *data.Part, how data.LoaderConfig) (*Feed, error) {
	l, err := data.NewLoader(p, how)
	if err != nil {
		return nil, err
	}
	return &Feed{Data: train.Images(l), Part: p, Loader: l}, nil
}

// Shape returns the shape of a sample; a row of features is 1 x 1 x n.
func (f *Feed) Shape() (h, w, c int) {
	if f.Loader == nil {
		return 1, 1, f.Part.Data.Features.Cols
	}
	return f.Loader.Shape()
}

// Stats returns what reading images has cost and which could not be read; zero for ready features.
func (f *Feed) Stats() data.Stats {
	if f.Loader == nil {
		return data.Stats{}
	}
	return f.Loader.Stats()
}

// Embed computes the embeddings of the whole part, batch samples at a time. Row i belongs to the sample at position
// pos[i]. Unreadable samples have no row.
func (f *Feed) Embed(ctx context.Context, net train.Network, batch int) (x *matrix.Dense, pos []int, err error) {
	return train.EmbedDistributed(ctx, f.Ranks, net, f.Data, f.Part.Len(), batch)
}

// ReportProgress makes the feed call report, unless it is nil, with the number of samples done in an epoch.
func (f *Feed) ReportProgress(report func(done int)) {
	if report != nil {
		f.Data = progressData{f.Data, report}
	}
}

// progressData is train.Data that counts the samples done.
type progressData struct {
	train.Data
	report func(done int)
}

// Epoch implements train.Data. A batch counts as done when the next one is requested.
func (w progressData) Epoch(ctx context.Context, epoch int, batches [][]int) iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		done, n := 0, 0
		for b, err := range w.Data.Epoch(ctx, epoch, batches) {
			if !yield(b, err) {
				return
			}
			done, n = done+len(batches[n]), n+1
			w.report(done)
		}
	}
}

// BufferedBatches is the number of batches that a loader holds by default: the one in use and the
// prepared ones.
const BufferedBatches = 3

// CheckMemory compares the memory for embedding n samples, batch at a time, with the
// limit.
func CheckMemory(spec *nn.Spec, n, batch int) error {
	net, err := spec.Memory()
	if err != nil {
		return err
	}
	at := int64(min(n, batch))
	return budget.Check(fmt.Sprintf("embedding %d samples, %d at a time", n, at), budget.Product(4, budget.Sum(
		budget.Product(at, budget.Sum(net.Infer, budget.Product(BufferedBatches, int64(spec.Input.Len())))),
		budget.Product(int64(n), int64(spec.OutDim())))))
}
