package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
)

// fewTrials is a plan of few trials on rows.
const fewTrials = `
set: {data: {name: rows}, network: {name: linear, dim: 3}, sample: {classes: 3, batches: 3}, train.epochs: 2,
  eval.recall: [1]}
ranges: {train.lr: {low: 0.0001, high: 0.1, log: true}}
folds: 2
seeds: 0
trials: `

// A sweep goes on with the data that it began with only. What changed is named, whoever trains, and nothing of the
// other data is kept.
func TestSweepOfChangedData(t *testing.T) {
	changes := map[string]func(d *data.Dataset){
		"the labels changed":                     func(d *data.Dataset) { d.Columns[0].IDs[0] = 1 },
		"the features changed":                   func(d *data.Dataset) { d.Features.Row(3)[0]++ },
		"the names of the samples changed":       func(d *data.Dataset) { d.Names[5] = "other" },
		"there are 95 samples and there were 96": func(d *data.Dataset) { dropSamples(d) },
		"the split changed":                      func(d *data.Dataset) { d.Splits[95] = 0 },
	}
	for want, change := range changes {
		for _, far := range []bool{false, true} { // whether others train, who have the data
			o := Options{Dir: filepath.Join(t.TempDir(), "sweep"), Local: Local{Dataset: newRows()}}
			run := func(trials string, set *data.Dataset) error {
				o := o
				if o.Local.Dataset = set; far {
					o.Local.Dir = t.TempDir() // workers keep no runs
					o.Runner = RunnerFunc(o.Local.Run)
				}
				_, err := Run(t.Context(), parsePlanText(t, fewTrials+trials), o)
				return err
			}
			if err := run("2", newRows()); err != nil {
				t.Fatal(err)
			}
			before := jobFiles(t, o.Dir)
			other := newRows()
			change(other)
			err := run("4", other)
			if err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "restore the data, or choose another folder") {
				t.Errorf("far %v: %v, want %q", far, err, want)
			}
			if after := jobFiles(t, o.Dir); after != before {
				t.Errorf("far %v, %s: %d results were kept, then %d", far, want, before, after)
			}
			if err := run("4", newRows()); err != nil {
				t.Errorf("far %v: with the data as they were: %v", far, err)
			}
		}
	}
}

func dropSamples(d *data.Dataset) {
	n := d.Len() - 1
	d.Names, d.Splits, d.Features = d.Names[:n], d.Splits[:n], d.Features.RowRange(0, n)
	d.Columns[0].IDs = d.Columns[0].IDs[:n]
}

func jobFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, jobsDir), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Results of a version that did not record their data are taken, with one remark.
func TestSweepOfAnOlderVersion(t *testing.T) {
	var notes []string
	o := Options{Dir: filepath.Join(t.TempDir(), "sweep"), Local: Local{Dataset: newRows()},
		OnNote: func(text string) { notes = append(notes, text) }}
	if _, err := Run(t.Context(), parsePlanText(t, fewTrials+"2"), o); err != nil || notes != nil {
		t.Fatal(err, notes)
	}
	err := filepath.WalkDir(filepath.Join(o.Dir, jobsDir), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		var d finishedJob
		if err = errors.Join(err, json.Unmarshal(text, &d)); err != nil || d.Result.Data == nil {
			t.Errorf("%s: %v, data %v", path, err, d.Result.Data)
		}
		d.Result.Data = nil
		text, err = json.Marshal(d)
		return errors.Join(err, os.WriteFile(path, text, 0o666))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), parsePlanText(t, fewTrials+"3"), o); err != nil || len(notes) != 1 ||
		!strings.Contains(notes[0], "did not record their data") {
		t.Errorf("%v, notes %q", err, notes)
	}
}

// A result that is read from the folder of a run, because the file of the job was lost, has the data of the run.
func TestKeptResultHasItsData(t *testing.T) {
	l := Local{Dir: t.TempDir(), Dataset: newRows()}
	j := Job{Name: "a/0001/fold1", Config: configText(t), Until: 2, Metric: "test_recall@1"}
	first, err := l.Run(context.Background(), j)
	if err != nil || first.Data == nil {
		t.Fatal(err, first)
	}
	again, err := l.Run(context.Background(), j)
	if err != nil || again.Data == nil || *again.Data != *first.Data || *first.Data != newRows().Fingerprint() {
		t.Errorf("%+v, %v", again, err)
	}
}
