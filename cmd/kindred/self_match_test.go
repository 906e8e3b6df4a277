package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
)

// writePart writes some rows of a file of embeddings with ids and paths; without names if named is not set.
func writePart(t *testing.T, from, to string, rows []int, named bool) {
	t.Helper()
	all, err := embedding.Read(from)
	if err != nil {
		t.Fatal(err)
	}
	out := &embedding.Table{X: matrix.New(len(rows), all.X.Cols)}
	var ids, labels []string
	for k, i := range rows {
		copy(out.X.Row(k), all.X.Row(i))
		ids, labels = append(ids, fmt.Sprint("item-", i)), append(labels, all.Columns[0].At(i))
		if named {
			out.Files = append(out.Files, fmt.Sprintf("photos/%d.jpg", i))
		}
	}
	out.Columns = []embedding.Column{embedding.NewColumn("label", labels)}
	if named {
		id := embedding.NewColumn("id", ids)
		out.ID = &id
	}
	if err := cli.EmbeddingFormats().Write(to, out); err != nil {
		t.Fatal(err)
	}
}

// An embedding of the gallery is left out of its own answer and named in it, by every command that takes embeddings
// and in every kind of gallery.
func TestItselfIsKnown(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeThings(t, at("c.csv"), 0, 60)
	writeThings(t, at("all.csv"), 100, 120)
	every, some := make([]int, 160), []int{}
	for i := range every {
		if every[i] = i; i%7 == 0 {
			some = append(some, i)
		}
	}
	writePart(t, at("all.csv"), at("g.csv"), every, true)
	writePart(t, at("all.csv"), at("q.csv"), some, true)
	writePart(t, at("all.csv"), at("plain.csv"), some, false)
	mustRun(t, "calibrate", at("c.csv"), "--out", at("c.json"))
	mustRun(t, "index", "create", "--embeddings", at("g.csv"), "--out", at("g.index"))
	answers := map[string][]lookup.Decision{}
	for _, gallery := range [][2]string{{"--embeddings", at("g.csv")}, {"--index", at("g.index")}} {
		for _, queries := range []string{"q.csv", "plain.csv"} {
			what := gallery[0] + " " + queries
			args := []string{"identify", gallery[0], gallery[1], "--vector", at(queries), "--calibration", at("c.json"),
				"--fpir", "0.5"}
			code, stdout, stderr := runArgs(t, append(args, "--json")...)
			var res lookup.Decisions
			if err := json.Unmarshal([]byte(stdout), &res); code != exitOK || err != nil {
				t.Fatal(what, stderr, err)
			}
			for k, q := range res.Queries {
				want := fmt.Sprint("item-", some[k])
				if gallery[0] == "--embeddings" {
					want = fmt.Sprintf("photos/%d.jpg", some[k])
				}
				if label := fmt.Sprint("thing ", 100+some[k]/8); !slices.Equal(q.PhotoIDs, []string{want}) ||
					q.Nearest == 0 || q.Answer != api.AnswerPicture || q.Unknown || q.Label != label ||
					q.Others == nil || q.Probability != 1 {
					t.Errorf("%s, query %d, want %q, %q: %+v", what, k, want, label, q)
				}
				res.Queries[k].Query, res.Queries[k].PhotoIDs = "", nil
			}
			answers[what] = res.Queries
			code, stdout, stderr = runArgs(t, args...)
			if code != exitOK || !strings.Contains(stdout, "this very picture: thing 100 (") ||
				!strings.Contains(stdout, "the other items:") || !strings.Contains(stderr, "23 of 23 decisions are "+
				"items of the gallery: each is known, and the summary counts the votes of the other items") {
				t.Errorf("%s: %s\n%s", what, stdout, stderr)
			}
		}
	}
	for what, list := range answers {
		if want := answers["--index q.csv"]; !reflect.DeepEqual(list, want) {
			t.Errorf("%s decides otherwise than --index q.csv", what)
		}
	}
	itselfTogether(t, at)
}

