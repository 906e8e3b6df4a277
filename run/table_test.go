package run

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kindred-ml/kindred/internal/base/budget"
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
	path := filepath.Join(dir, eventsFile)
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

// TestLines compares metrics.jsonl with metrics.csv.
func TestLines(t *testing.T) {
	history := []train.Epoch{
		{Epoch: 1, Totals: train.Totals{Steps: 2, Loss: 0.3, Tuples: 7}, LR: 1e-3},
		{Epoch: 2, Totals: train.Totals{Steps: 2, Loss: 1e-30, Gradient: math.MaxFloat64}, LR: 0.1,
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

// FuzzTiming reads timing.csv; what is read is written and read again alike.
func FuzzTiming(f *testing.F) {
	f.Add([]byte(timingHeader+"1,0.500,0.100,40,80.0\n2,0.500,0.100,40,80.0\n"), 5)
	f.Add([]byte("1,1e300,nan,-1,inf\n1,inf,0,0,0\n"), 1)
	f.Add([]byte("\ufeff1,1,1,1,1\r\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, epochs int) {
		list := parseTiming(bytes.NewReader(text), epochs)
		last := 0
		for _, l := range list {
			if l.epoch <= last || l.epoch > epochs || l.train < 0 || l.eval < 0 || l.images < 0 {
				t.Fatalf("%+v after epoch %d of %d", l, last, epochs)
			}
			last = l.epoch
		}
		var b, c bytes.Buffer
		if err := writeTiming(&b, list); err != nil {
			t.Fatal(err)
		}
		again := parseTiming(bytes.NewReader(b.Bytes()), epochs)
		if err := writeTiming(&c, again); err != nil || len(again) != len(list) {
			t.Fatalf("%d lines became %d (%v)", len(list), len(again), err)
		}
	})
}

func TestTimingLeavesOutWhatMakesNoSense(t *testing.T) {
	text := timingHeader + "1,1.5,0.25,40,80.0\n1,1,1,1,1\n2,nan,1,1,1\n3,inf,1,1,1\n4,-1,1,1,1\n5,1,-1,1,1\n" +
		"6,1,1,-1,1\n7,1,1000000000,1,1\n8,1000000000,1,1,1\n9,1,1,1\n10,0,0,0,0\n11,1,1,1,1\n"
	list := parseTiming(strings.NewReader(text), 10)
	if len(list) != 2 || list[0].epoch != 1 || list[0].train.Seconds() != 1.5 || list[0].eval.Seconds() != 0.25 ||
		list[0].images != 40 || list[1].epoch != 10 {
		t.Errorf("%+v", list)
	}
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

func TestHistoryToTheLetter(t *testing.T) {
	history := []train.Epoch{
		{Epoch: 1, LR: 0.5, Totals: train.Totals{Steps: 4, Loss: 2, Gradient: 6, Tuples: 8, Active: 2, Anchors: 7,
			NoPositive: 1, NoNegative: 2, NoCandidate: 3, Fallbacks: 5}},
		{Epoch: 2, LR: 0.25, Metrics: []train.Metric{
			{Set: "test", Column: "fine", Name: "recall@1", Value: 0.125},
			{Set: "test", Column: "label", Name: "recall@1", Value: 1},
		}},
	}
	var b strings.Builder
	if err := writeHistory(&b, history); err != nil {
		t.Fatal(err)
	}
	want := `epoch,steps,lr,loss,gradient,tuples,active,anchors,no_positive,no_negative,no_candidate,fallbacks,test_recall@1,test_label_recall@1
1,4,0.5,0.5,1.5,8,2,7,1,2,3,5,,
2,0,0.25,0,0,0,0,0,0,0,0,0,0.125,1
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
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

// TestTimingReadsWhatItWrote, and leaves out what later epochs or damaged lines
// say.
func TestTimingReadsWhatItWrote(t *testing.T) {
	dir := t.TempDir()
	list := []epochTiming{{1, 2 * time.Second, 500 * time.Millisecond, 100}, {2, 0, time.Second, 0},
		{4, time.Second, 0, 7}}
	var b strings.Builder
	if err := writeTiming(&b, list); err != nil {
		t.Fatal(err)
	}
	want := timingHeader + "1,2.000,0.500,100,50.0\n2,0.000,1.000,0,0.0\n4,1.000,0.000,7,7.0\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	text := strings.Replace(b.String(), "4,1", "2,1,1,1,1\nx,1,1,1,1\n3,1\n4,1", 1)
	if err := writeNameFile(dir, "timing.csv"); err != nil { // one line that is none
		t.Fatal(err)
	}
	path := dir + "/timing.csv"
	if got := readTiming(path, 9); got != nil {
		t.Errorf("read %v", got)
	}
	writeFile(t, path, text)
	for epochs, n := range map[int]int{0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 5: 3} {
		if got := readTiming(path, epochs); !slices.Equal(got, list[:n]) {
			t.Errorf("of %d epochs: %v, want %v", epochs, got, list[:n])
		}
	}
	if got := readTiming(dir+"/none", 9); got != nil {
		t.Errorf("read %v", got)
	}
}
