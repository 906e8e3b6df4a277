package paper

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/train"
)

// remoteRunner does the runs of an experiment in a folder of its own and copies them to the wanted
// place, as workers do.
type remoteRunner struct {
	t         *testing.T
	e         *Experiment
	o         Options // of the worker
	to        string
	did       []string
	forgotten int
}

func (w *remoteRunner) Run(ctx context.Context, list []jobs.Job) ([]jobs.Result, error) {
	results := make([]jobs.Result, len(list))
	for i, job := range list {
		var j Job
		if err := job.Decode(&j); err != nil {
			return nil, err
		}
		w.did = append(w.did, job.Title)
		o := w.o
		o.Dir, o.Arms, o.Seed, o.Seeds, o.Set = w.t.TempDir(), []string{j.Arm}, j.Seed, 1, j.Set
		if _, err := Reproduce(ctx, w.e, o); err != nil {
			return nil, err
		}
		folder := RunFolder(j.Arm, j.Seed)
		if err := os.CopyFS(filepath.Join(w.to, folder), os.DirFS(filepath.Join(o.Dir, folder))); err != nil {
			return nil, err
		}
		var err error
		if results[i].Output, err = Result(filepath.Join(w.to, folder)); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func (w *remoteRunner) Forget(_ context.Context, list []jobs.Job) error {
	w.forgotten += len(list)
	return nil
}

// TestRunner: runs by a runner equal runs in this process, to the byte except for the times, and
// runs begun in this process are finished here.
func TestRunner(t *testing.T) {
	home, e := writeDigits(t, 8), Find("mnist")
	o := Options{Dir: t.TempDir(), Seeds: 2, Seed: 1, Home: home, Set: append(slices.Clone(tinyRun), "train.epochs=1")}
	want, err := Reproduce(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	far := o
	far.Dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(far.Dir, RunFolder("Triplet", 2)), 0o777); err != nil { // is begun
		t.Fatal(err)
	}
	w := &remoteRunner{t: t, e: e, o: Options{Home: home}, to: far.Dir}
	far.Runner = w
	far.Observe = func(arm string, seed uint64, _ train.Event) {
		if arm != "Triplet" || seed != 2 {
			t.Errorf("%s, seed %d is trained here", arm, seed)
		}
	}
	for range 2 { // the second time from the folder
		got, err := Reproduce(t.Context(), e, far)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range got.Arms {
			for k, m := range a.Measures {
				if !slices.Equal(m.Values, want.Arms[i].Measures[k].Values) {
					t.Errorf("%s, %s: %v, here %v", a.Name, m.Key, m.Values, want.Arms[i].Measures[k].Values)
				}
			}
		}
	}
	if want := []string{"mnist: Triplet, seed 1", "mnist: Trip+EPS, seed 1", "mnist: Trip+EPS, seed 2"}; !slices.Equal(
		w.did, want) || w.forgotten != 3 {
		t.Errorf("done elsewhere: %q, %d forgotten", w.did, w.forgotten)
	}
}

// TestKeptRun: a result has the same bytes as before results were outputs of jobs.
func TestKeptRun(t *testing.T) {
	e := Find("mnist")
	o, err := Options{Dir: t.TempDir(), Seeds: 1, Seed: 1}.resolve(e)
	if err != nil {
		t.Fatal(err)
	}
	m := &runCache{e, o}
	a := &e.Arms[0]
	job, err := e.job(a, 1, o)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := m.Load(job); out != nil || err != nil {
		t.Errorf("of nothing: %s, %v", out, err)
	}
	_, _, plan, dir, err := m.jobSettings(job)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := writeText(filepath.Join(dir, planFile), plan); err != nil {
		t.Fatal(err)
	}
	r := &Run{Arm: a.Name, Seed: 1, Folder: RunFolder(a.Name, 1), Plan: "a <b> & c", History: []train.Epoch{{
		Epoch: 1, Metrics: []train.Metric{{Set: "test", Name: "recall@1", Value: 1.0 / 3}}}}}
	path := filepath.Join(dir, resultFile)
	if err := writeJSON(path, r); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Load(job)
	if err != nil || string(out) != string(want) {
		t.Fatalf("%s, %v", out, err)
	}
	for range 2 {
		if err := m.Save(job, out); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
			t.Errorf("%v: %s\nwant %s", err, got, want)
		}
		out = []byte(strings.Join(strings.Fields(string(out)), " ")) // on a line
	}
	if err := m.Save(job, []byte("{")); err == nil || !strings.Contains(err.Error(), "a damaged result") {
		t.Error(err)
	}
	if _, err := m.Load(jobs.Job{Kind: Kind, Spec: []byte(`{"experiment":"mnist","arm":"none"}`)}); err == nil ||
		!strings.Contains(err.Error(), "no arm") {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Load(job); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Error(err)
	}
	if _, err := Result(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := writeText(filepath.Join(dir, planFile), plan+"# task: another\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Load(job); err == nil || !strings.Contains(err.Error(), "other settings") {
		t.Error(err)
	}
}
