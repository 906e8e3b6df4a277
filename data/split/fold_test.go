package split

import (
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
)

// kindsDataset is a set of 12 classes of 4 images in groups of two, the first six of the
// classes to train on.
func kindsDataset() *data.Dataset {
	d := toy(12, 4)
	var group []string
	for _, id := range d.Columns[0].IDs {
		group = append(group, string(rune('a'+id/2)))
	}
	d.Columns = append(d.Columns, data.NewColumn("group", group))
	return d
}

func TestFold(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Selection
		n    int // folds
		each int // images in the first fold
	}{
		{"classes apart", Selection{Split: "classes"}, 3, 8},
		{"labels apart", Selection{Split: "classes", Label: "group"}, 3, 8},
		{"labels shared", Selection{Split: "classes", Label: "parity"}, 3, 8},
		{"images", Selection{Split: "images:0.25"}, 2, 18},
	} {
		whole, err := Select(t.Context(), kindsDataset(), c.s)
		if err != nil {
			t.Fatal(err)
		}
		var seen []int
		for k := range c.n {
			s := c.s
			s.Fold = strings.Repeat("images:", map[string]int{"images": 1}[c.name]) + string(rune('1'+k)) + "/" +
				string(rune('0'+c.n))
			got, err := Select(t.Context(), kindsDataset(), s)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if k == 0 && got.Query.Len() != c.each {
				t.Errorf("%s: %d images in the fold, want %d", c.name, got.Query.Len(), c.each)
			}
			both := slices.Sorted(slices.Values(slices.Concat(got.Train.Index, got.Query.Index)))
			if !slices.Equal(both, whole.Train.Index) {
				t.Errorf("%s: fold %d and the rest are not the training part", c.name, k+1)
			}
			if got.Gallery != got.Query || got.Seen != nil || !strings.Contains(got.Why, "replaces the test") {
				t.Errorf("%s: %+v", c.name, got)
			}
			if n := got.sharedClasses(); n > 0 && c.name != "images" {
				t.Errorf("%s: %d classes on both sides", c.name, n)
			}
			if c.name == "labels apart" && got.sharesLabels() {
				t.Errorf("%s: a label on both sides", c.name)
			}
			if c.name == "labels shared" && len(slices.Compact(slices.Sorted(slices.Values(got.Query.Label)))) != 2 {
				t.Errorf("%s: fold %d has one parity only", c.name, k+1)
			}
			seen = append(seen, got.Query.Index...)
		}
		slices.Sort(seen)
		if !slices.Equal(seen, whole.Train.Index) {
			t.Errorf("%s: the folds are not the training part", c.name)
		}
	}
	// A validation part is cut off what is left.
	got, err := Select(t.Context(), kindsDataset(), Selection{Split: "classes", Fold: "1/2", Validation: "images:0.3"})
	if err != nil || got.Validation.Len() != 3 || got.Train.Len() != 9 || got.Query.Len() != 12 {
		t.Errorf("fold with validation: %+v, %v", got, err)
	}
}

func TestFoldRefused(t *testing.T) {
	for _, c := range []struct{ label, fold, want string }{
		{"", "0/3", `must be K/N`}, {"", "1/1", `must be K/N`}, {"", "4/3", `must be K/N`}, {"", "half", `must be K/N`},
		{"", "classes:1/2", `images:K/N`}, {"", "1/2 ", `must be K/N`},
		{"", "1/6", "fold 1 has 1 class, but needs two"}, {"", "1/99", "take fewer folds"},
		{"", "images:1/4", "no class with two images"},
		{"group", "1/4", "fold 4 has 0 classes"}, {"group", "1/3", ""},
	} {
		s := Selection{Split: "classes", Label: c.label, Fold: c.fold}
		_, err := Select(t.Context(), kindsDataset(), s)
		if c.want == "" {
			if err != nil {
				t.Errorf("%v: %v", s, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), s.Fold) {
			t.Errorf("fold %q: %v; want %q", c.fold, err, c.want)
		}
	}
}
