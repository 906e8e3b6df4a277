package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/yamltext"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
)

// Model is the network of a finished run, with how its input is prepared.
type Model struct {
	Config Config
	Net    Network
}

// Load reads the network of the run in dir.
func Load(dir string) (*Model, error) {
	path := filepath.Join(dir, ConfigFile)
	text, err := yamltext.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not the folder of a run: it holds no %s", dir, ConfigFile)
	} else if err != nil {
		return nil, err
	}
	cfg, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	net, err := nn.Load(dir, nn.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		if _, e := os.Stat(CheckpointPath(dir)); e == nil {
			return nil, fmt.Errorf("the run in %s has not finished: continue it with kindred train --resume %s", dir,
				dir)
		}
	}
	if err != nil {
		return nil, err
	}
	return &Model{cfg, net}, nil
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
	e, err := embed(ctx, m.Net, f, p, m.Config.Eval.Batch)
	if err != nil {
		return nil, err
	}
	e.LeftOut = p.Data.Unread(f.stats())
	return e, nil
}

// Whole returns all samples of a data set as one part, with its usual labels.
func Whole(d *data.Dataset) (*data.Part, error) {
	fine, err := d.Column("fine")
	if err != nil {
		return nil, err
	}
	label, err := d.Column("")
	if err != nil {
		return nil, err
	}
	p := &data.Part{Data: d, Label: label.IDs, Fine: fine.IDs, LabelClasses: label.Classes, FineClasses: fine.Classes}
	for i := range d.Len() {
		p.Index = append(p.Index, i)
	}
	return p, nil
}

// Embedded holds the embeddings of samples of a part: row i is that of the
// sample at position Pos[i].
type Embedded struct {
	X    *mat.Dense
	Part *data.Part
	Pos  []int
	// LeftOut, set by Model.Embed, lists what has no row.
	LeftOut []data.LeftOut
}

// Fine returns the fine label of every row.
func (e *Embedded) Fine() []int64 { return pick(e.Part.Fine, e.Pos) }

// Label returns the training label of every row.
func (e *Embedded) Label() []int64 { return pick(e.Part.Label, e.Pos) }

// Table returns the embeddings with the samples' names, the column label (the fine
// class) and, where it says something else, coarse (the training label).
func (e *Embedded) Table() *embedding.Table {
	p := e.Part
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

// WriteLabels writes what Table returns, but for the embeddings, as CSV.
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
