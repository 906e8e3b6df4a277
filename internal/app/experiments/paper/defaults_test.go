package paper

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/run"
)

// shortRuns shortens the runs of a row.
var shortRuns = []string{"train.epochs=1", "sample.batches=3", "data.train_limit=0", "data.test_limit=0"}

// writeNoisyDigits is writeDigits with so much noise that not every digit is found.
func writeNoisyDigits(t *testing.T) string {
	t.Helper()
	home := writeDigits(t, 12)
	rng := rand.New(rand.NewPCG(8, 0))
	for _, side := range []string{"train", "t10k"} {
		path := filepath.Join(home, "mnist", side+"-images-idx3-ubyte")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b[16:] {
			b[16+i] = b[16+i]/8 + uint8(rng.IntN(220))
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// TestDefaultsRow runs a row on made-up digits as colour images, for which the default has easy
// positives. Only the label is set, the arms share a run if the default chose the same positives,
// and the page has the results.
func TestDefaultsRow(t *testing.T) {
	e := Find("defaults-mnist-parity")
	dir := t.TempDir()
	o := Options{Dir: filepath.Join(dir, e.RowName()), Seeds: 2, Seed: 3, Home: writeNoisyDigits(t),
		Set: append(slices.Clone(shortRuns), "data.channels=3", "network.name=conv4", "network.width=4",
			"network.dim=8")}
	out, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg, err := e.config(&e.Arms[2], 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := run.Parse("", nil, "data.name=mnist", "data.label=parity", "train.seed=3")
	if err != nil || string(cfg.YAML()) != string(stranger.YAML()) {
		t.Errorf("the default is not what nothing but the data gives (%v):\n%s", err, cfg.YAML())
	}
	of := func(arm string) []Number { return out.measure(arm, "test_map@r").Values }
	if u := of(untrainedArm); slices.Equal(u, of(defaultArm)) || slices.Equal(u, of(pixelsArm)) {
		t.Errorf("untrained %v, pixels %v, default %v", of(untrainedArm), of(pixelsArm), of(defaultArm))
	}
	trained := func(dir, arm string) bool { return run.Exists(filepath.Join(dir, RunFolder(arm, 3))) }
	if !trained(o.Dir, defaultArm) || trained(o.Dir, easyArm) || !trained(o.Dir, plainArm) {
		t.Error("the default has easy positives here: its runs are the easy arm's, and no others")
	}
	s := out.Arms[out.e.arm(defaultArm)].Settled
	if len(s) != 2 || s[0].Size != 28 || s[0].Epochs != 1 || s[0].Kept != 1 || s[0].Positives != "easy" {
		t.Errorf("settled: %+v", s)
	}
	// Trained separately, the two arms are equal to the bit.
	apart := Find(e.Name)
	for i := range apart.Arms {
		apart.Arms[i].Alike = ""
	}
	again := o
	again.Dir = t.TempDir()
	own, err := Reproduce(t.Context(), apart, again)
	if err != nil {
		t.Fatal(err)
	}
	if !trained(again.Dir, easyArm) {
		t.Error("the easy arm did not train")
	}
	for i := range own.Arms {
		for k := range own.Arms[i].Measures {
			if a, b := own.Arms[i].Measures[k].Values, out.Arms[i].Measures[k].Values; !slices.Equal(a, b) {
				t.Errorf("%s, %s: %v apart, %v shared", own.Arms[i].Name, own.Arms[i].Measures[k].Key, a, b)
			}
		}
	}
	checkDefaultsPage(t, dir, out)
}

// checkDefaultsPage writes the page from the folder of all rows; out is one of them.
func checkDefaultsPage(t *testing.T, dir string, out *Outcome) {
	t.Helper()
	page := filepath.Join(t.TempDir(), "docs.md")
	if err := WriteDocument(page, dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(keptFolder(page), DefaultsPage))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| digits by parity | 240 samples in a folder called mnist | R@1 of digits | ",
		"| coins by denomination | coins at 150 px | not run |", "| defaults-mnist-parity |",
		"| undecided (2 seeds, 3 are needed) |", "| digits by parity | 28 | 1 of 1, 1 of 1 | ",
		"Also set: `train.epochs=1, "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	main, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(main), "(docs/"+DefaultsPage+")") ||
		strings.Contains(string(main), "by parity") {
		t.Errorf("the main page links to the table and does not repeat it (%v):\n%s", err, main)
	}
	table, err := FormatTables(DefaultsTable, dir)
	if err != nil || !strings.Contains(table, "digits by parity") {
		t.Errorf("%v, %s", err, table)
	}
	empty, err := FormatTables(DefaultsTable, t.TempDir())
	if err != nil || strings.Count(empty, "not run") != len(DefaultRows()) {
		t.Errorf("%v, %s", err, empty)
	}
}

// embedCoins are the embeddings of the test part of writeCoins's set.
func embedCoins(t *testing.T, home string, m *run.Model) *run.Embeddings {
	t.Helper()
	d, err := data.Open(t.Context(), filepath.Join(home, "coins"), data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sel, err := split.Select(t.Context(), d, split.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.EmbedPart(t.Context(), sel.Query)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// writeCoins writes a data folder with a few photographs in the layout of the coins.
func writeCoins(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 0))
	for _, side := range []string{"train", "test"} {
		for class := range 4 {
			dir := filepath.Join(home, "coins", side, fmt.Sprint(class+1, "c"))
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			for k := range 8 {
				im := image.NewRGBA(image.Rect(0, 0, 72, 72))
				for y := range 72 {
					for x := range 72 {
						bright := rng.IntN(200) + 3*class
						im.Set(x, y, color.RGBA{uint8(bright), uint8(rng.IntN(200)), uint8(9*k + 2*y), 255})
					}
				}
				var b bytes.Buffer
				if err := jpeg.Encode(&b, im, nil); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(k, ".jpg")), b.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return home
}

// TestDefaultsUntrainedSize checks that the untrained network sees images of its own size, whatever
// size training uses, and is scored by its embeddings.
func TestDefaultsUntrainedSize(t *testing.T) {
	home := writeCoins(t)
	network := filepath.Join("..", "..", "..", "network", "onnxnet", "testdata", "residual.onnx")
	m, _, err := run.Import(network, "", run.DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	own := m.Net.Spec().Input.H
	const other = 24
	if own == other {
		t.Fatal("the sizes must differ")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	e := Find("defaults-coins")
	for i := range e.Arms { // all train
		e.Arms[i].Alike = ""
	}
	out, err := Reproduce(t.Context(), e, Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Home: home,
		Set: append(slices.Clone(shortRuns), "network.pretrained="+network, fmt.Sprintf("data.size=%d", other),
			"loss.name=multisimilarity")})
	if err != nil {
		t.Fatal(err)
	}
	same := map[string]string{"ms": plainArm, "easy": easyArm}[out.Arms[1].Settled[0].Positives]
	for _, m := range out.Arms[1].Measures {
		if v := out.measure(same, m.Key).Values; !slices.Equal(v, m.Values) {
			t.Errorf("%s of the default: %v; of %q, which sets what it chose: %v", m.Key, m.Values, same, v)
		}
	}
	if got := out.Arms[0].Settled[0]; got.Size != own || got.Epochs != 0 || got.Positives != "" {
		t.Errorf("untrained: %+v, the network's size is %d", got, own)
	}
	// A run that is not better than the untrained network keeps it, at its own image size.
	if got := out.Arms[1].Settled[0]; got.Size != other && (got.Kept != 0 || got.Size != own) || got.Epochs != 1 {
		t.Errorf("default: %+v", got)
	}
	x := embedCoins(t, home, m)
	rep, err := eval.Evaluate(t.Context(), eval.Set{X: x.X, Labels: [][]int64{x.FineLabels()}}, nil,
		eval.Config{Metrics: []eval.Metric{{Kind: eval.Recall, K: 1}, {Kind: eval.MAPAtR}}, Distance: eval.Cosine})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range rep.Columns[0].Values {
		if v.Value > 0.99 {
			t.Errorf("%s is %v: anything would do", v.Metric, v.Value)
		}
		if got := out.Arms[0].Measures[k].Values[0]; got != Number(100*v.Value) {
			t.Errorf("%s: %v, the embeddings have %v", v.Metric, got, 100*v.Value)
		}
	}
}

// TestDrawnFolder checks which photos are drawn from a training part: the given number of each
// class, all photos of a heap under one name, with the right pictures.
func TestDrawnFolder(t *testing.T) {
	d, err := data.Open(t.Context(), filepath.Join(writeCoins(t), "coins"), data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sel, err := split.Select(t.Context(), d, split.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	drawn := &folderSample{each: 5, heap: "2c"}
	first, err := drawn.draw(sel.Train, 1)
	if err != nil {
		t.Fatal(err)
	}
	if first.Splits != nil || first.Len() != 3*5+8 {
		t.Fatalf("%d samples, split %v", first.Len(), first.Splits)
	}
	for i, name := range first.Names {
		class := first.Columns[0].Classes[first.Columns[0].IDs[i]]
		if !strings.HasPrefix(name, "train/"+class+"/") {
			t.Errorf("%s is of class %s", name, class)
		}
		var got, want imaging.Image
		at := slices.Index(d.Names, name)
		if err := first.Image(t.Context(), i, &got, nil); err != nil {
			t.Fatal(err)
		}
		if err := d.Image(t.Context(), at, &want, nil); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("%s has another picture", name)
		}
	}
	same, err := drawn.draw(sel.Train, 1)
	if err != nil || !slices.Equal(same.Names, first.Names) {
		t.Errorf("the same seed drew %v (%v)", same.Names, err)
	}
	other, err := drawn.draw(sel.Train, 2)
	if err != nil || slices.Equal(other.Names, first.Names) {
		t.Errorf("another seed drew the same (%v)", err)
	}
	// The folder is not divided: a run divides it as any other.
	cut, err := split.Select(t.Context(), first, split.Selection{Seed: 1})
	if err != nil || !strings.HasPrefix(cut.Split, "images:") {
		t.Errorf("split %v, %v", cut, err)
	}
	heap, err := (&folderSample{each: 1, heap: "train"}).draw(sel.Train, 1)
	if err != nil || heap.Len() != sel.Train.Len() || len(heap.Columns[0].Classes) != 1 {
		t.Errorf("a heap of all: %+v, %v", heap, err)
	}
}

// TestNotBelow judges the statement that also holds for equal numbers.
func TestNotBelow(t *testing.T) {
	for _, c := range []struct {
		gains []Number
		want  Verdict
	}{
		{[]Number{0, 0, 0}, Holds}, {[]Number{0, 0}, Undecided}, {[]Number{0}, Undecided}, {nil, Undecided},
		{[]Number{2, 2.1, 2.2}, Holds}, {[]Number{-2, -2.1, -2.2}, Contradicted}, {[]Number{-2, 2, 0.1}, Undecided},
		{[]Number{missing, 0, 0}, Undecided},
	} {
		out := &Outcome{e: &Experiment{}}
		tests := []PairedTest{pairedTest(c.gains, make([]Number, len(c.gains)))}
		out.addClaim(&Claim{Text: "x", NotBelow: true}, "", tests)
		judgeOutcomes(out, nil)
		got := out.Claims[0]
		if got.Verdict != c.want || got.Why == "" {
			t.Errorf("gains %v: %s (%s), want %s", c.gains, got.Verdict, got.Why, c.want)
		}
		if plain, _ := judgeTests(tests); isAlwaysEqual(tests) && plain != Undecided {
			t.Errorf("a statement of a gain: %s", plain)
		}
	}
}

// TestDefaultsRows checks the rows: each is an experiment with a claim that holds for a part of the
// arms, too, and only photographs start from a pretrained network.
func TestDefaultsRows(t *testing.T) {
	set := []string{"network.pretrained=m.onnx", "train.epochs=1"}
	for _, e := range DefaultRows() {
		want := set
		if !e.Stranger.Photos {
			want = set[1:]
		}
		if got := e.ApplicableSettings(set); !slices.Equal(got, want) {
			t.Errorf("%s takes %v", e.Name, got)
		}
		if Find(e.Name) == nil || e.RowName() == "" || "defaults-"+e.RowName() != e.Name {
			t.Errorf("%s, row %q", e.Name, e.RowName())
		}
		if part, err := e.withArms([]string{untrainedArm, defaultArm}); err != nil || len(part.Claims) != 1 {
			t.Errorf("%s, %v: %+v", e.Name, err, part)
		}
		if part, err := e.withArms([]string{defaultArm}); err != nil || len(part.Claims) != 0 {
			t.Errorf("%s, %v: a statement about an arm that does not run", e.Name, err)
		}
		set := slices.Clone(e.Base)
		for _, a := range e.Arms {
			set = append(set, a.Set...)
		}
		for _, key := range set {
			if !regexp.MustCompile(`^(data\.(name|label)|mine\.positives)=`).MatchString(key) {
				t.Errorf("%s sets %s, which a stranger does not", e.Name, key)
			}
		}
	}
	// A kept run of a version without a setting has other defaults.
	e := DefaultRows()[2]
	cfg, err := e.config(&e.Arms[1], 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := e.Arms[1].planText(&cfg)
	older := regexp.MustCompile(`(?m)^  patience: .*\n`).ReplaceAllString(plan, "")
	if older == plan || !samePlan([]byte(plan), plan) || samePlan([]byte(older), plan) {
		t.Error("a run of other defaults is taken for one of these")
	}
	// One view of each image is still the default from a pretrained start, but not from scratch.
	once := strings.Replace(plan, "  views: 0\n  batches", "  views: 1\n  batches", 1)
	start := func(plan string) string {
		return strings.Replace(plan, `pretrained: ""`, "pretrained: m.onnx", 1)
	}
	if once == plan || samePlan([]byte(once), plan) || !samePlan([]byte(start(once)), start(plan)) {
		t.Error("views of a default run")
	}
	if Find("mnist").RowName() != "" || !slices.Equal(Find("mnist").ApplicableSettings(set), set) {
		t.Error("other experiments are no rows")
	}
}
