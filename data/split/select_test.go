package split

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/classname"
)

// blank is a source of images of one pixel.
type blank struct{ data.Source }

func (blank) Read(_ context.Context, _ int, dst *imaging.Image, _ *imaging.Decoder) error {
	dst.Reset(1, 1, 1)
	return nil
}

// toy is a set of classes x per samples without an official split.
func toy(classes, per int) *data.Dataset {
	d := &data.Dataset{Name: "toy", Layout: "test", Fine: "class", Train: "class", Source: blank{}}
	var names []string
	for c := range classes {
		for i := range per {
			names = append(names, fmt.Sprintf("c%d", c+1))
			d.Names = append(d.Names, fmt.Sprintf("c%d/%d", c+1, i))
		}
	}
	d.Columns = []data.Column{data.NewColumn("class", names)}
	return d
}

func classesOf(p *data.Part) []string {
	var out []string
	for _, id := range p.Fine {
		out = append(out, p.FineClasses[id])
	}
	slices.SortFunc(out, classname.Compare)
	return slices.Compact(out)
}

func TestSelect(t *testing.T) {
	d := toy(6, 10)
	check := func(s Selection, train, test string) *Parts {
		t.Helper()
		got, err := Select(t.Context(), d, s)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if a, b := strings.Join(classesOf(got.Train), ","), strings.Join(classesOf(got.Query), ","); a != train ||
			b != test {
			t.Errorf("%+v: train %s, test %s", s, a, b)
		}
		return got
	}
	check(Selection{Split: "benchmark"}, "c1,c2,c3", "c4,c5,c6")
	check(Selection{TrainClasses: "1-2"}, "c1,c2", "c3,c4,c5,c6")
	check(Selection{TestClasses: "c1,6"}, "c2,c3,c4,c5", "c1,c6")
	check(Selection{TrainClasses: "1", TestClasses: "3"}, "c1", "c3")

	s := check(Selection{Split: "images:0.3", Seed: 4}, "c1,c2,c3,c4,c5,c6", "c1,c2,c3,c4,c5,c6")
	if s.Train.Len() != 42 || s.Query.Len() != 18 {
		t.Errorf("%d train, %d test", s.Train.Len(), s.Query.Len())
	}
	both := slices.Concat(s.Train.Index, s.Query.Index)
	slices.Sort(both)
	if both = slices.Compact(both); len(both) != 60 {
		t.Errorf("the sides overlap: %d samples", len(both))
	}
	again, _ := Select(t.Context(), d, Selection{Split: "images:0.3", Seed: 4})
	other, _ := Select(t.Context(), d, Selection{Split: "images:0.3", Seed: 5})
	if !slices.Equal(again.Train.Index, s.Train.Index) || slices.Equal(other.Train.Index, s.Train.Index) {
		t.Error("the seed does not fix the split")
	}

	tested := map[string]int{}
	for k := 1; k <= 4; k++ {
		s, err := Select(t.Context(), d, Selection{Split: fmt.Sprintf("fold:%d/4", k), Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range classesOf(s.Query) {
			tested[c]++
			if slices.Contains(classesOf(s.Train), c) {
				t.Errorf("fold %d: class %s on both sides", k, c)
			}
		}
	}
	if len(tested) != 6 {
		t.Errorf("folds test %v", tested)
	}

	d.Splits = make([]data.Split, d.Len())
	for i := range d.Splits {
		d.Splits[i] = []data.Split{data.Train, data.Test}[i%2]
	}
	s = check(Selection{TrainClasses: "1-4", TestClasses: "5-6"}, "c1,c2,c3,c4", "c5,c6")
	if s.Split != "official" || s.Train.Len() != 20 || s.Query.Len() != 10 || s.Seen == nil || s.Seen.Len() != 20 {
		t.Errorf("%+v", s)
	}
	d.Disjoint = true
	if s = check(Selection{TrainClasses: "1-4"}, "c1,c2,c3,c4", "c5,c6"); s.Train.Len() != 40 || s.Split != "classes" {
		t.Errorf("%+v", s)
	}
}

// TestSelectBoth checks that split both keeps classes apart and, of those that
// train, images.
func TestSelectBoth(t *testing.T) {
	for _, c := range []struct {
		s                 Selection
		train, seen, test int
	}{
		{Selection{Split: "both:0.2"}, 4 * 8, 4 * 2, 4 * 10},
		{Selection{Split: "both:0.5", TrainClasses: "1-3"}, 3 * 5, 3 * 5, 5 * 10},
		{Selection{Split: "both:0.2", TrainClasses: "1-3", TestClasses: "8"}, 3 * 8, 3 * 2, 10},
	} {
		s, err := Select(t.Context(), toy(8, 10), c.s)
		if err != nil {
			t.Fatal(err)
		}
		if s.Seen == nil || s.Train.Len() != c.train || s.Seen.Len() != c.seen || s.Query.Len() != c.test {
			t.Errorf("%+v: %s", c.s, s.Why)
			continue
		}
		if !slices.Equal(classesOf(s.Seen), classesOf(s.Train)) {
			t.Errorf("%+v: %v train and %v are seen", c.s, classesOf(s.Train), classesOf(s.Seen))
		}
		for _, i := range slices.Concat(s.Seen.Index, s.Query.Index) {
			if slices.Contains(s.Train.Index, i) {
				t.Errorf("%+v: sample %d trains and tests", c.s, i)
			}
		}
		if s.Query != s.Gallery {
			t.Errorf("%+v: the gallery is not the queries", c.s)
		}
	}
	for _, bad := range []string{"both", "both:", "both:1", "both:0", "both:NaN"} {
		if _, err := Select(t.Context(), toy(8, 10), Selection{Split: bad}); err == nil ||
			!strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestSelectFewClasses(t *testing.T) {
	s, err := Select(t.Context(), toy(2, 10), Selection{})
	if err != nil || s.Split != "images:0.2" || s.Train.Len() != 16 || s.Query.Len() != 4 {
		t.Errorf("%+v %v", s, err)
	}
}

func TestSelectErrors(t *testing.T) {
	d := toy(6, 2)
	for want, s := range map[string]Selection{
		"unknown split":            {Split: "halves"},
		"no official split":        {Split: "official"},
		"between 0 and 1":          {Split: "images:1"},
		"write fold:K/N":           {Split: "fold:3/2"},
		"no sample to test on":     {TrainClasses: "1-6"},
		"training classes":         {TrainClasses: "9"},
		"test classes":             {TestClasses: "x"},
		`no label column "letter"`: {Label: "letter"},
		`no label column "digit"`:  {Fine: "digit"},
	} {
		if _, err := Select(t.Context(), d, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", s, err, want)
		}
	}
}

// roleSamples are the samples of the parts of a selection: train, query, gallery, seen.
type roleSamples [4][]int

// choose is the definition of a selection, applied sample by sample: roles are the
// split's, inTrain and inTest say which classes are asked for, class gives that of
// a sample.
func choose(roles []data.Split, inTrain, inTest func(c int) bool, class func(i int) int) (out roleSamples) {
	for i, r := range roles {
		c := class(i)
		for k, in := range []bool{
			r&data.Train != 0 && inTrain(c), r&data.Query != 0 && inTest(c), r&data.Gallery != 0 && inTest(c),
			r&data.Query != 0 && inTrain(c) && !inTest(c),
		} {
			if in {
				out[k] = append(out[k], i)
			}
		}
	}
	return out
}

// Every way to select, against the definition.
func TestSelectByDefinition(t *testing.T) {
	const classes, per = 5, 4
	base := toy(classes, per)
	class := func(i int) int { return i/per + 1 }
	for _, kind := range []string{"none", "images", "three", "disjoint"} {
		d := *base
		for i := range d.Len() {
			switch kind {
			case "images":
				d.Splits = append(d.Splits, []data.Split{data.Train, data.Test, data.Train, 0}[i%per])
			case "three":
				d.Splits = append(d.Splits, []data.Split{data.Train, data.Query, data.Gallery, data.Gallery}[i%per])
			case "disjoint":
				d.Splits, d.Disjoint = append(d.Splits, []data.Split{data.Train, data.Test}[min(class(i)/3, 1)]), true
				d.ImageSplits = append(d.ImageSplits, []data.Split{data.Test, data.Train, data.Train,
					data.Train}[i%per])
			}
		}
		for _, split := range []string{"benchmark", "official", "classes", "images"} {
			for _, train := range []string{"", "1,2", "2,3,4"} {
				for _, test := range []string{"", "3,5", "4"} {
					s := Selection{Split: split, TrainClasses: train, TestClasses: test}
					rule := split
					if rule == "benchmark" {
						rule = "classes"
						if d.Splits != nil && (!d.Disjoint || train == "" && test == "") {
							rule = "official"
						}
					}
					roles := map[string][]data.Split{"official": d.Splits, "images": d.ImageSplits,
						"classes": allRoles(d.Len())}[rule]
					inTrain, inTest := listFilter(train), listFilter(test)
					if rule == "classes" {
						switch {
						case train == "" && test == "":
							inTrain = func(c int) bool { return c <= classes/2 }
							inTest = func(c int) bool { return c > classes/2 }
						case train == "":
							inTrain = func(c int) bool { return !inTest(c) }
						case test == "":
							inTest = func(c int) bool { return !inTrain(c) }
						}
					}
					compareSelection(t, kind, &d, s, rule, choose(roles, inTrain, inTest, class), class)
				}
			}
		}
	}
}

// listFilter reads a list of classes of one digit; "" lists all.
func listFilter(list string) func(c int) bool {
	return func(c int) bool { return list == "" || strings.Contains(list, strconv.Itoa(c)) }
}

// compareSelection selects and compares the parts with want.
func compareSelection(t *testing.T, kind string, d *data.Dataset, s Selection, rule string, want roleSamples,
	class func(i int) int) {
	t.Helper()
	got, err := Select(t.Context(), d, s)
	if len(want[0]) == 0 || len(want[1]) == 0 || len(want[2]) == 0 {
		if err == nil {
			t.Errorf("%s, %+v: no error", kind, s)
		}
		return
	}
	if err != nil {
		t.Errorf("%s, %+v: %v", kind, s, err)
		return
	}
	for k, p := range []*data.Part{got.Train, got.Query, got.Gallery, got.Seen} {
		if p == nil {
			p = new(data.Part)
		}
		if !slices.Equal(p.Index, want[k]) {
			t.Errorf("%s, %+v: part %d is %v, want %v", kind, s, k, p.Index, want[k])
		}
		for at, i := range p.Index {
			if p.Fine[at] != int64(class(i)-1) || p.Label[at] != p.Fine[at] || p.Data != d {
				t.Errorf("%s, %+v: part %d: labels %v %v", kind, s, k, p.Fine, p.Label)
			}
		}
	}
	if got.Split != rule || (got.Query == got.Gallery) != slices.Equal(want[1], want[2]) ||
		(got.Seen == nil) != (len(want[3]) == 0) {
		t.Errorf("%s, %+v: applied %q, shared %v", kind, s, got.Split, got.Query == got.Gallery)
	}
}

// What a set without a split of its own is divided by, and what is said of it.
func TestSelectUsualSplit(t *testing.T) {
	for _, c := range []struct {
		classes, per int
		s            Selection
		want, why    string
	}{
		{12, 10, Selection{}, "images:0.2", "all 12 classes train (96 images), and other images of the same classes " +
			"are the test (24 images), 20 % of each class at random, as the set has no split of its own " +
			"(data.split=classes keeps whole classes for the test)"},
		{12, 5, Selection{}, "images:0.3", "all 12 classes train (36 images), and other images of the same classes " +
			"are the test (24 images), 30 % of each class at random, as the set has no split of its own, and " +
			"classes are small: two images are held out of 5, one to find the other (data.split=classes keeps " +
			"whole classes for the test)"},
		{12, 4, Selection{}, "images:0.38", "(24 images), 38 % of each class"},
		{12, 8, Selection{}, "images:0.2", "all 12 classes train (72 images)"},
		{12, 3, Selection{}, "classes", "6 classes train (18 images), and 6 classes that training does not see are " +
			"the test (18 images), as half of the classes have 3 images or fewer, too few to hold some out"},
		{12, 5, Selection{Split: "benchmark"}, "classes",
			"the test (30 images), as papers compare, on classes that training does not see"},
		{12, 5, Selection{Split: "classes"}, "classes", "that training does not see are the test (30 images)"},
		{12, 5, Selection{Split: "fold:2/3"}, "fold:2/3", "8 classes train (40 images), and 4 classes that training " +
			"does not see are the test (20 images): fold 2 of 3"},
		{12, 5, Selection{Split: "both:0.4"}, "both:0.4",
			"6 classes train (18 images), and 6 classes that training does " +
				"not see are the test (30 images); 12 images of the classes that train, 40 % of each at random, are " +
				"held " +
				"out too"},
		{3, 10, Selection{}, "images:0.2", "as 3 classes are too few to keep any for the test alone"},
		{3, 5, Selection{}, "images:0.3", "as 3 classes are too few to keep any for the test alone, and classes are " +
			"small: two images are held out of 5, one to find the other"},
		{3, 3, Selection{}, "images:0.2", "as 3 classes are too few"},
		{1, 10, Selection{}, "images:0.2", "as 1 class is too few"},
		{3, 10, Selection{Split: "benchmark"}, "images:0.2", "as 3 classes are too few to keep any for the test alone"},
		{3, 5, Selection{TrainClasses: "1"}, "classes", "1 class trains (5 images), and 2 classes"},
		{3, 5, Selection{TestClasses: "1"}, "classes", "2 classes train"},
		{3, 5, Selection{Split: "classes", TrainClasses: "1-2", TestClasses: "2-3"}, "classes",
			"2 classes train (10 images) and 2 classes are the test (10 images); 1 of them on both sides"},
		{3, 5, Selection{Split: "classes", TrainClasses: "1-2", TestClasses: "1-2"}, "classes",
			"all 2 classes train (10 images), and the same images are the test"},
	} {
		got, err := Select(t.Context(), toy(c.classes, c.per), c.s)
		if err != nil || got.Split != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%d classes of %d, %+v: %v, %v; want %s, %s", c.classes, c.per, c.s, got, err, c.want, c.why)
			continue
		}
		c.s.Split = got.Split // stands for itself
		again, err := Select(t.Context(), toy(c.classes, c.per), c.s)
		if err != nil || !slices.Equal(again.Train.Index, got.Train.Index) ||
			!slices.Equal(again.Query.Index, got.Query.Index) {
			t.Errorf("%+v: %v", c.s, err)
		}
		if typical := c.want[:3] == "ima" && c.per > 3; typical {
			for class, n := range counts(got.Query) {
				if n < 2 {
					t.Errorf("%+v: %d test images of class %d cannot be found", c.s, n, class)
				}
			}
		}
	}
}

// counts returns how many samples of each class a part has.
func counts(p *data.Part) map[int64]int {
	n := make(map[int64]int)
	for _, id := range p.Fine {
		n[id]++
	}
	return n
}

// Official splits, in words.
func TestSelectWhyOfficial(t *testing.T) {
	d := toy(4, 10)
	for i := range d.Len() {
		d.Splits = append(d.Splits, []data.Split{data.Train, data.Train, data.Test}[i%3])
	}
	s, err := Select(t.Context(), d, Selection{})
	if want := "all 4 classes train (27 images), and other images of the same classes are the test (13 images), as " +
		"the set's own split says"; err != nil || s.Why != want {
		t.Errorf("%v, %v", s, err)
	}
	for i := range d.Len() {
		d.Splits[i] = []data.Split{data.Train, data.Query, data.Gallery}[min(i/10, 2)]
	}
	d.Disjoint = true
	s, err = Select(t.Context(), d, Selection{})
	if want := "1 class trains (10 images), and 1 class that training does not see are the test (30 images), as the " +
		"set's own split says"; err != nil || s.Why != want {
		t.Errorf("%+v, %v", s.Why, err)
	}
}

// Folds part the classes: each is tested once, and the rest trains. Lists of
// classes narrow both sides.
func TestSelectFolds(t *testing.T) {
	d := toy(7, 2)
	var tested []string
	for k := 1; k <= 3; k++ {
		s, err := Select(t.Context(), d, Selection{Split: fmt.Sprintf("fold:%d/3", k), Seed: 9})
		if err != nil {
			t.Fatal(err)
		}
		train, test := classesOf(s.Train), classesOf(s.Query)
		if len(train)+len(test) != 7 || len(test) < 2 || len(test) > 3 || s.Train.Len() != 2*len(train) ||
			s.Query.Len() != 2*len(test) || s.Seen == nil || !slices.Equal(classesOf(s.Seen), train) {
			t.Errorf("fold %d: %v, %v", k, train, test)
		}
		tested = append(tested, test...)
	}
	slices.Sort(tested)
	if len(slices.Compact(tested)) != 7 {
		t.Errorf("tested %v", tested)
	}
	s, err := Select(t.Context(), d, Selection{Split: "fold:1/3", Seed: 9, TrainClasses: "1-6", TestClasses: "2-7"})
	if err != nil || slices.Contains(classesOf(s.Train), "c7") || slices.Contains(classesOf(s.Query), "c1") {
		t.Errorf("%v, %v", s, err)
	}
	if slices.Equal(dealFolds(20, 4, 1), dealFolds(20, 4, 2)) {
		t.Error("the seed changes nothing")
	}
	for _, bad := range []string{"fold:0/3", "fold:4/3", "fold:1/1", "fold:1/3x", "fold:01/3", "fold:1", "fold:"} {
		if _, err := Select(t.Context(), d, Selection{Split: bad}); err == nil ||
			!strings.Contains(err.Error(), "write fold:K/N") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Of n images of a class round(f n) test, but never none or all if that can be.
func TestHeldOutImages(t *testing.T) {
	for _, c := range []struct {
		n    int
		f    float64
		want int
	}{{1, 0.4, 0}, {1, 0.9, 0}, {2, 0.01, 1}, {2, 0.99, 1}, {10, 0.25, 3}, {10, 0.24, 2}, {10, 0.01, 1}, {10, 0.99, 9},
		{4, 0.5, 2}} {
		d := toy(3, c.n)
		test := 0
		for i, r := range holdOutRoles(t, d, c.f, 3) {
			if r != data.Train && r != data.Test {
				t.Fatalf("role %v", r)
			}
			if r == data.Test && i < c.n {
				test++
			}
		}
		if test != c.want {
			t.Errorf("%g of %d images: %d test, want %d", c.f, c.n, test, c.want)
		}
	}
	for _, bad := range []string{"images:0", "images:1", "images:-1", "images:nan", "images:x", "images:"} {
		if _, err := Select(t.Context(), toy(5, 2), Selection{Split: bad}); err == nil ||
			!strings.Contains(err.Error(), "between 0 and 1") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// What a seed divides, as it was when this test was written: runs repeat only if it stays.
func TestSeedsKeepTheirDivision(t *testing.T) {
	if got := dealFolds(10, 3, 1); !slices.Equal(got, []int{0, 1, 2, 0, 2, 1, 1, 0, 2, 0}) {
		t.Errorf("folds %v", got)
	}
	d := toy(2, 6)
	if got := fmt.Sprint(holdOutRoles(t, d, 0.34,
		7)); got != "[train train test test train train train train train train test test]" {
		t.Errorf("held out %s", got)
	}
}

// All parts share one cached set.
func TestSelectedCache(t *testing.T) {
	d := sceneDataset(t, nil)
	s, err := Select(t.Context(), d, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Cache(t.Context(), data.CacheOptions{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if s.Train.Data == d || s.Train.Data != s.Query.Data || s.Query != s.Gallery {
		t.Error("the parts are not on the cached set")
	}
	if err := s.Train.Data.Close(); err != nil {
		t.Error(err)
	}
}