// itselfTogether identifies photos of one thing: none of them votes about another.
func itselfTogether(t *testing.T, at func(name string) string) {
	t.Helper()
	writePart(t, at("all.csv"), at("one.csv"), []int{8, 9, 10, 11, 12, 13}, true)
	for _, gallery := range [][2]string{{"--embeddings", at("g.csv")}, {"--index", at("g.index")}} {
		code, stdout, stderr := runArgs(t, "identify", gallery[0], gallery[1], "--vector", at("one.csv"),
			"--calibration", at("c.json"), "--fpir", "0.5", "--together", "--out", at("page"+gallery[0]), "--json")
		var res lookup.Decisions
		if err := json.Unmarshal([]byte(stdout), &res); code != exitOK || err != nil || len(res.Queries) != 1 {
			t.Fatal(stderr, err)
		}
		if q := res.Queries[0]; len(q.PhotoIDs) != 6 || q.Label != "thing 101" ||
			q.Others.Label != "thing 101" || q.Answer != api.AnswerPicture {
			t.Errorf("%s: %+v", gallery[0], q)
		}
		page, err := os.ReadFile(filepath.Join(at("page"+gallery[0]), "identify.html"))
		if err != nil || strings.Contains(string(page), ">0; ") ||
			!strings.Contains(string(page), "It has no vote. The other items say: ") {
			t.Errorf("%s: the page names no item, or one of the photos votes", gallery[0])
		}
	}
}

// A search by an embedding of the index leaves its item out, as a search by its photo does.
func TestIndexSearchByVectorLeavesItselfOut(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeThings(t, at("all.csv"), 100, 103)
	some := []int{0, 3, 9}
	writePart(t, at("all.csv"), at("g.csv"), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, true)
	writePart(t, at("all.csv"), at("q.csv"), some, false)
	mustRun(t, "index", "create", "--embeddings", at("g.csv"), "--out", at("g.index"))
	code, stdout, stderr := runArgs(t, "index", "search", at("g.index"), "--vector", at("q.csv"), "--neighbours", "3",
		"--json")
	var found struct {
		Queries []struct {
			Itself     []string
			Neighbours []struct{ Distance float64 }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &found); code != exitOK || err != nil || len(found.Queries) != len(some) {
		t.Fatal(stderr, err)
	}
	for k, q := range found.Queries {
		if !slices.Equal(q.Itself, []string{fmt.Sprint("item-", some[k])}) || q.Neighbours[0].Distance == 0 {
			t.Errorf("query %d: %+v", k, q)
		}
	}
}

// eval leaves a query that the gallery has out of its own results and says so, in every format and with or without
// names; names alone decide nothing.
func TestEvalOfQueriesInTheGallery(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeThings(t, at("all.csv"), 0, 9)
	every := make([]int, 72)
	for i := range every {
		every[i] = i
	}
	for _, format := range []string{"csv", "npz", "safetensors", "parquet"} {
		writePart(t, at("all.csv"), at("named."+format), every, true)
		writePart(t, at("all.csv"), at("plain."+format), every, false)
		metrics := func(args ...string) string {
			code, stdout, stderr := runArgs(t, append([]string{"eval", "--metrics", "recall@1,map@r,r-precision",
				"--json"}, args...)...)
			var doc struct {
				Metrics map[string]float64
				Itself  int
				Notes   []string
			}
			if err := json.Unmarshal([]byte(stdout), &doc); code != exitOK || err != nil {
				t.Fatal(args, stderr, err)
			}
			said := strings.Contains(strings.Join(doc.Notes, "\n"), "72 of 72 queries are also items of the gallery")
			if separate := slices.Contains(args, "--gallery"); said != separate || (doc.Itself == 72) != separate {
				t.Errorf("%v: itself %d, notes %q", args, doc.Itself, doc.Notes)
			}
			return fmt.Sprint(doc.Metrics)
		}
		want := metrics("--embeddings", at("plain."+format))
		for _, pair := range [][2]string{{"named", "named"}, {"named", "plain"}, {"plain", "named"},
			{"plain", "plain"}} {
			have := metrics("--embeddings", at(pair[0]+"."+format), "--gallery", at(pair[1]+"."+format))
			if have != want {
				t.Errorf("%s of %s in %s: %s, want %s", format, pair[0], pair[1], have, want)
			}
		}
	}
}
