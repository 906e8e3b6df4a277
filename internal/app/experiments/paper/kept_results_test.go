package paper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/page/report"
)

// TestKeepAndDocument keeps the outcome of a finished experiment and writes the pages from the kept
// results, without the runs.
func TestKeepAndDocument(t *testing.T) {
	home, e := writeDigits(t, 8), Find("mnist")
	o := Options{Dir: t.TempDir(), Seeds: 2, Seed: 1, Home: home, Set: append(slices.Clone(tinyRun), "train.epochs=1")}
	out, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "docs.md")
	folder := keptFolder(page)
	path := filepath.Join(folder, "results", "mnist.json")
	// A folder without results is an error before anything is kept.
	if err := WriteDocument(page, o.Dir, t.TempDir()); err == nil || !strings.Contains(err.Error(), ResultsFile) {
		t.Errorf("a folder without results: %v", err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was kept beside a folder without results: %v", err)
	}
	var docs, pages []string
	for i, from := range [][]string{{o.Dir}, nil} {
		if i > 0 { // what is kept does not need the runs
			if err := os.RemoveAll(o.Dir); err != nil {
				t.Fatal(err)
			}
		}
		if err := WriteDocument(page, from...); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err != nil || st.Size() > 20000 {
			t.Errorf("what is kept: %v, %v", st, err)
		}
		doc, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(doc))
		own, err := os.ReadFile(filepath.Join(folder, "results", "mnist.md"))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, string(own))
	}
	if docs[0] != docs[1] || pages[0] != pages[1] {
		t.Error("the same results give two pages")
	}
	for _, figure := range []string{"mnist-figure2.png", "mnist-unseen.png"} {
		if _, err := os.Stat(filepath.Join(folder, figure)); err != nil ||
			!strings.Contains(pages[0], "](../"+figure+")") {
			t.Errorf("the page does not show %s: %v", figure, err)
		}
	}
	command := "kindred reproduce mnist --seeds 2 --set 'network.name=conv4' --set 'network.width=8' " +
		"--set 'train.epochs=2'"
	for text, wants := range map[string][]string{
		docs[0]: {"## " + out.Title, "instead of MNIST", command, out.e.About,
			"| Trip+EPS | " + report.NumberCell(float64(out.Arms[1].Measures[0].Mean), 1).String() + " |",
			"[mnist](docs/results/mnist.md): all 6 statements are undecided, on other data than the paper's."},
		pages[0]: {"# " + out.Title, "instead of MNIST", command, "[the page of all experiments](../../docs.md)",
			"| Trip+EPS | " + meanStd(out.Arms[1].Measures[0].Summary).String() + " |",
			"mean ± standard deviation of 2 seeds", "All 6 statements are undecided, on other data than the paper's.",
			"| undecided | Trip+EPS is ahead of Triplet in digits 0-5 R@1 | Ours ", " | 2 seeds, 3 are needed |",
			"## Settings", "A sweep chose the settings of each arm", "Seed 1 of 2"},
	} {
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
				t.Errorf("the page lacks %q:\n%s", want, text)
			}
		}
	}
	damageKept(t, folder, path)
	if err := WriteDocument(filepath.Join(t.TempDir(), "docs.md")); err == nil ||
		!strings.Contains(err.Error(), "--from") {
		t.Errorf("nothing kept: %v", err)
	}
}

// damageKept reads changed forms of the kept result at path in folder, and moves it.
func damageKept(t *testing.T, folder, path string) {
	t.Helper()
	// A stored verdict does not count: it is computed again.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := parseOutcome(path, []byte(strings.ReplaceAll(string(text), `"undecided"`, `"holds"`)))
	if err != nil || again.Claims[0].Verdict != Undecided {
		t.Errorf("%v, %+v", err, again)
	}
	for was, becomes := range map[string]string{
		`"on": "`:               `"off": "`,
		`"experiment": "mnist"`: `"experiment": "none"`,
		`"Trip+EPS"`:            `"Trip+EPZ"`,
		`"seen_recall@1"`:       `"seen_recall@2"`,
		"{":                     "[",
	} {
		if _, err := parseOutcome(path, []byte(strings.Replace(string(text), was, becomes, 1))); err == nil ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s for %s: %v", becomes, was, err)
		}
	}
	alone := filepath.Join(filepath.Dir(path), "alone.md")
	if err := os.WriteFile(alone, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readKeptResults(folder); err == nil || !strings.Contains(err.Error(), "alone.md is neither") {
		t.Errorf("a page without results: %v", err)
	}
	if err := os.Remove(alone); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, filepath.Join(filepath.Dir(path), "cub.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := readKeptResults(folder); err == nil || !strings.Contains(err.Error(), "mnist.json") {
		t.Errorf("another name: %v", err)
	}
}

