package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The worst queries and their neighbours are named where names are known, in every
// form of the report.
func TestWorstQueriesAreNamed(t *testing.T) {
	q := setOnLine([]int64{1, 1, 2, 2}, 0, 1, 1.5, 9)
	var files []string
	for i := range 4 {
		files = append(files, fmt.Sprintf("photos/%d.jpg", i))
	}
	cfg := Config{Metrics: []Metric{{Kind: Recall, K: 1}}, NumWorst: 1, Files: files}
	forms := func(rep *Report) (text, md, doc string) {
		var a, b strings.Builder
		if err := rep.WriteText(&a); err != nil {
			t.Fatal(err)
		}
		if err := rep.WriteMarkdown(&b); err != nil {
			t.Fatal(err)
		}
		c, err := json.Marshal(rep)
		if err != nil {
			t.Fatal(err)
		}
		return a.String(), b.String(), string(c)
	}
	rep, err := Evaluate(context.Background(), q, nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	text, md, doc := forms(rep)
	for _, got := range []string{text, md} {
		if !strings.Contains(got, "photos/2.jpg") || !strings.Contains(got, "photos/1.jpg") {
			t.Errorf("no names in %s", got)
		}
	}
	for _, want := range []string{`"query":1,"path":"photos/1.jpg"`,
		`"neighbour_paths":["photos/2.jpg","photos/0.jpg"`} {
		if !strings.Contains(doc, want) {
			t.Errorf("no %s in %s", want, doc)
		}
	}

	g := setOnLine([]int64{1, 2}, 0.5, 8)
	cfg.GalleryFiles = []string{"g/near.jpg", "g/far.jpg"}
	if rep, err = Evaluate(context.Background(), q, &g, cfg); err != nil {
		t.Fatal(err)
	}
	if w := rep.Columns[0].Worst[0]; w.File != "photos/2.jpg" || w.NeighbourFiles[0] != "g/near.jpg" {
		t.Errorf("%+v", w)
	}

	cfg.Files = nil
	if rep, err = Evaluate(context.Background(), q, &g, cfg); err != nil || rep.Columns[0].Worst[0].File != "" {
		t.Errorf("%v, %v", rep, err)
	}
	for want, bad := range map[string]Config{
		"1 file names for 4 queries":   {Metrics: cfg.Metrics, Files: files[:1]},
		"4 file names for the 2 items": {Metrics: cfg.Metrics, GalleryFiles: files},
	} {
		if _, err := Evaluate(context.Background(), q, &g, bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
