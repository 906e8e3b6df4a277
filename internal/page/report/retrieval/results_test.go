package retrieval

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// TestFoundPage: each query stands before its neighbours, with a link to each photo that is
// there, and a photo that cannot be read is shown without a picture and told of once.
func TestFoundPage(t *testing.T) {
	dir := t.TempDir()
	here, damaged := filepath.Join(dir, "here.png"), filepath.Join(dir, "damaged.png")
	var picture bytes.Buffer
	if err := errors.Join(png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1, 1))),
		os.WriteFile(here, picture.Bytes(), 0o600), os.WriteFile(damaged, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	d, err := data.OpenFiles(t.Context(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	items := &embedding.Table{X: matrix.New(3, 1), Files: []string{here, damaged, filepath.Join(dir, "gone.png")},
		Columns: []embedding.Column{embedding.NewColumn("label", []string{"a", "b", "c"})}}
	var told []string
	f := &Results{Queries: &lookup.Set{Table: &embedding.Table{X: matrix.New(1, 1), Files: []string{"query.png"}}},
		Gallery: &lookup.Table{Set: &lookup.Set{Table: items, Data: d}}, By: "the network", Least: 0.9,
		Info: &lookup.Info{Items: 3}}
	shown := func(ctx context.Context) {
		tell := func(name string, _ error) { told = append(told, name) }
		f.Query = PictureReader(ctx, filepath.Join(dir, "search.html"), tell)
		f.Item = f.Query
	}
	shown(t.Context())
	found := []api.Answer{{Neighbours: []api.Neighbour{{Row: new(0), Hit: store.Hit{Distance: 2}},
		{Row: new(1), Hit: store.Hit{Distance: 3}}, {Row: new(2), Hit: store.Hit{Distance: 4}}}}}
	page, rows, err := f.Page(found)
	if err != nil {
		t.Fatal(err)
	}
	q := rows.Rows[0]
	if q.Item.Name != "query.png" || len(q.Neighbours) != 3 || q.Neighbours[0].Link != "./here.png" ||
		q.Neighbours[0].Image == nil || q.Neighbours[2].Link != "" || q.Neighbours[1].Image != nil ||
		q.Neighbours[1].Label != "b" || q.Neighbours[2].Distance != "distance 4" {
		t.Errorf("%+v", q)
	}
	if len(told) != 1 || told[0] != damaged {
		t.Errorf("told of %q", told)
	}
	if !strings.Contains(page.Lead, "1 photo looked up among 3 by euclidean distance") ||
		!strings.Contains(rows.Caption, "The query photo, followed by") ||
		!strings.Contains(rows.Caption, "photos below 90 % are left out") {
		t.Errorf("%s\n%s", page.Lead, rows.Caption)
	}
	if len(page.Sections) != 1 || len(page.Sections[0].Blocks) != 1 {
		t.Errorf("%+v", page)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	shown(stopped)
	if _, _, err := f.Page(found); !errors.Is(err,
		context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	var _ report.Block = rows
}

// A set of features has no pictures, which is an error of the whole page.
func TestShownOfFeatures(t *testing.T) {
	show := PictureReader(t.Context(), "page.html", func(string, error) { t.Error("told") })
	if _, err := show(lookup.Picture{Data: &data.Dataset{Name: "rows"}}); err == nil ||
		!strings.Contains(err.Error(), "holds features, not pictures") {
		t.Error(err)
	}
}
