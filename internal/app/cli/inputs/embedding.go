package inputs

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/run"
)

// Embed is m.Embed with a line of progress. It is an error if no sample can be read.
func Embed(ctx context.Context, a *console.Console, m *run.Model, p *data.Part) (*run.Embeddings, error) {
	meter := a.NewMeter("embedding", console.Count)
	defer meter.Close()
	m.Progress = meter.ShowCount
	e, err := m.EmbedPart(ctx, p)
	if err != nil {
		return nil, err
	}
	return e, CheckSomeRead(e)
}

// EmbedAndReport is Embed, and prints which samples were left out.
func EmbedAndReport(ctx context.Context, a *console.Console, m *run.Model, p *data.Part) (*run.Embeddings, error) {
	e, err := Embed(ctx, a, m, p)
	if err == nil {
		PrintLeftOut(a, e.LeftOut)
	}
	return e, err
}

// PrintNotes prints remarks about how a data set was read.
func PrintNotes(a *console.Console, d *data.Dataset) {
	for _, n := range d.Notes {
		fmt.Fprintln(a.Err, "note: "+escape.Text(n))
	}
}

// PrintLeftOut prints which files and samples were not used.
func PrintLeftOut(a *console.Console, list []data.LeftOut) {
	for _, l := range list {
		fmt.Fprintln(a.Err, l)
	}
}

// CheckSomeRead returns an error if no picture could be read.
func CheckSomeRead(e *run.Embeddings) error {
	if e.X.Rows > 0 || e.Part.Len() == 0 {
		return nil
	}
	return items.NoneReadError(e.Part.Len(), e.LeftOut)
}
