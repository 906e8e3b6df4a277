package itemsource

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// newDecidedPage is a page about six photos of cats and dogs in place, with decisions on its cards.
func newDecidedPage(t *testing.T, place string) (*review.Saved, *api.Decisions) {
	t.Helper()
	p := &review.Page{Title: "Suspects"}
	for _, name := range []string{"cat/1.jpg", "cat/2.jpg", "cat/it's.jpg", "dog/1.jpg", "dog/2.jpg", "dog/4.jpg"} {
		path := filepath.Join(place, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("was "+name), 0o666); err != nil {
			t.Fatal(err)
		}
		p.Items = append(p.Items, review.Item{Path: path, Name: name, Label: name[:3]})
	}
	for _, items := range [][]int{{0}, {1}, {2}, {3, 4}, {4}, {5}} {
		p.Cards = append(p.Cards, review.Card{Items: items, Title: "?"})
	}
	dir := t.TempDir()
	if err := p.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	saved, err := review.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := func(k int) string { return "2026-01-0" + string(rune('0'+k)) + "T00:00:00Z" }
	return saved, &api.Decisions{Done: map[string]api.Decision{
		"0": {Action: "relabel", Label: "dog", At: at(1)}, // dog/1.jpg exists
		"1": {Action: "accept", At: at(1)},
		"2": {Action: "drop", At: at(2)},
		"3": {Action: "split", Label: "puppy", At: at(5)},
		"4": {Action: "relabel", Label: "cat", At: at(4)}, // card 3 decides later
		"5": {Action: "relabel", Label: "dog", At: at(1)}, // as it is
	}}
}

// TestCorrections: the last decision on an item counts, and one that changes nothing is left out.
func TestCorrections(t *testing.T) {
	page, d := newDecidedPage(t, t.TempDir())
	of, err := NewCorrections(page, d)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range of {
		got = append(got, c.Name+" "+c.To)
	}
	want := []string{"cat/1.jpg dog", "cat/it's.jpg ", "dog/1.jpg puppy", "dog/2.jpg puppy"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, name := range []string{"6", "-1", "x"} {
		d := &api.Decisions{Done: map[string]api.Decision{name: {Action: "drop"}}}
		if _, err := NewCorrections(page, d); err == nil {
			t.Errorf("a decision on card %s is no error", name)
		}
	}
}

// TestScript: the script moves every photo to the folder of its label without overwriting one, and keeps contents.
func TestScript(t *testing.T) {
	place := filepath.Join(t.TempDir(), "my 'photos' $(x)")
	page, d := newDecidedPage(t, place)
	of, err := NewCorrections(page, d)
	if err != nil {
		t.Fatal(err)
	}
	moves, err := PlanMoves(of)
	if err != nil {
		t.Fatal(err)
	}
	var script bytes.Buffer
	if err := WriteScript(&script, moves); err != nil {
		t.Fatal(err)
	}
	run := func() error {
		sh := exec.Command("sh")
		sh.Stdin = bytes.NewReader(script.Bytes())
		return sh.Run()
	}
	if err := run(); err != nil {
		t.Fatalf("%v\n%s", err, script.String())
	}
	for to, from := range map[string]string{"dog/1-2.jpg": "cat/1.jpg",
		"../my 'photos' $(x).dropped/cat/it's.jpg": "cat/it's.jpg", "puppy/1.jpg": "dog/1.jpg",
		"puppy/2.jpg": "dog/2.jpg", "cat/2.jpg": "cat/2.jpg", "dog/4.jpg": "dog/4.jpg"} {
		if text, err := os.ReadFile(filepath.Join(place, to)); err != nil || string(text) != "was "+from {
			t.Errorf("%s: %q, %v", to, text, err)
		}
	}
	if run() == nil { // a second time
		t.Error("moves of files that are no longer there are no error")
	}
	for want, c := range map[string]Correction{"not the name of its folder": {Item: review.Item{
		Path: filepath.Join(place, "cat/2.jpg"), Label: "lynx"}, To: "cat"}, "cannot be the name": {Item: review.Item{
		Path: filepath.Join(place, "cat/2.jpg"), Label: "cat"}, To: "../x"}, "no such file": {Item: review.Item{
		Path: filepath.Join(place, "cat/9.jpg"), Label: "cat"}, To: "dog"}} {
		if _, err := PlanMoves([]Correction{c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestApply: an index gets the decided labels in one change, which keeps vectors and columns, and what changed since
// the review stays.
func TestApply(t *testing.T) {
	page, d := newDecidedPage(t, t.TempDir())
	of, err := NewCorrections(page, d)
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.Create(filepath.Join(t.TempDir(), "x"), index.Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var list []store.Item
	for k, name := range []string{"cat/1.jpg", "cat/it's.jpg", "dog/1.jpg"} { // dog/2.jpg is missing
		list = append(list, store.Item{ID: "p/" + name, Vector: []float32{float32(k)},
			Columns: map[string]any{"label": name[:3], "price": 5, mirror.Digest: "d"}})
	}
	list[2].Columns["label"] = "wolf" // since the review
	if _, err := x.Add(t.Context(), list, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		before := x.State()
		a, err := Apply(t.Context(), x, of, "p/", dry)
		if err != nil || a.Relabelled != 1 || a.Removed != 1 || !slices.Equal(a.Missing, []string{"p/dog/2.jpg"}) ||
			!slices.Equal(a.Changed, []string{"p/dog/1.jpg"}) || dry != (x.State() == before) {
			t.Errorf("dry %v: %+v, %v", dry, a, err)
		}
	}
	it, ok, err := x.Get("p/cat/1.jpg")
	if err != nil || !ok || it.Columns["label"] != "dog" || it.Columns["price"] != 5.0 ||
		it.Columns[mirror.Labels] == nil {
		t.Errorf("%+v, %v", it, err)
	}
	if _, ok, _ := x.Get("p/cat/it's.jpg"); ok || x.Info().Items != 2 {
		t.Error("the dropped item is there")
	}
}
