package run

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

// A table of commas has numbers of eight bytes for each: it may not need more memory than the limit.
func TestTableWithinMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 20))
	head, row := "a,b,c,d\n", ",,,\n"
	got, err := parseTable(strings.NewReader(head + strings.Repeat(row, 1000)))
	if err != nil || len(got.Values["d"]) != 1000 {
		t.Fatalf("1000 rows: %v", err)
	}
	var over *budget.Error
	if _, err := parseTable(strings.NewReader(head + strings.Repeat(row, 10_000))); !errors.As(err, &over) {
		t.Errorf("10,000 rows: %v", err)
	}
}

// countRecords counts the records of an event file, and checks that they are whole.
func countRecords(t *testing.T, path string) (n int, text string) {
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
	path := filepath.Join(dir, record.EventsFile)
	if err := trainUntil(t, cfg, dir, 2); err == nil {
		t.Fatal("the run was not stopped")
	}
	if n, text := countRecords(t, path); n != 2 || !strings.Contains(text, "brain.Event:2") ||
		!strings.Contains(text, "test/recall@1") || !strings.Contains(text, "train/loss") ||
		!strings.Contains(text, "test/label_recall@1") {
		t.Errorf("%d records after one epoch", n)
	}
	o := Options{Dir: dir, Resume: true, Dataset: newBlobs(6, 20, 16)}
	if _, err := Train(t.Context(), cfg, o); err != nil {
		t.Fatal(err)
	}
	if n, _ := countRecords(t, path); n != 1+cfg.Train.Epochs {
		t.Errorf("%d records after %d epochs", n, cfg.Train.Epochs)
	}
	if _, err := Train(t.Context(), cfg, o); err != nil {
		t.Fatal(err)
	}
	if n, _ := countRecords(t, path); n != 1+cfg.Train.Epochs {
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

// FuzzTables reads metrics.csv and config.yaml. Neither may panic, and columns have
// one length.
func FuzzTables(f *testing.F) {
	f.Add([]byte("data: {name: mnist, size: 28}\neval: {recall: [1, 5]}\n"),
		[]byte("epoch,loss,test_recall@1\n1,0.5,\n2,0.25,1\n"))
	f.Add([]byte("a: [1, {b: 2}]\nc:\n"), []byte("a,b\n1,\n"))
	f.Add([]byte("- 1"), []byte("a\n\"\n"))
	f.Fuzz(func(t *testing.T, config, metrics []byte) {
		_, _ = parseSettings(config)
		table, err := parseTable(bytes.NewReader(metrics))
		if err != nil {
			return
		}
		for _, c := range table.Columns {
			if len(table.Values[c]) != len(table.Values[table.Columns[0]]) {
				t.Errorf("columns of %d and %d values", len(table.Values[c]), len(table.Values[table.Columns[0]]))
			}
		}
	})
}

// TestSummary sums up a run.
func TestSummary(t *testing.T) {
	history := []train.Epoch{{Epoch: 1, LR: 0.5, Totals: train.Totals{Steps: 4, Loss: 2}},
		{Epoch: 2, LR: 0.25, Metrics: []train.Metric{{Set: "test", Column: "fine", Name: "recall@1", Value: 0.125},
			{Set: "test", Column: "label", Name: "recall@1", Value: 1}}}}
	res := &Result{History: history, Scores: history[1].Metrics, Epoch: 2, Params: 9, WaitShare: 0.5,
		Duration: 1234567 * time.Microsecond}
	res.History[1].Warning = "idle"
	s := res.Summary("d")
	want2 := Summary{
		Dir: "d", Epoch: 2, Epochs: 2, Steps: 4, Parameters: 9, Seconds: 1.235, WaitedForData: 0.5,
		Metrics:  map[string]float64{"test_recall@1": 0.125, "test_label_recall@1": 1},
		Warnings: []string{"epoch 2: idle"},
	}
	if d := cmp.Diff(want2, s); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
