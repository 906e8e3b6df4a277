package paper

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/refdata"
	"github.com/kindred-ml/kindred/mat"
)

// smallDigits are overrides that run an experiment on made-up digits.
var smallDigits = []string{
	"data.name=mnist", "data.label=", "data.fine=", "data.size=28", "data.augment=none", "data.channels=0", "data.pixels=unit",
	"network.name=conv4", "network.width=4", "network.dim=8", "train.epochs=2", "train.schedule=constant", "train.optimizer=adam", "train.lr=0.005",
	"sample.batches=4", "eval.every=1", "data.train_classes=", "data.test_classes=", "data.train_limit=0", "data.test_limit=0",
}

// TestExtremePage runs four arms of the experiment with its snapshots and writes
// the page with sweep and scatter diagrams; two runs at a time.
func TestExtremePage(t *testing.T) {
	e := Extreme()
	e.Claims = e.Claims[:1] // made-up digits do not collapse
	e.Arms = slices.DeleteFunc(e.Arms, func(a Arm) bool { return !strings.HasPrefix(a.Name, "EPHN") || a.At != 2 && a.At != 8 })
	for i := range e.Arms { // ten classes only
		e.Arms[i].Set = append(e.Arms[i].Set, "sample.classes=5")
	}
	o := Options{Dir: t.TempDir(), Seeds: 2, Seed: 1, Jobs: 2, Home: digitsHome(t, 12), Set: append(slices.Clone(smallDigits), "eval.train=30")}
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
	for _, want := range []string{"With hard negatives and n = 2", "Where triplets moved", "bottom right", "scale small"} {
		if !strings.Contains(string(page), want) {
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
			t.Errorf("%s: %v with two jobs, %v with one", a.Name, a.Measures[0].Values, again.Arms[i].Measures[0].Values)
		}
	}
}

// TestSnapshotTriplets checks the nearest positive and negative, and the
// direction of movement, on four points of a circle.
func TestSnapshotTriplets(t *testing.T) {
	at := func(degrees ...float64) *snapshot {
		x := mat.New(len(degrees), 2)
		for i, d := range degrees {
			x.Row(i)[0], x.Row(i)[1] = float32(math.Cos(d*math.Pi/180)), float32(math.Sin(d*math.Pi/180))
		}
		s := &snapshot{s: mat.New(len(degrees), len(degrees)), labels: []int64{0, 0, 0, 1}}
		mat.Gemm(false, true, 1, x, x, 0, s.s)
		return s
	}
	before := at(0, 50, 80, -40)
	if p, n, ok := before.triplet(0); p != 1 || n != 3 || !ok {
		t.Errorf("anchor 0: positive %d, negative %d, %v", p, n, ok)
	}
	if _, _, ok := before.triplet(3); ok {
		t.Error("anchor 3 has no positive")
	}
	// Points 1 and 2 come nearer to 0, point 3 moves away from all: each of
	// the three triplets has a nearer positive and a farther negative.
	row := movement("arm", before, at(0, 30, 55, -90))
	var got []string
	for _, c := range row.Cells[2:] {
		got = append(got, c.String())
	}
	if want := []string{"0", "0", "0", "100"}; !slices.Equal(got, want) {
		t.Errorf("top right, top left, bottom left, bottom right: %v, want %v", got, want)
	}
}

// TestDocument writes the Markdown page from the folder of a finished
// experiment.
func TestDocument(t *testing.T) {
	home, e := digitsHome(t, 8), MNIST()
	o := Options{Dir: t.TempDir(), Seeds: 2, Seed: 1, Home: home, Set: append(slices.Clone(tiny), "train.epochs=1")}
	out, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "docs.md")
	if err := WriteDocument(path, []*Outcome{loaded}); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, figure := range []string{"mnist-figure2.png", "mnist-unseen.png"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "docs", figure)); err != nil || !strings.Contains(string(doc), "](docs/"+figure+")") {
			t.Errorf("the page does not show %s: %v", figure, err)
		}
	}
	for _, want := range []string{"## " + e.Title, "kindred reproduce mnist --seeds 2 --set 'train.epochs=2'", out.Table().Markdown(), "65.8"} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("the page lacks %q:\n%s", want, string(doc))
		}
	}
	if len(out.Claims) != 6 {
		t.Errorf("%d statements checked, want one for each of the six published gains", len(out.Claims))
	}
	for _, c := range out.Claims {
		if !strings.Contains(string(doc), c.Evidence) {
			t.Errorf("the page lacks %q", c.Evidence)
		}
	}
	// A part of the arms is a table of its own, and makes use of finished runs.
	o.Arms = []string{"Trip+EPS"}
	part, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := part.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if loaded, err = Load(o.Dir); err != nil || len(loaded.Arms) != 1 || strings.Contains(loaded.Table().String(), "gain") {
		t.Errorf("one arm alone: %v\n%s", err, loaded.Table())
	}
	o.Arms = []string{"Trip"}
	if _, err := Reproduce(t.Context(), e, o); err == nil || !strings.Contains(err.Error(), "Trip+EPS") {
		t.Errorf("an arm that is not there: %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("an empty folder was taken for an outcome")
	}
}

