package split

import (
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/lists"
)

// sizes is a set without a split whose classes have the given numbers of images.
func sizes(sizes ...int) *data.Dataset {
	d := toy(len(sizes), slices.Max(sizes))
	var keep []int
	for i, id := range d.Columns[0].IDs {
		if i%slices.Max(sizes) < sizes[id] {
			keep = append(keep, i)
		}
	}
	out := &data.Dataset{Name: d.Name, Layout: d.Layout, Fine: "class", Train: "class", Source: d.Source}
	var names []string
	for _, i := range keep {
		out.Names = append(out.Names, d.Names[i])
		names = append(names, d.Columns[0].Classes[d.Columns[0].IDs[i]])
	}
	out.Columns = []data.Column{data.NewColumn("class", names)}
	return out
}

func TestValidation(t *testing.T) {
	ten := []int{6, 6, 6, 6, 6, 6, 6, 6, 6, 1}
	for _, c := range []struct {
		name, rule string
		d          *data.Dataset
		split      string
		classes, n int // of the validation part
		why        string
	}{
		{"nothing", "", sizes(ten...), "none", 0, 0, ""},
		{"nothing", "none", sizes(ten...), "none", 0, 0, ""},
		{"classes", "classes:0.3", sizes(ten...), "classes:0.3", 3, 18,
			"3 classes of the training part, with 18 images, are kept for validation"},
		{"two classes at least", "classes:0.01", sizes(ten...), "classes:0.01", 2, 12, "2 classes of"},
		{"two classes stay", "classes:0.99", sizes(ten...), "classes:0.99", 7, 42, "7 classes of"},
		{"the fewest classes", "classes:0.2", sizes(4, 4, 4, 4), "classes:0.2", 2, 8, "2 classes of"},
		{"too few classes", "classes:0.2", sizes(10, 10, 10), "images:0.2", 3, 6,
			"6 images of the training part, 20 % of each class of three or more, are kept for validation, as 3 " +
				"classes are too few to keep two apart"},
		{"too few with a pair", "classes:0.2", sizes(5, 5, 5, 1, 1), "images:0.2", 3, 3, "5 classes are too few"},
		{"images", "images:0.1", sizes(20, 10, 3, 2, 1), "images:0.1", 3, 4, "4 images of the training part, 10 %"},
		{"two images stay", "images:0.9", sizes(3, 4), "images:0.9", 2, 3, "3 images"},
		{"images of none", "images:0.5", sizes(2, 2, 1), "none", 0, 0,
			"nothing is kept for validation: no class has three images or more"},
	} {
		// All classes are on both sides, so that all samples train.
		s := Selection{Split: "classes", TrainClasses: "all", TestClasses: "all", Validation: c.rule, Seed: 3}
		got, err := Select(t.Context(), c.d, s)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.ValidationSplit != c.split || !strings.Contains(got.ValidationWhy, c.why) {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, got.ValidationSplit, got.ValidationWhy, c.split, c.why)
		}
		s.Validation = got.ValidationSplit // stands for itself
		again, err := Select(t.Context(), c.d, s)
		if err != nil {
			t.Fatal(err)
		}
		if c.n == 0 {
			if got.Validation != nil || got.ValidationGallery != nil || got.Train.Len() != c.d.Len() {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		v := got.Validation
		if !slices.Equal(again.Validation.Index, v.Index) || !slices.Equal(again.Train.Index, got.Train.Index) {
			t.Errorf("%s: %s gives other parts", c.name, s.Validation)
		}
		if v.Len() != c.n || len(lists.Set(v.Fine)) != c.classes || v.Len()+got.Train.Len() != c.d.Len() {
			t.Errorf("%s: %d images of %d classes", c.name, v.Len(), len(lists.Set(v.Fine)))
		}
		trains := lists.Set(got.Train.Fine)
		for pos, i := range v.Index {
			if slices.Contains(got.Train.Index, i) || v.Fine[pos] != c.d.Columns[0].IDs[i] {
				t.Errorf("%s: sample %d", c.name, i)
			}
			if apart := strings.HasPrefix(c.split, "classes"); trains[v.Fine[pos]] == apart {
				t.Errorf("%s: class %d trains: %v", c.name, v.Fine[pos], apart)
			}
		}
		gallery := got.Train
		if strings.HasPrefix(c.split, "classes") {
			gallery = v
		}
		if got.ValidationGallery != gallery {
			t.Errorf("%s: searched in %+v", c.name, got.ValidationGallery)
		}
		for class, n := range counts(gallery) {
			if n < 2 && counts(v)[class] > 0 {
				t.Errorf("%s: %d samples of class %d to find", c.name, n, class)
			}
		}
	}
}

func TestValidationSeedsAndErrors(t *testing.T) {
	d := sizes(8, 8, 8, 8, 8, 8, 8, 8, 8, 8)
	of := func(rule string, seed uint64) []int {
		s, err := Select(t.Context(), d, Selection{Split: "classes", Validation: rule, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return s.Validation.Index
	}
	for _, rule := range []string{"classes:0.3", "images:0.3"} {
		if slices.Equal(of(rule, 1), of(rule, 2)) || !slices.Equal(of(rule, 1), of(rule, 1)) {
			t.Errorf("%s: the seed does not fix the part", rule)
		}
	}
	for _, bad := range []string{"all", "classes", "classes:0", "classes:1", "images:x", "images:NaN", "fold:1/2"} {
		if _, err := Select(t.Context(), d, Selection{Validation: bad}); err == nil ||
			!strings.Contains(err.Error(), "must be none, classes:F, images:F or as-test:F") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A validation part like the test: on classes of its own where the test is, else on
// images, among each other where they have one to find.
func TestValidationAsTest(t *testing.T) {
	many := sizes(10, 10, 10, 10, 10, 10)
	for _, c := range []struct {
		name  string
		d     *data.Dataset
		split string
		want  string
		self  bool // searched in itself
	}{
		{"other classes", many, "classes", "images:0.2", false}, // three train: too few to keep two apart
		{"other classes", sizes(9, 9, 9, 9, 9, 9, 9, 9, 9, 9), "classes", "classes:0.2", true},
		{"other images", many, "images:0.2", "as-test:0.2", true},
		{"one of each", sizes(5, 5, 5, 5), "images:0.3", "images:0.2", false},
		{"none", sizes(4, 4, 4, 4), "images:0.38", "none", false},
	} {
		s := Selection{Split: c.split, Validation: "as-test:0.2", Seed: 3}
		got, err := Select(t.Context(), c.d, s)
		if err != nil {
			t.Fatal(err)
		}
		if v := got.Validation; got.ValidationSplit != c.want || (v == nil) != (c.want == "none") ||
			v != nil && (got.ValidationGallery == v) != c.self {
			t.Errorf("%s: %s, %+v", c.name, got.ValidationSplit, got.ValidationWhy)
			continue
		}
		if got.Validation == nil {
			continue
		}
		s.Validation = got.ValidationSplit // stands for itself
		again, err := Select(t.Context(), c.d, s)
		if err != nil || !slices.Equal(again.Validation.Index, got.Validation.Index) ||
			(again.ValidationGallery == again.Validation) != c.self {
			t.Errorf("%s: %s gives other parts, %v", c.name, s.Validation, err)
		}
	}
	d := sizes(6, 6)
	d.Splits = slices.Repeat([]data.Split{data.Train, data.Train, data.Train, data.Train, data.Query, data.Gallery}, 2)
	got, err := Select(t.Context(), d, Selection{Validation: "as-test:0.5"})
	if err != nil || got.ValidationSplit != "images:0.5" || got.ValidationGallery != got.Train {
		t.Errorf("a gallery of its own: %+v, %v", got, err)
	}
}

// What is said of the division is what trains, without the classes that are kept for validation.
func TestWhyWithoutValidation(t *testing.T) {
	for _, c := range []struct{ validation, fold, want string }{
		{"none", "", "all 20 classes train (480 images), and other images of the same classes are the test (120"},
		{"classes:0.2", "", "16 classes train (384 images) and 20 classes are the test (120 images); 16 of them on " +
			"both sides"},
		{"images:0.25", "", "all 20 classes train (480 images), and other images of the same classes are the test"},
		{"classes:0.2", "1/4", "fold 1 of 4 of the training part, dealt by classes, replaces the test (120 " +
			"images of 5 classes), which is not used; the rest trains (288 images of 12 classes)"},
	} {
		s, err := Select(t.Context(), toy(20, 30), Selection{Split: "images:0.2", Validation: c.validation,
			Fold: c.fold, Seed: 1})
		if err != nil || !strings.HasPrefix(s.Why, c.want) {
			t.Errorf("%s %s: %v\n%s", c.validation, c.fold, err, s.Why)
		}
	}
}
