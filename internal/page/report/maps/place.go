package maps

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/compute/projection"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/matrix"
)

// Methods are the methods of Place: t-SNE, t-SNE over all pairs, and the two
// directions of largest variance.
var Methods = [...]string{"tsne", "tsne-exact", "pca"}

// Projection is embeddings placed in the plane, and how that was done.
type Projection struct {
	Method     string    `json:"method"`
	Rows       int       `json:"rows"`
	Sample     int       `json:"sample,omitempty"` // number of rows placed by t-SNE, if it did not place all
	Dimensions int       `json:"dimensions"`
	Seed       uint64    `json:"seed"`
	Perplexity float64   `json:"perplexity,omitempty"` // of t-SNE, as the next two
	Iterations int       `json:"iterations,omitempty"`
	KL         *float64  `json:"kl,omitempty"`
	Explained  []float64 `json:"explained,omitempty"` // by the components of pca
	Seconds    float64   `json:"seconds"`
	X          []float64 `json:"-"`
	Y          []float64 `json:"-"`
}

// Project computes the map by one of Methods. Method pca uses only the seed of cfg, and
// tsne-exact uses no sample.
func Project(ctx context.Context, x *matrix.Dense, method string, cfg projection.SampledTSNE) (*Projection, error) {
	start := time.Now()
	p := &Projection{Method: method, Rows: x.Rows, Dimensions: x.Cols, Seed: cfg.Seed}
	switch method {
	case "pca":
		c, err := projection.PCA(ctx, x, 2)
		if err != nil {
			return nil, err
		}
		for i := range x.Rows {
			p.X = append(p.X, float64(c.Scores.At(i, 0)))
			p.Y = append(p.Y, float64(c.Scores.At(i, 1)))
		}
		p.Explained = c.Explained
	case "tsne", "tsne-exact":
		if method == "tsne-exact" {
			cfg.Method, cfg.Rows = projection.Exact, x.Rows
		}
		m, err := cfg.Run(ctx, x)
		if err != nil {
			return nil, err
		}
		if m.NumPlaced < x.Rows {
			p.Sample = m.NumPlaced
		}
		p.X, p.Y, p.Perplexity, p.Iterations, p.KL = m.X, m.Y, m.Perplexity, m.Iterations, &m.KL
	default:
		return nil, fmt.Errorf("method %q: must be tsne, tsne-exact or pca", method)
	}
	p.Seconds = time.Since(start).Seconds()
	return p, nil
}

// Settings returns the settings with which the map was made.
func (p *Projection) Settings() []report.Item {
	items := []report.Item{
		{Name: "method", Value: p.Method},
		{Name: "rows", Value: strconv.Itoa(p.Rows)},
		{Name: "dimensions", Value: strconv.Itoa(p.Dimensions)},
	}
	if p.Sample > 0 {
		items = append(items, report.Item{Name: "by t-SNE", Value: fmt.Sprintf(
			"a sample of %d rows; each other row is beside its nearest rows of the sample", p.Sample)})
	}
	if p.KL != nil {
		items = append(items,
			report.Item{Name: "perplexity", Value: strconv.FormatFloat(p.Perplexity, 'g', 6, 64)},
			report.Item{Name: "iterations", Value: strconv.Itoa(p.Iterations)},
			report.Item{Name: "KL", Value: strconv.FormatFloat(*p.KL, 'f', 4, 64) + " nats"},
			report.Item{Name: "seed", Value: strconv.FormatUint(p.Seed, 10)})
	}
	for j, e := range p.Explained {
		items = append(items, report.Item{Name: fmt.Sprintf("component %d", j+1),
			Value: fmt.Sprintf("%.1f %% of the variance", 100*e)})
	}
	return append(items,
		report.Item{Name: "time", Value: report.FormatDuration(time.Duration(p.Seconds * float64(time.Second)))})
}

// Page returns the page of a map that Of made of these coordinates.
func (p *Projection) Page(m report.Map) report.Page {
	lead := "Each mark is one embedding. t-SNE keeps neighbours together; the sizes of groups and the distances " +
		"between them mean little."
	if p.KL == nil {
		lead = "Each mark is one embedding, seen along the two directions in which the embeddings vary most."
	}
	return report.Page{
		Title: fmt.Sprintf("Map of %d embeddings", p.Rows),
		Lead:  lead,
		Sections: []report.Section{
			{Blocks: []report.Block{m}},
			{Title: "Settings", Blocks: []report.Block{report.Settings{Items: p.Settings()}}},
		},
	}
}

// Figure draws the map once for every column of labels.
func Figure(m report.Map) figure.Figure {
	if len(m.Columns) == 0 {
		return m.Scatter(0)
	}
	var panels []figure.Figure
	for i := range m.Columns {
		s := m.Scatter(i)
		s.Title = "coloured by " + m.Columns[i].Name
		panels = append(panels, s)
	}
	return figure.Panels{Figures: panels, Columns: 2}
}

// WriteCSV writes the coordinates of every row with its labels.
func WriteCSV(w io.Writer, set *embedding.Table, x, y []float64) error {
	out := csv.NewWriter(w)
	head := []string{"x", "y"}
	for _, c := range set.Columns {
		head = append(head, c.Name)
	}
	if err := out.Write(append(head, "id")); err != nil {
		return err
	}
	for i := range x {
		row := []string{strconv.FormatFloat(x[i], 'g', 9, 64), strconv.FormatFloat(y[i], 'g', 9, 64)}
		for _, c := range set.Columns {
			row = append(row, c.At(i))
		}
		if err := out.Write(append(row, set.ItemID(i))); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