// TestClaims checks that a statement is judged by the sign of the gain.
func TestClaims(t *testing.T) {
	e := MNIST()
	run := func(arm string, value float64) ArmOutcome {
		a := ArmOutcome{Name: arm}
		i := e.arm(arm)
		a.Baseline = e.Arms[i].Baseline
		for k, m := range e.Measures {
			g := paired([]float64{value}, []float64{50})
			a.Measures = append(a.Measures, MeasureOutcome{Key: m.Key, Summary: Summary{Mean: value, N: 1}, Paper: &e.Arms[i].Published[k], Gain: &g})
		}
		return a
	}
	for _, c := range []struct {
		value float64
		holds bool
	}{{60, true}, {40, false}, {50, false}} {
		out := &Outcome{e: e, Arms: []ArmOutcome{run("Triplet", 50), run("Trip+EPS", c.value)}}
		out.check()
		if len(out.Claims) != 6 {
			t.Fatalf("%d claims", len(out.Claims))
		}
		for _, got := range out.Claims {
			if got.Holds != c.holds {
				t.Errorf("EPS at %v against 50: %+v", c.value, got)
			}
		}
	}
	out := &Outcome{e: e}
	if !math.IsNaN(out.mean("none", "x")) {
		t.Error("an arm that is not there has a mean")
	}
}

func TestScales(t *testing.T) {
	e := Omniglot()
	if s, err := e.scale(""); err != nil || s.Name != "small" {
		t.Errorf("usual scale %q, %v", s.Name, err)
	}
	if _, err := e.scale("huge"); err == nil || !strings.Contains(err.Error(), "small, large, paper") {
		t.Errorf("unknown scale: %v", err)
	}
	if _, err := MNIST().scale("small"); err == nil {
		t.Error("MNIST has one scale only")
	}
	cfg, err := e.Config(Options{Scale: "paper", Set: []string{"data.size=64"}})
	if err != nil || cfg.Network.Name != "resnet50" || cfg.Data.Size != 64 {
		t.Errorf("network %s, size %d, %v", cfg.Network.Name, cfg.Data.Size, err)
	}
}

// TestRises checks the statement on a sweep that rises and falls.
func TestRises(t *testing.T) {
	out := &Outcome{e: &Experiment{}}
	for i, v := range []float64{40, 50, 70, 60} {
		name := string(rune('a' + i))
		out.e.Arms = append(out.e.Arms, Arm{Name: name, At: float64(i)})
		out.Arms = append(out.Arms, ArmOutcome{Name: name, Measures: []MeasureOutcome{{Key: "test_recall@1", Summary: Summary{Mean: v}}}})
	}
	for _, c := range []struct {
		lo, hi float64
		holds  bool
		text   string
	}{
		{0, 2, true, "letters R@1: 40.0 with 0 50.0 with 1 70.0 with 2"},
		{2, 3, false, "letters R@1: 70.0 with 2 60.0 with 3"},
	} {
		if holds, text := rises(c.lo, c.hi)(out); holds != c.holds || text != c.text {
			t.Errorf("from %v to %v: %v, %q", c.lo, c.hi, holds, text)
		}
	}
}

// longVariable asks for the runs on real data, minutes in all.
const longVariable = "KINDRED_LONG"

// TestDirections runs every experiment in its fast size on real data and checks
// what even that shows.
func TestDirections(t *testing.T) {
	if os.Getenv(longVariable) == "" {
		t.Skipf("set %s=1 to run every experiment in its fast size", longVariable)
	}
	home := filepath.Dir(refdata.Path(t, "data", "omniglot"))
	birds := "data.path=" + filepath.Join(home, "cub100")
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) { direction(t, name, home, birds) })
	}
}

// direction runs one experiment in its fast size.
func direction(t *testing.T, name, home, birds string) {
	e := Find(name)
	o := Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Fast: true, Home: home}
	if !strings.Contains(name, "omniglot") && name != "mnist" && name != "trimmed" {
		o.Set = []string{birds}
	}
	out, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("%s\n%s", e.Title, out.Table())
	ahead := func(key, arm, baseline string) {
		if a, b := out.mean(arm, key), out.mean(baseline, key); !(a > b) {
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
			if !c.Holds {
				t.Errorf("%s %s", c.Text, c.Evidence)
			}
		}
	case "omniglot-positives":
		ahead("test_recall@1", "EPS, 55 positives", "without EPS")
	case "trimmed":
		for _, trim := range []string{"", ", trim 0.1", ", trim 0.3", ", trim 0.5"} {
			ahead("test_recall@1", "EPS+Trip+SH", "Trip+SH"+trim)
		}
	case "cars", "cub", "sop", "inshop":
		ahead("test_recall@1", "EPHN, second order", "EPHN, first order")
	case "omniglot-train":
		ahead("train_recall@1", "EPS+Trip+SH", "Trip+SH")
	}
}

// TestPhotoPage runs two arms of CUB on made-up digits and looks for the
// queries and the map of the training classes on the page.
func TestPhotoPage(t *testing.T) {
	e := CUB()
	o := Options{
		Dir: t.TempDir(), Seed: 1, Home: digitsHome(t, 12), Arms: []string{"Dist-Margin", "EPS+Dist-Margin"},
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
	for _, f := range out.documented() {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"classes"}) {
		t.Errorf("figures of the Markdown page: %v, want no photographs", names)
	}
	// One arm alone has a page as well.
	o.Arms = o.Arms[1:]
	if out, err = Reproduce(t.Context(), e, o); err != nil {
		t.Fatal(err)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFirstClasses(t *testing.T) {
	x := mat.Of(5, 2, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	got, of := firstClasses(x, []int64{7, 2, 9, 2, 7}, 2)
	if !slices.Equal(of, []int64{7, 2, 2, 7}) || !slices.Equal(got.Row(2), []float32{6, 7}) || got.Rows != 4 {
		t.Errorf("%v with labels %v", got, of)
	}
	if got, of = firstClasses(x, []int64{1, 1, 1, 1, 1}, 3); got.Rows != 5 || len(of) != 5 {
		t.Errorf("one class: %v, %v", got, of)
	}
}
