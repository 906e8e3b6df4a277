package run

import (
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/train"
)

// Embedded holds the embeddings of samples of a part: row i is that of the
// sample at position Pos[i].
type Embedded struct {
	X    *mat.Dense
	Part *data.Part
	Pos  []int
	// LeftOut, set by Model.Embed, lists the samples without a row.
	LeftOut []data.LeftOut
}

// embed computes the embeddings of a whole part. Samples left out as unreadable
// have no row.
func embed(ctx context.Context, net train.Network, f *feed, batch int) (*Embedded, error) {
	x, pos, err := train.EmbedAmong(ctx, f.ranks, net, f.data, f.part.Len(), batch)
	if err != nil {
		return nil, err
	}
	return &Embedded{X: x, Part: f.part, Pos: pos}, nil
}

// Fine returns the fine label of every row.
func (e *Embedded) Fine() []int64 { return pick(e.Part.Fine, e.Pos) }

// Label returns the training label of every row.
func (e *Embedded) Label() []int64 { return pick(e.Part.Label, e.Pos) }

// pick returns the labels at the given positions.
func pick(labels []int64, pos []int) []int64 {
	out := make([]int64, len(pos))
	for i, p := range pos {
		out[i] = labels[p]
	}
	return out
}

// Table returns the embeddings with the samples' names. If the set has labels,
// it has the column label (the fine class), and coarse (the training label) if
// that differs.
func (e *Embedded) Table() *embedding.Table {
	p := e.Part
	if p.Fine == nil {
		t := &embedding.Table{X: e.X}
		for _, i := range e.Pos {
			t.Files = append(t.Files, p.Data.Names[p.Index[i]])
		}
		return t
	}
	files, fine, coarse := make([]string, len(e.Pos)), make([]string, len(e.Pos)), make([]string, len(e.Pos))
	for row, i := range e.Pos {
		files[row] = p.Data.Names[p.Index[i]]
		fine[row], coarse[row] = className(p.FineClasses, p.Fine[i]), className(p.LabelClasses, p.Label[i])
	}
	t := &embedding.Table{X: e.X, Files: files, Columns: []embedding.Column{embedding.NewColumn("label", fine)}}
	if !slices.Equal(fine, coarse) {
		t.Columns = append(t.Columns, embedding.NewColumn("coarse", coarse))
	}
	return t
}

// WriteLabels writes the columns of Table, without the embeddings, as CSV.
func (e *Embedded) WriteLabels(w io.Writer) error {
	t := e.Table()
	t.X = nil
	return embedding.CSV.Write(w, t)
}

func className(names []string, id int64) string {
	if id >= 0 && id < int64(len(names)) {
		return names[id]
	}
	return strconv.FormatInt(id, 10)
}
