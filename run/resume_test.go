package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// asIs resumes the run in dir as its folder says.
func asIs(t *testing.T, dir string, d *data.Dataset, overrides ...string) error {
	t.Helper()
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := f.Config(overrides...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Train(t.Context(), cfg, Options{Dir: dir, Resume: true, Dataset: d})
	return err
}

// TestConfigurationThatWasChanged by hand, or cut short, is noticed; what makes no
// difference is not.
func TestConfigurationThatWasChanged(t *testing.T) {
	want, _ := wholeRun(t)
	text, err := os.ReadFile(filepath.Join(want, configFile))
	if err != nil {
		t.Fatal(err)
	}
	half, _, found := strings.Cut(string(text), "\ntrain:")
	if !found {
		t.Fatalf("no section train in\n%s", text)
	}
	for name, c := range map[string]struct {
		text string
		want []string // nil: nothing is amiss
	}{
		"cut in half": {half + "\n", []string{configFile + " is not what the run was trained with",
			`train.epochs is "0" there and was "2"`, "and 9 more", "by overrides"}},
		"without its end":     {strings.Replace(string(text), "  seed: 3\n", "", 1), []string{`train.seed is "1"`}},
		"empty":               {"", []string{"trained with"}},
		"with another margin": {strings.Replace(string(text), "dim: 4", "dim: 5", 1), []string{`network.dim is "5"`}},
		"with a remark":       {"# mine\n" + string(text), nil},
		"without a default":   {strings.Replace(string(text), "  momentum: 0.9\n", "", 1), nil},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(dir, os.DirFS(want)); err != nil {
			t.Fatal(err)
		}
		if c.text == string(text) {
			t.Fatalf("%s: nothing was changed", name)
		}
		write(t, filepath.Join(dir, configFile), c.text)
		before := folder(t, dir)
		err := asIs(t, dir, newFeatures(4, 8, 6))
		if c.want == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for _, w := range c.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v does not say %q", name, err, w)
			}
		}
		for file, content := range folder(t, dir) {
			if before[file] != content {
				t.Errorf("%s: %s has changed", name, file)
			}
		}
	}
}

// TestSettingsChangedAtEveryWrite resumes a run with other settings, fails at each
// change of the file system, and goes on with what the folder says then: with the
// settings of old or the new ones, and never with an error that they disagree.
func TestSettingsChangedAtEveryWrite(t *testing.T) {
	begun, _ := wholeRun(t)
	stop := errors.New("killed")
	for n := 1; n <= 40; n += step(3) {
		dir := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(dir, os.DirFS(begun)); err != nil {
			t.Fatal(err)
		}
		cfg := faultConfig(t)
		cfg.Train.Epochs = 3
		at := 0
		opts := Options{Dir: dir, Resume: true, Dataset: newFeatures(4, 8, 6)}
		opts.files = atomic.Files{Fault: func(string, string) error {
			if at++; at >= n {
				return stop
			}
			return nil
		}}
		if _, err := Train(t.Context(), cfg, opts); !errors.Is(err, stop) {
			t.Fatalf("stopped at change %d: %v", n, err)
		}
		if err := asIs(t, dir, newFeatures(4, 8, 6)); err != nil {
			t.Errorf("stopped at change %d, then: %v", n, err)
		}
		if err := asIs(t, dir, newFeatures(4, 8, 6), "train.epochs=3"); err != nil {
			t.Errorf("stopped at change %d, then with three epochs: %v", n, err)
		}
	}
}

// TestOtherSamplesAreNoticed in what only some losses and samplers look at.
func TestOtherSamplesAreNoticed(t *testing.T) {
	set := func(change func(*data.Dataset)) *data.Dataset {
		d := newFeatures(4, 8, 6)
		d.Several = &data.Several{Classes: make([]string, 9)}
		coarse := data.Column{Name: "above", Classes: []string{"x", "y"}}
		for i := range d.Names {
			d.Several.Sets = append(d.Several.Sets, []int64{int64(i / 8), 8})
			coarse.IDs = append(coarse.IDs, int64(i/16))
		}
		d.Columns, d.Coarse = append(d.Columns, coarse), "above"
		change(d)
		return d
	}
	same := func(*data.Dataset) {}
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Train(t.Context(), faultConfig(t), Options{Dir: dir, Dataset: set(same)}); err != nil {
		t.Fatal(err)
	}
	changes := map[string]func(*data.Dataset){
		"a label more":  func(d *data.Dataset) { d.Several.Sets[0] = []int64{0, 5, 8} },
		"moved over":    func(d *data.Dataset) { d.Several.Sets[0], d.Several.Sets[1] = []int64{0}, []int64{8, 0, 8} },
		"other coarse":  func(d *data.Dataset) { d.Columns[1].IDs[3] = 1 },
		"no lists":      func(d *data.Dataset) { d.Several = nil },
		"nothing above": func(d *data.Dataset) { d.Coarse = "" },
	}
	for name, change := range changes {
		if err := asIs(t, dir, set(change)); err == nil || !strings.Contains(err.Error(), "training samples") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := asIs(t, dir, set(same)); err != nil {
		t.Error(err)
	}
	if plain := fingerprint(newFeatures(2, 4, 3).All()); len(plain) != 16 || strings.Contains(plain, "-") {
		t.Errorf("of samples with one label: %q", plain)
	}
}
