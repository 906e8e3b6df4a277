package index

import (
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// What is like an id that is not there, the most like first.
func TestLike(t *testing.T) {
	x, err := Create(t.TempDir()+"/index", Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var items []store.Item
	for _, id := range []string{"1e/IMG_4197_0.jpg", "1e/IMG_4197_10.jpg", "2e/IMG_4197_0.jpg", "2e/Paris.png",
		"gone"} {
		items = append(items, store.Item{ID: id, Vector: []float32{1}})
	}
	if _, err := x.Add(t.Context(), items, AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Remove(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"":                  {},
		" paris ":           {"2e/Paris.png"},
		"IMG_4197_0.jpg":    {"1e/IMG_4197_0.jpg", "2e/IMG_4197_0.jpg", "1e/IMG_4197_10.jpg"},
		"3e/img_4197_0.jpg": {"1e/IMG_4197_0.jpg", "2e/IMG_4197_0.jpg", "1e/IMG_4197_10.jpg"},
		"2e/Parsi.png":      {"2e/Paris.png", "2e/IMG_4197_0.jpg"},
		"1e/wrong.jpg":      {"1e/IMG_4197_0.jpg", "1e/IMG_4197_10.jpg"},
		"gone":              {},
		"xyz":               {},
	} {
		if got, err := x.SimilarIDs(text, 3); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if got, err := x.SimilarIDs("jpg", 1); err != nil || !slices.Equal(got, []string{"1e/IMG_4197_0.jpg"}) {
		t.Errorf("one: %q, %v", got, err)
	}
	if _, err := x.SimilarIDs("jpg", 0); err == nil {
		t.Error("none is not a number of ids")
	}
}

// More ids than are kept at a time.
func TestLikesCut(t *testing.T) {
	l := newSimilarIDs("a", 2)
	for range 200 {
		l.add("aaaa")
	}
	l.add("a")
	l.add("xa")
	if got := l.ids(); !slices.Equal(got, []string{"a", "xa"}) {
		t.Errorf("%q", got)
	}
}
