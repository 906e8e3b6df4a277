package run

import (
	"context"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/train"
)

// records counts the records of an event file, and checks that they are whole.
func records(t *testing.T, path string) (n int, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = string(b)
	for ; len(b) > 0; n++ {
		size := binary.LittleEndian.Uint64(b)
		if size+16 > uint64(len(b)) {
			t.Fatalf("%s ends in the middle of record %d", path, n+1)
		}
		b = b[size+16:]
	}
	return n, text
}

// TestEvents trains with an event file, stops, goes on, and goes on after its end.
func TestEvents(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Train.TensorBoard = true
	dir := filepath.Join(t.TempDir(), "run")
	path := filepath.Join(dir, eventsFile)
	if err := trainUntil(t, cfg, dir, 2); err == nil {
		t.Fatal("the run was not stopped")
	}
	if n, text := records(t, path); n != 2 || !strings.Contains(text, "brain.Event:2") ||
		!strings.Contains(text, "test/recall@1") || !strings.Contains(text, "train/loss") ||
		!strings.Contains(text, "test/label_recall@1") {
		t.Errorf("%d records after one epoch", n)
	}
	o := Options{Dir: dir, Resume: true, Dataset: newBlobs(6, 20, 16)}
	if _, err := Train(t.Context(), cfg, o); err != nil {
		t.Fatal(err)
	}
	if n, _ := records(t, path); n != 1+cfg.Train.Epochs {
		t.Errorf("%d records after %d epochs", n, cfg.Train.Epochs)
	}
	if _, err := Train(t.Context(), cfg, o); err != nil {
		t.Fatal(err)
	}
	if n, _ := records(t, path); n != 1+cfg.Train.Epochs {
		t.Errorf("%d records after the run was written again", n)
	}
	o.Resume, o.Force = false, true
	cfg.Train.TensorBoard = false
	if _, err := Train(t.Context(), cfg, o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a new run left the event file of the one before")
	}
	if _, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(6, 20, 16)}); err != nil {
		t.Error(err) // without a folder
	}
}

// trainUntil trains and is stopped in the given epoch.
func trainUntil(t *testing.T, cfg Config, dir string, epoch int) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, err := Train(ctx, cfg, Options{Dir: dir, Dataset: newBlobs(6, 20, 16), Observe: func(e train.Event) {
		if e.Stage == train.Stepped && e.Epoch == epoch {
			stop()
		}
	}})
	return err
}

// TestLines compares metrics.jsonl with metrics.csv.
func TestLines(t *testing.T) {
	history := []train.Epoch{
		{Epoch: 1, Sums: train.Sums{Steps: 2, Loss: 0.3, Tuples: 7}, LR: 1e-3},
		{Epoch: 2, Sums: train.Sums{Steps: 2, Loss: 1e-30, Gradient: math.MaxFloat64}, LR: 0.1,
			Metrics: []train.Metric{{Set: "test", Column: "fine", Name: "recall@1", Value: 1.0 / 3},
				{Set: "test", Column: "label", Name: "nmi+30", Value: 1}}},
	}
	var lines, table strings.Builder
	if err := writeLines(&lines, history); err != nil {
		t.Fatal(err)
	}
	if err := writeHistory(&table, history); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(lines.String(), "\n"), "\n")
	if len(all) != len(history) {
		t.Fatalf("%d lines", len(all))
	}
	for i, line := range all {
		var got map[string]json.Number
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		n := 0
		for k, name := range rows[0] {
			cell := rows[i+1][k]
			if cell == "" {
				continue
			}
			n++
			var a, b float64
			fmt.Sscan(cell, &a)
			fmt.Sscan(string(got[name]), &b)
			if a != b || got[name] == "" {
				t.Errorf("line %d: %s is %q and in the table %s", i+1, name, got[name], cell)
			}
		}
		if n != len(got) {
			t.Errorf("line %d has %d values and the table %d", i+1, len(got), n)
		}
	}
}
