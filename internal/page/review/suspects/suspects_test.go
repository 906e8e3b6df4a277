package suspects

import (
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/matrix"
)

// newClouds are two classes of 40 items far apart: item 3 has the other's label, item 50 lies
// far from everything, and the picture of 7 is that of 60.
func newClouds() (*review.Subjects, *matrix.Dense, []*clean.Fingerprint) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := &review.Subjects{Names: map[int64]string{0: "cat", 1: "lynx"}}
	x := matrix.New(80, 4)
	prints := make([]*clean.Fingerprint, x.Rows)
	for i := range x.Rows {
		label := int64(i / 40)
		for d := range x.Cols {
			x.Row(i)[d] = 4*rng.Float32() + 12*float32(label)
		}
		im := image.NewGray(image.Rect(0, 0, 64, 64))
		for k := range im.Pix {
			im.Pix[k] = uint8(rng.IntN(256))
		}
		prints[i] = clean.NewFingerprint(im)
		s.Labels = append(s.Labels, label)
		s.Items = append(s.Items, embedding.Item{Path: fmt.Sprintf("%02d.jpg", i)})
		s.Splits = append(s.Splits, []string{"train", "test"}[i%2])
	}
	s.Labels[3] = 1
	copy(x.Row(50), []float32{90, -90, 90, -90})
	prints[60], prints[61] = prints[7], nil
	copy(x.Row(60), x.Row(7))
	s.Labels[60] = 0
	return s, x, prints
}

// TestAlone: an item that is alone in its class is far from all others by nature, and no suspect for it.
func TestAlone(t *testing.T) {
	s, x, _ := newClouds()
	s.Labels[50], s.Names[2] = 2, "bear"
	r, err := Find(t.Context(), s, x, Options{Least: 0.5, Neighbours: 15, Seed: 1})
	if err != nil || r.Outliers != 0 || r.Alone != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, found := range r.Suspects {
		if found.item == 50 {
			t.Errorf("suspected: %s", found.Reason)
		}
	}
}

func TestFind(t *testing.T) {
	s, x, prints := newClouds()
	r, err := Find(t.Context(), s, x, Options{Least: 0.5, Neighbours: 15, Seed: 1, Prints: prints})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, found := range r.Suspects {
		word, _, _ := strings.Cut(found.Reason, ":")
		of[word] += found.Path + " "
	}
	if of["label"] != "03.jpg " || of["copy"] != "60.jpg " || of["odd"] != "50.jpg " {
		t.Errorf("%q", of)
	}
	if r.Items != 80 || r.Labels != 1 || r.Duplicates != 1 || r.Outliers != 1 || !r.Pictures || r.CopyCount() != "1" {
		t.Errorf("%+v", r)
	}
	if k := slices.IndexFunc(r.Suspects, func(s Suspect) bool { return s.beside == 7 }); k < 0 ||
		!strings.Contains(r.Suspects[k].Reason, "the same picture as 07.jpg, on the other side of the split") {
		t.Errorf("%+v", r.Suspects)
	}
	if rows := r.Rows(); len(rows) != 4 || rows[1][2] != "lynx" || rows[1][3] != "cat" {
		t.Errorf("suspects.csv %q", rows)
	}
	relabelled, dropped := r.Manifest(s, false), r.Manifest(s, true)
	if len(relabelled) != 81 || len(dropped) != 80 || relabelled[4][1] != "cat" || relabelled[1][1] != "cat" {
		t.Errorf("%d and %d rows, %q", len(relabelled), len(dropped), relabelled[4])
	}
	p, err := r.Page(t.Context(), s)
	if err != nil || len(p.Cards) != 3 || !strings.Contains(p.Lead, "Of 80 items") {
		t.Fatalf("%v, %+v", err, p)
	}
	// A suspected label is shown beside one of each class that nobody suspects.
	if c := p.Cards[0]; len(c.Pictures) != 3 || c.Pictures[1].Caption != "typical lynx" ||
		c.Pictures[2].Caption != "typical cat" {
		t.Errorf("%+v", c)
	}
	if r, err = Find(t.Context(), s, x, Options{Least: 0.5, Neighbours: 15, Seed: 1}); err != nil || r.Pictures ||
		r.Duplicates != 0 || r.CopyCount() != "not searched" {
		t.Errorf("without pictures: %v, %+v", err, r)
	}
}

// Every class is dealt evenly, and a seed decides how.
func TestDeal(t *testing.T) {
	labels := make([]int64, 100)
	for i := range labels {
		labels[i] = int64(i % 7)
	}
	got := assignFolds(labels, 3, 5)
	count := map[[2]int64]int{}
	for i, k := range got {
		count[[2]int64{labels[i], int64(k)}]++
	}
	for y := range int64(7) {
		for k := range int64(3) {
			if n := count[[2]int64{y, k}]; n < 4 || n > 5 {
				t.Errorf("fold %d has %d of class %d", k, n, y)
			}
		}
	}
	if !slices.Equal(got, assignFolds(labels, 3, 5)) || slices.Equal(got, assignFolds(labels, 3, 6)) {
		t.Error("the seed does not decide")
	}
}
