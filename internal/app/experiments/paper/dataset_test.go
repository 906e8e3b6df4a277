package paper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/refdata"
)

// publishedNumbers lists the published numbers and gains of an experiment as they would be printed, with
// the text around them.
func publishedNumbers(e *Experiment) []string {
	var all []string
	for i, a := range e.Arms {
		for k := range e.Measures {
			if p := e.published(i, k); p.isKnown() {
				all = append(all, fmt.Sprintf("%.1f", p))
				if base := e.arm(a.Baseline); base >= 0 {
					all = append(all, formatSigned(p-e.published(base, k)))
				}
			}
		}
	}
	return all
}

// TestOtherDataHasNoPublishedNumber runs MNIST's experiment on made-up digits and
// looks for a published number in every format.
func TestOtherDataHasNoPublishedNumber(t *testing.T) {
	home, e := writeDigits(t, 12), Find("mnist")
	for i := range e.Arms { // numbers that no run comes to
		for k := range e.Arms[i].Published {
			e.Arms[i].Published[k] = 1000.7 + 300*float64(i) + 7*float64(k*k*(i+1))
		}
	}
	o := Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Home: home,
		Set: append(slices.Clone(tinyRun), "train.epochs=2", "eval.every=1")}
	out, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	const want = "Trained on even or odd only, on 240 samples in a folder called mnist instead of MNIST"
	if out.Title != want {
		t.Errorf("title %q, want %q", out.Title, want)
	}
	formats := func(out *Outcome) map[string]string {
		if err := out.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(o.Dir, ReportFile))
		if err != nil {
			t.Fatal(err)
		}
		results, err := os.ReadFile(filepath.Join(o.Dir, ResultsFile))
		if err != nil {
			t.Fatal(err)
		}
		curves, err := os.ReadFile(filepath.Join(o.Dir, curvesFigure+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{
			"page": string(page), "results": string(results), "Markdown": overview("d", []*Outcome{out}) +
				out.document("d.md", []*Outcome{out}),
			"terminal": out.Title + out.Table().String() + out.Statements(), "figure": string(curves),
		}
	}
	other := formats(out)
	if strings.Contains(other["page"], ` best"`) {
		t.Error("one seed marks a number of the page")
	}
	for name, text := range other {
		for _, number := range publishedNumbers(e) {
			if strings.Contains(text, number) {
				t.Errorf("%s: %s is the paper's, about other data", name, number)
			}
		}
		if name != "figure" && !strings.Contains(text, out.Data.String()) {
			t.Errorf("%s does not say %q", name, out.Data)
		}
		if name == "figure" && strings.Contains(text, "paper") {
			t.Error("the curves show published numbers")
		}
	}
	// The search finds them where they belong.
	own := *out
	own.Data = Data{On: "MNIST"}
	own.describe()
	own.judgeClaims(t.Context())
	for name, text := range formats(&own) {
		if name != "figure" && !strings.Contains(text, "1000.7") {
			t.Errorf("%s lacks the published numbers on the paper's own data", name)
		}
	}
	if !strings.Contains(other["Markdown"], "on other data than the paper's") ||
		!strings.Contains(other["results"], `"other_data": true`) {
		t.Error("statements do not say that they are about other data")
	}
}

