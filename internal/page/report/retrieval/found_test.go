package retrieval

import (
	"context"
	"errors"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// TestFoundPage: each query stands before its neighbours, with a link to each photo that is
// there, and a photo that cannot be read is shown without a picture and told of once.
func TestFoundPage(t *testing.T) {
	dir := t.TempDir()
	here := filepath.Join(dir, "here.png")
	if err := os.WriteFile(here, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{here, filepath.Join(dir, "gone.png"), ""}
	var told []string
	f := &Found{
		Queries: Photos{1, func(int) string { return "query.png" }, func(int) string { return "" }, nil},
		Gallery: Photos{3, func(i int) string { return names[i] }, func(i int) string { return "abc"[i : i+1] },
			func(i int) (image.Image, error) {
				if i > 0 {
					return nil, errors.New("damaged")
				}
				return image.NewGray(image.Rect(0, 0, 1, 1)), nil
			}},
		Distance: rank.Euclidean, By: "the network", File: filepath.Join(dir, "search.html"), Least: 0.9,
		Unread: func(name string, err error) { told = append(told, name+": "+err.Error()) },
	}
	page, rows, err := f.Page(context.Background(), []rank.Found{{Row: []int32{0, 1, 2}, Value: []float64{4, 9, 16}}})
	if err != nil {
		t.Fatal(err)
	}
	q := rows.Rows[0]
	if q.Item.Name != "query.png" || len(q.Neighbours) != 3 || q.Neighbours[0].Link != "./here.png" ||
		q.Neighbours[0].Image == nil || q.Neighbours[1].Link != "" || q.Neighbours[1].Image != nil ||
		q.Neighbours[1].Label != "b" || q.Neighbours[2].Distance != "distance 4" {
		t.Errorf("%+v", q)
	}
	if len(told) != 1 || told[0] != names[1]+": damaged" {
		t.Errorf("told of %q", told)
	}
	if !strings.Contains(page.Lead, "1 photo looked up among 3 by euclidean distance") ||
		!strings.Contains(rows.Caption, "The photo, before") || !strings.Contains(rows.Caption, "less than 90 %") {
		t.Errorf("%s\n%s", page.Lead, rows.Caption)
	}
	if len(page.Sections) != 1 || len(page.Sections[0].Blocks) != 1 {
		t.Errorf("%+v", page)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, _, err := f.Page(stopped, []rank.Found{{Row: []int32{1}, Value: []float64{0}}}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	var _ report.Block = rows
}