// TestKeptClaims checks that a claim is not judged by the kept numbers of another claim.
func TestKeptClaims(t *testing.T) {
	path := filepath.Join(keptFolder(reproductionPage), "results", "trimmed.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseOutcome(path, text); err != nil {
		t.Fatal(err)
	}
	if _, err := parseOutcome(path, []byte(strings.Replace(string(text), "The best trimming", "The worst trimming",
		1))); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("another claim: %v", err)
	}
}

func TestDefaultSeeds(t *testing.T) {
	for name, want := range map[string]int{"mnist": 8, "omniglot": 3, "cub": 3} {
		if e := Find(name); e.DefaultSeeds(false) != want || e.DefaultSeeds(true) != 1 {
			t.Errorf("%s: %d seeds, %d in a fast run", name, e.DefaultSeeds(false), e.DefaultSeeds(true))
		}
	}
}

// TestPartIsATable checks that a part of the arms gives a table, made from finished runs, with the
// experiment's number of seeds.
func TestPartIsATable(t *testing.T) {
	home, e := writeDigits(t, 8), Find("mnist")
	e.Seeds = 2
	o := Options{Dir: t.TempDir(), Seed: 1, Home: home, Arms: []string{"Trip+EPS"},
		Set: append(slices.Clone(tinyRun), "train.epochs=1")}
	part, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := part.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(o.Dir)
	if err != nil || len(loaded.Seeds) != 2 || len(loaded.Arms) != 1 || len(loaded.Claims) != 0 ||
		strings.Contains(loaded.Table().String(), "gain") {
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

const reproductionPage = "../../../../docs/reproduction.md"

// TestReproductionPage checks that docs/reproduction.md and the pages of the experiments are those
// of the kept results, and that the results are as Keep writes them.
func TestReproductionPage(t *testing.T) {
	folder := keptFolder(reproductionPage)
	all, err := readKeptResults(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 9 {
		t.Errorf("%d results are kept", len(all))
	}
	want := overview(filepath.Base(folder), all)
	page, err := os.ReadFile(reproductionPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != want {
		t.Error("docs/reproduction.md is not what docs/reproduction/results say: run kindred reproduce document")
	}
	for _, out := range all {
		text, err := os.ReadFile(filepath.Join(folder, "results", out.Experiment+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if asJSON(t, out)+"\n" != string(text) {
			t.Errorf("%s.json is not as it would be written now: run kindred reproduce document", out.Experiment)
		}
	}
	var shown []string
	for _, out := range documentedOutcomes(all) {
		path := filepath.Join(folder, "results", out.Experiment+".md")
		text, err := os.ReadFile(path)
		if want := out.document(filepath.Base(reproductionPage), all); err != nil || string(text) != want {
			t.Errorf("%s is not what the kept results say: run kindred reproduce document (%v)", path, err)
		}
		for _, m := range regexp.MustCompile(`\]\(\.\./([^)/]*\.png)\)`).FindAllStringSubmatch(string(text), -1) {
			shown = append(shown, filepath.Join(folder, m[1]))
		}
	}
	table, err := os.ReadFile(filepath.Join(folder, DefaultsPage))
	if err != nil || string(table) != defaultsPage(all) {
		t.Errorf("docs/reproduction/%s is not what the kept results say: run kindred reproduce document (%v)",
			DefaultsPage, err)
	}
	// No picture is missing, and no unused picture is there.
	there, err := filepath.Glob(filepath.Join(folder, "*.png"))
	slices.Sort(shown)
	if err != nil || !slices.Equal(shown, there) {
		t.Errorf("pictures shown %v, there are %v (%v)", shown, there, err)
	}
}

// TestKeptPlans checks that a plan of a version with fewer settings is a plan of the same run.
func TestKeptPlans(t *testing.T) {
	e := Find("mnist")
	cfg, err := e.config(&e.Arms[0], 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := string(cfg.YAML())
	older := regexp.MustCompile(`(?m)^  (crop|warmup|keep): .*\n`).ReplaceAllString(plan, "")
	older = strings.Replace(older, "split: benchmark", `split: ""`, 1)
	if older == plan || !samePlan([]byte(older), plan) || !samePlan([]byte(plan), plan) {
		t.Errorf("a plan of an older version is taken for another run:\n%s", older)
	}
	// A plan from before weights were averaged and unreadable images were left out is a plan of the
	// same run, however the missing settings are written now.
	older = regexp.MustCompile(`(?m)^  (average|line|budget|group|strict): .*\n`).ReplaceAllString(plan, "")
	older = strings.Replace(older, "data:\n", "data:\n  skip_corrupt: false\n", 1)
	kept := strings.Replace(plan, `average: ""`, "average: none", 1)
	if older == plan || kept == plan || !samePlan([]byte(older), plan) || !samePlan([]byte(older), kept) {
		t.Errorf("a plan without averages is taken for another run:\n%s", older)
	}
	for _, other := range []string{strings.Replace(older, "lr: 0.001", "lr: 0.002", 1), "x: [", "",
		strings.Replace(plan, "split: benchmark", "split: classes", 1),
		strings.Replace(plan, `average: ""`, `average: "3"`, 1)} {
		if samePlan([]byte(other), plan) {
			t.Errorf("taken for the same run:\n%s", other)
		}
	}
}

func FuzzOutcome(f *testing.F) {
	f.Add([]byte(`{"experiment":"sop","data":{"on":"x","instead_of":"y"},"seeds":[1,2],"arms":[{"name":"EPHN, first order","measures":[{"key":"test_recall@1","values":[1,null]}]},{"name":"EPHN, second order","measures":[{"key":"test_recall@1","values":[3,4]}]}]}`))
	f.Add([]byte(`{"experiment":"sop","data":{"on":"x"},"seeds":[1],"arms":[{"name":"EPHN, first order","measures":[{"key":"test_recall@1","mean":1,"n":-1}]}]}`))
	f.Add([]byte(`{"experiment":"defaults-coins","data":{"on":"x"},"seeds":[1],"arms":[{"name":"Default","measures":[{"key":"test_recall@1","values":[1]},{"key":"test_map@r","values":[null]}],"settled":[{"size":-1,"seconds":1e300}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := parseOutcome("f", text)
		if err != nil {
			return
		}
		overview("d", []*Outcome{out})
		out.document("d.md", []*Outcome{out})
		defaultsPage([]*Outcome{out})
		if _, err := json.Marshal(out); err != nil {
			t.Error(err)
		}
	})
}

// TestReadmeNumbers looks for the kept numbers in the README's sentence on MNIST and in its table
// of Omniglot.
func TestReadmeNumbers(t *testing.T) {
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(readme)), " ")
	all, err := readKeptResults(keptFolder(reproductionPage))
	if err != nil {
		t.Fatal(err)
	}
	number := func(name, arm, key string) string {
		for _, out := range all {
			if out.Experiment == name {
				m := out.measure(arm, key)
				return fmt.Sprintf("%.1f ± %.1f", m.Mean, m.Std)
			}
		}
		t.Fatalf("no results of %s", name)
		return ""
	}
	gain := func(name, arm, key string) string {
		k := slices.IndexFunc(all, func(out *Outcome) bool { return out.Experiment == name })
		return all[k].measure(arm, key).Gain.describeP("")
	}
	want := []string{
		number("mnist", "Triplet", "seen_recall@1") + " with random positives and " +
			number("mnist", "Trip+EPS", "seen_recall@1") + " with EPS (p < 0.0001)",
		number("mnist", "Triplet", "test_recall@1") + " and " + number("mnist", "Trip+EPS", "test_recall@1") +
			" (" + gain("mnist", "Trip+EPS", "test_recall@1") + ")",
	}
	for _, m := range []string{"Trip+SH", "Dist-Margin", "MS"} {
		for _, key := range []string{"test_recall@1", "test_label_recall@1"} {
			want = append(want, "| "+number("omniglot", m, key)+" | **"+number("omniglot", "EPS+"+m, key)+"** |")
			if p := gain("omniglot", "EPS+"+m, key); p != "p < 0.0001" {
				t.Errorf("README.md says that p < 0.0001 for EPS+%s, %s: it is %s", m, key, p)
			}
		}
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("README.md does not say %q", w)
		}
	}
}