// TestUsedData distinguishes the paper's data from other data.
func TestUsedData(t *testing.T) {
	home := writeDigits(t, 12)
	features := filepath.Join(t.TempDir(), "vectors.npy")
	var npy bytes.Buffer
	npy.WriteString("\x93NUMPY\x01\x00\x76\x00")
	head := "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }"
	npy.WriteString(head + strings.Repeat(" ", 117-len(head)) + "\n")
	npy.Write(make([]byte, 32))
	if err := os.WriteFile(features, npy.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strings.TrimSuffix(features, ".npy")+".labels.csv", []byte("label\na\na\nb\nb\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	full := *Find("mnist")
	full.Dataset.Images = 240 // as many as there are here
	for _, c := range []struct {
		e    *Experiment
		o    Options
		want string
	}{
		{&full, Options{}, "on MNIST"},
		{&full, Options{Set: []string{"train.epochs=1", "network.dim=8", "eval.train=3"}}, "on MNIST"},
		{Find("mnist"), Options{}, "on 240 samples in a folder called mnist instead of MNIST"},
		{&full, Options{Set: []string{"data.path=" + filepath.Join(home, "mnist")}}, "on mnist instead of MNIST"},
		{&full, Options{Set: []string{"data.test_limit=3", "data.train_classes=0-3"}},
			"on MNIST with data.train_classes=0-3, data.test_limit=3 instead of MNIST as in the paper"},
		{&full, Options{Fast: true},
			"on MNIST with data.train_limit=300, data.test_limit=60 instead of MNIST as in the paper"},
		{&full, Options{Set: []string{"data.label=mod:3"}},
			"on MNIST with data.label=mod:3 instead of MNIST as in the paper"},
		{&full, Options{Set: []string{"data.path=" + features, "network.name=linear"}},
			"on vectors.npy instead of MNIST"},
		{Find("cub"), Options{Set: []string{"data.path=" + filepath.Join(home, "mnist"), "data.train_limit=2"}},
			"on mnist with data.train_limit=2 instead of CUB-200-2011"},
		{Find("cures-mnist"), Options{}, "on 240 samples in a folder called mnist with data.train_limit=600"},
		{Find("cures-mnist"), Options{Set: []string{"data.path=" + filepath.Join(home, "mnist"), "data.train_limit=2"}},
			"on mnist with data.train_limit=2"},
	} {
		c.o.Home = home
		o, err := c.o.resolve(c.e)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := c.e.usedData(t.Context(), o); err != nil || d.String() != c.want {
			t.Errorf("%v: %q (%v), want %q", c.o.Set, d, err, c.want)
		}
	}
	none := Options{Home: t.TempDir(), Set: []string{"data.name=none"}}
	if _, err := Find("mnist").usedData(t.Context(), none); err == nil {
		t.Error("data that are not there are taken for something")
	}
}

// TestOfficialDataIsRecognized opens the official sets that are on this machine.
func TestOfficialDataIsRecognized(t *testing.T) {
	home := filepath.Dir(refdata.Path(t, "data", "omniglot"))
	for _, name := range []string{"mnist", "omniglot", "omniglot-epochs", "omniglot-train"} {
		e := Find(name)
		o, err := Options{Home: home}.resolve(e)
		if err != nil {
			t.Fatal(err)
		}
		d, err := e.usedData(t.Context(), o)
		// The small scale of table 4 has ten alphabets of thirty.
		if own := d.InsteadOf == ""; err != nil || own == (name == "omniglot-train") {
			t.Errorf("%s: %q, %v", name, d, err)
		}
	}
	if d, err := Find("cub").usedData(t.Context(), Options{Home: home,
		Set: []string{"data.path=cub100"}}); err != nil ||
		d.String() != "on cub100 instead of CUB-200-2011" {
		t.Errorf("%q, %v", d, err)
	}
}

// TestNumber checks that a value that is not a number is null in JSON.
func TestNumber(t *testing.T) {
	in := []Number{1.5, missing, Number(math.Inf(1))}
	text, err := json.Marshal(in)
	if err != nil || string(text) != "[1.5,null,null]" {
		t.Errorf("%s, %v", text, err)
	}
	var back []Number
	if err := json.Unmarshal(text, &back); err != nil || len(back) != 3 || back[0] != 1.5 || back[1].isKnown() ||
		back[2].isKnown() {
		t.Errorf("%v, %v", back, err)
	}
}

// TestOwnExperimentsSpeakOfNoPaper: an experiment of our own publishes no numbers, so neither its
// title nor the notes of its table mention a paper, in new outcomes and in kept ones.
func TestOwnExperimentsSpeakOfNoPaper(t *testing.T) {
	for _, e := range newExperiments() {
		if !e.Own {
			continue
		}
		for i, a := range e.Arms {
			for k, m := range e.Measures {
				if e.published(i, k).isKnown() {
					t.Errorf("%s: %s has a published %s", e.Name, a.Name, m.Key)
				}
			}
		}
		if d := (Data{On: "x", InsteadOf: "y as in the paper"}).forExperiment(e); d.String() != "on x" {
			t.Errorf("%s: %q", e.Name, d)
		}
	}
	e := Find("cures-mnist")
	o := Options{Dir: t.TempDir(), Seeds: 1, Seed: 1, Home: writeDigits(t, 12), Arms: []string{"Triplet", "EPS"},
		Set: append(slices.Clone(tinyRun), "train.epochs=1", "sample.per_class=4")}
	out, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{out.Title, out.Table().Note, out.Statements()} {
		if strings.Contains(text, "the paper") || strings.Contains(text, "instead of") {
			t.Errorf("it speaks of a paper: %s", text)
		}
	}
	p, _, err := out.page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sections {
		if strings.Contains(s.Title, "paper") {
			t.Errorf("the page has a section %q", s.Title)
		}
	}
	kept, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	old := bytes.Replace(kept, []byte(`"data":{"on":"`),
		[]byte(`"data":{"instead_of":"MNIST as in the paper","on":"`), 1)
	if bytes.Equal(old, kept) {
		t.Fatalf("no data in %.300s", kept)
	}
	read, err := parseOutcome("results.json", old)
	if err != nil || read.Title != out.Title || strings.Contains(read.Statements(), "paper") {
		t.Errorf("read back as %v, %v", read, err)
	}
}
