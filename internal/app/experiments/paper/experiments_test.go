package paper

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/test/refdata"
	"github.com/kindred-ml/kindred/matrix"
)

// smallDigits are overrides that run an experiment on made-up digits.
var smallDigits = []string{
	"data.name=mnist", "data.label=", "data.fine=", "data.size=28", "data.augment=none", "data.channels=0",
	"data.pixels=unit",
	"network.name=conv4", "network.width=4", "network.dim=8", "train.epochs=2", "train.schedule=constant",
	"train.optimizer=adam", "train.lr=0.005",
	"sample.batches=4", "eval.every=1", "data.train_classes=", "data.test_classes=", "data.train_limit=0",
	"data.test_limit=0",
}

// TestExtremePage runs four arms of the experiment with its snapshots, two runs at a time, and
// writes the page with sweep and scatter diagrams.
func TestExtremePage(t *testing.T) {
	e := Find("extreme")
	e.Claims = e.Claims[:1] // made-up digits do not collapse
	e.Arms = slices.DeleteFunc(e.Arms,
		func(a Arm) bool { return !strings.HasPrefix(a.Name, "EPHN") || a.At != 2 && a.At != 8 })
	for i := range e.Arms { // ten classes only
		e.Arms[i].Set = append(e.Arms[i].Set, "sample.classes=5")
	}
	o := Options{Dir: t.TempDir(), Seeds: 2, Seed: 1, Jobs: 2, Home: writeDigits(t, 12),
		Set: append(slices.Clone(smallDigits), "eval.train=30")}
	out, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{ReportFile, "sweep.svg", "scatter1.svg", "scatter4.svg"} {
		if _, err := os.Stat(filepath.Join(o.Dir, f)); err != nil {
			t.Error(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(o.Dir, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"With hard negatives and n = 2", "Where triplets moved", "bottom right",
		"scale small", "How the settings were chosen", "on mnist instead of CUB-200-2011",
		"the mean of 2 seeds", "So few seeds decide nothing"} {
		// A page keeps numbers on one line with their units.
		if !strings.Contains(strings.ReplaceAll(string(page), "\u00a0", " "), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	one := o
	one.Dir, one.Jobs = t.TempDir(), 1
	again, err := Reproduce(t.Context(), e, one)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range out.Arms {
		if !slices.Equal(a.Measures[0].Values, again.Arms[i].Measures[0].Values) {
			t.Errorf("%s: %v with two jobs, %v with one", a.Name, a.Measures[0].Values,
				again.Arms[i].Measures[0].Values)
		}
	}
}

// TestSnapshotTriplets checks the nearest positive and negative, and the
// direction of movement, on four points of a circle.
func TestSnapshotTriplets(t *testing.T) {
	at := func(degrees ...float64) *snapshot {
		x := matrix.New(len(degrees), 2)
		for i, d := range degrees {
			x.Row(i)[0], x.Row(i)[1] = float32(math.Cos(d*math.Pi/180)), float32(math.Sin(d*math.Pi/180))
		}
		s, err := newSnapshot(t.Context(), 0, x, []int64{0, 0, 0, 1})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := at(0, 50, 80, -40)
	if s := before.scatter; len(s.Anchor) != 3 || s.Anchor[0] != 0 || s.Positive[0] != 1 || s.Negative[0] != 3 {
		t.Errorf("%+v: anchor 0 has positive 1 and negative 3, and anchor 3 has no positive", s)
	}
	// Points 1 and 2 come nearer to 0, point 3 moves away from all: each of
	// the three triplets has a nearer positive and a farther negative.
	row, err := movementRow("arm", before, at(0, 30, 55, -90))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range row.Cells[2:] {
		got = append(got, c.String())
	}
	if want := []string{"0", "0", "0", "100"}; !slices.Equal(got, want) {
		t.Errorf("top right, top left, bottom left, bottom right: %v, want %v", got, want)
	}
}

func TestScales(t *testing.T) {
	e := Find("omniglot")
	if s, err := e.scale(""); err != nil || s.Name != "small" {
		t.Errorf("usual scale %q, %v", s.Name, err)
	}
	if _, err := e.scale("huge"); err == nil || !strings.Contains(err.Error(), "small, large, paper") {
		t.Errorf("unknown scale: %v", err)
	}
	if _, err := Find("mnist").scale("small"); err == nil {
		t.Error("MNIST has one scale only")
	}
	cfg, err := e.Config(Options{Scale: "paper", Set: []string{"data.size=64"}})
	if err != nil || cfg.Network.Name != "resnet50" || cfg.Data.Size != 64 {
		t.Errorf("network %s, size %d, %v", cfg.Network.Name, cfg.Data.Size, err)
	}
	// Settings of some losses can be set if only their arms run.
	o := Options{Set: []string{"loss.alpha=3"}}
	if _, err := e.Config(o); err == nil || !strings.Contains(err.Error(), "loss.alpha") {
		t.Errorf("alpha of all arms: %v", err)
	}
	o.Arms = []string{"EPS+MS"}
	if cfg, err := e.Config(o); err != nil || cfg.Loss["alpha"] == nil {
		t.Errorf("alpha of EPS+MS: %v, %v", cfg.Loss, err)
	}
}

// TestRises checks the statement about a sweep that rises and falls.
func TestRises(t *testing.T) {
	out := &Outcome{e: &Experiment{}}
	for i, v := range []Number{40, 50, 70, 60} {
		name := string(rune('a' + i))
		values := []Number{v - 1, v, v + 1 + Number(i)/100}
		out.e.Arms = append(out.e.Arms, Arm{Name: name, At: float64(i)})
		out.Arms = append(out.Arms, ArmOutcome{Name: name,
			Measures: []MeasureOutcome{{Key: "test_recall@1", Values: values, Summary: summarize(values)}}})
	}
	for _, c := range []struct {
		lo, hi float64
		want   Verdict
		text   string
	}{
		{0, 2, Holds, "Letters R@1: 40.0 with 0, 50.0 with 1, 70.0 with 2"},
		{2, 3, Contradicted, "Letters R@1: 70.0 with 2, 60.0 with 3"},
		{0, 3, Contradicted, "Letters R@1: 40.0 with 0, 50.0 with 1, 70.0 with 2, 60.0 with 3"},
	} {
		text, tests := checkRises(c.lo, c.hi)(t.Context(), out)
		if v, why := judgeTests(tests); v != c.want || text != c.text {
			t.Errorf("from %v to %v: %v (%s), %q", c.lo, c.hi, v, why, text)
		}
	}
}

// longVariable asks for the runs on real data, which take minutes: "most" for all but those of
// long, "all" for all; any other value for one experiment of each kind.
const longVariable = "KINDRED_LONG"

// kinds has one experiment of each kind, with a description. The others do the same on other data
// or with other settings.
var kinds = map[string]string{
	"mnist": "digits, by parity, from scratch", "omniglot": "letters, by alphabets", "extreme": "a sweep",
	"cub-mixed": "photographs, some labels with several kinds", "finetune-mixed": "a pretrained start",
	"cures-mnist": "every cure", "discover-mnist": "kinds found and trained on", "copies": "copies found",
	"defaults-mnist-parity": "what the defaults give"}

// longExperiments are the experiments that take minutes even in their fast size.
var longExperiments = map[string]bool{"mnist-why": true, "omniglot-why": true, "discover": true, "clean": true,
	"clean-mnist": true, "clean-birds": true, "cleaned-mnist": true, "cleaned-birds": true,
	// The table of the defaults: coins and digits run; the other rows differ only in their data.
	"defaults-grocery-class": true, "defaults-grocery-product": true, "defaults-grocery-huge": true,
	"defaults-birds": true, "defaults-birds-groups": true, "defaults-birds-mixed": true, "defaults-birds-2": true,
	"defaults-birds-5": true, "defaults-birds-12": true, "defaults-omniglot": true, "defaults-fashion-mnist": true}

// TestDirections runs experiments in their fast size on real data and checks signs that even the
// fast size shows. A sign is not a verdict.
func TestDirections(t *testing.T) {
	for name := range kinds {
		if Find(name) == nil {
			t.Errorf("no experiment is called %s", name)
		}
	}
	asked := os.Getenv(longVariable)
	if asked == "" {
		t.Skipf("set %s=1 to run an experiment of each kind in its fast size", longVariable)
	}
	home := filepath.Dir(refdata.Path(t, "data", "omniglot"))
	birds := "data.path=" + filepath.Join(home, "cub100")
	for _, name := range Names() {
		if slices.Contains([]string{"cars-coarse", "sop-coarse", "inshop-coarse"}, name) {
			continue // birds have no makes and kinds in their place; TestCoarsely runs these
		}
		t.Run(name, func(t *testing.T) {
			if longExperiments[name] && asked != "all" {
				t.Skipf("takes minutes; %s=all runs it, and so does kindred reproduce %s --fast", longVariable, name)
			}
			if kinds[name] == "" && asked != "all" && asked != "most" {
				t.Skipf("another is of its kind; %s=most runs it, and so does kindred reproduce %s --fast",
					longVariable, name)
			}
			runFast(t, name, home, birds)
		})
	}
}

// runFast runs one experiment in its fast size.
func runFast(t *testing.T, name, home, birds string) {
	e := Find(name)
	o := Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Fast: true, Home: home}
	switch {
	case e.Pretrained:
		o.Set = []string{"network.pretrained=" + refdata.Path(t, "models", "mobilenet_v1_075_224.onnx")}
		refdata.Path(t, "data", e.Dataset.Name)
	case name == "defaults-fashion-mnist":
		if _, err := os.Stat(filepath.Join(data.DebianHome, e.Dataset.Name)); err != nil {
			t.Skip("the data set is not installed: ", err)
		}
	case !strings.Contains(name, "omniglot") && !strings.Contains(name, "mnist") && name != "trimmed" &&
		name != "cures" && name != "discover" && name != "clean":
		o.Set = []string{birds}
	}
	out, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("%s\n%s", out.Title, out.Table())
	// One seed decides nothing (every verdict is undecided). This checks that the sign is as
	// expected even in the fast size.
	ahead := func(key, arm, baseline string) {
		if a, b := out.meanPercent(arm, key), out.meanPercent(baseline, key); !(a > b) {
			t.Errorf("%s has %s %.1f, %s %.1f", arm, key, a, baseline, b)
		}
	}
	switch name {
	case "mnist":
		ahead("seen_recall@1", "Trip+EPS", "Triplet")
	case "omniglot", "omniglot-epochs":
		ahead("test_recall@1", "EPS+Trip+SH", "Trip+SH")
		ahead("test_recall@1", "EPS+MS", "MS")
	case "extreme":
		for _, c := range out.Claims[:2] {
			if c.Verdict != Undecided {
				t.Errorf("%s %s after one seed", c.Text, c.Verdict)
			}
			for _, test := range c.Tests {
				if !(test.Gain.Mean > 0) {
					t.Errorf("%s %s", c.Text, c.Evidence)
				}
			}
		}
	case "omniglot-positives":
		ahead("test_recall@1", "EPS, 55 positives", "without EPS")
	case "trimmed":
		for _, trim := range []string{"", ", trim 0.1", ", trim 0.3", ", trim 0.5"} {
			ahead("test_recall@1", "EPS+Dist-Margin", "Dist-Margin"+trim)
		}
	case "cars", "cub", "sop", "inshop":
		ahead("test_recall@1", "EPHN, second order", "EPHN, first order")
	case "finetune", "finetune-coarse", "finetune-mixed":
		// One epoch at 64 pixels is worse than the untrained network, which has its own 224.
		if v := out.meanPercent("Before training", "test_recall@4"); !(v > 0 && v < 100) {
			t.Errorf("before training test_recall@4 is %v", v)
		}
	case "cures":
		ahead("test_recall@1", "EPS", "Triplet")
		ahead("test_recall@1", "SupCon, spread", "Triplet")
	case "cures-mnist":
		ahead("seen_recall@1", "EPS", "Triplet")
		ahead("seen_recall@1", "EPS+MS", "Triplet")
	case "omniglot-train":
		ahead("train_recall@1", "EPS+Trip+SH", "Trip+SH")
	}
}

// TestPhotoPage runs two arms of CUB on made-up digits and looks for the queries and the map of the
// training classes on the page.
func TestPhotoPage(t *testing.T) {
	e := Find("cub")
	o := Options{
		Dir: t.TempDir(), Seeds: 1, Seed: 1, Home: writeDigits(t, 12), Arms: []string{"Dist-Margin", "EPS+Dist-Margin"},
		Set: append(slices.Clone(smallDigits), "sample.classes=5", "sample.per_class=4"),
	}
	out, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"queries1.png", "queries2.svg", "classes.png"} {
		if st, err := os.Stat(filepath.Join(o.Dir, f)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(o.Dir, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	// Six queries and eight neighbours of each, twice.
	if n := bytes.Count(page, []byte("data:image/png")); n < 2*6*9 {
		t.Errorf("%d pictures on the page", n)
	}
	if !strings.Contains(string(page), "t-SNE of the first 10 training classes") {
		t.Error("the page lacks the map")
	}
	var names []string
	for _, f := range out.documentFigures() {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"classes"}) {
		t.Errorf("figures of the Markdown page: %v, want no photographs", names)
	}
	// A single arm has a page, too.
	o.Arms = o.Arms[1:]
	if out, err = Reproduce(t.Context(), e, o); err != nil {
		t.Fatal(err)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFirstClasses(t *testing.T) {
	set := func(labels ...int64) *embedding.Table {
		return &embedding.Table{X: matrix.FromSlice(5, 2, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
			Files: []string{"a", "b", "c", "d", "e"}, Columns: []embedding.Column{{Name: "label", IDs: labels}}}
	}
	got := firstClasses(set(7, 2, 9, 2, 7), 2)
	if !slices.Equal(got.Columns[0].IDs, []int64{7, 2, 2, 7}) || !slices.Equal(got.X.Row(2), []float32{6, 7}) ||
		got.X.Rows != 4 || got.Files[3] != "e" {
		t.Errorf("%+v", got)
	}
	if got = firstClasses(set(1, 1, 1, 1, 1), 3); got.X.Rows != 5 || len(got.Columns[0].IDs) != 5 {
		t.Errorf("one class: %+v", got)
	}
}
