package record

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kindred-ml/kindred/internal/test/mutations"
	"github.com/kindred-ml/kindred/train"
)

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
	path := dir + "/timing.csv"
	if err := os.WriteFile(path, []byte("timing.csv"), 0o666); err != nil { // one line that is none
		t.Fatal(err)
	}
	if got := readTiming(path, 9); got != nil {
		t.Errorf("read %v", got)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for epochs, n := range map[int]int{0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 5: 3} {
		if got := readTiming(path, epochs); !slices.Equal(got, list[:n]) {
			t.Errorf("of %d epochs: %v, want %v", epochs, got, list[:n])
		}
	}
	if got := readTiming(dir+"/none", 9); got != nil {
		t.Errorf("read %v", got)
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	d := Dir{Path: dir}
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	if err := d.ExplainDiskFull(full); !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), "disk is full") ||
		!strings.Contains(err.Error(), "start again") {
		t.Errorf("a full disk before there is a run: %v", err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, CheckpointDir), 0o755),
		os.WriteFile(filepath.Join(dir, ConfigFile), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := d.ExplainDiskFull(full); !strings.Contains(err.Error(), "continue with run.Options.Resume") {
		t.Errorf("a full disk: %v", err)
	}
	if err := d.ExplainDiskFull(os.ErrPermission); strings.Contains(err.Error(), "disk") {
		t.Errorf("no permission: %v", err)
	}
}

// TestMutations changes the table of times.
func TestMutations(t *testing.T) {
	mutations.Try(t, mutations.Reader{Name: "timing.csv",
		Valid: []string{timingHeader + "1,0.500,0.100,40,80.0\n2,0.500,0.100,40,80.0\n"},
		Read:  func(text []byte) error { parseTiming(bytes.NewReader(text), 5); return nil }})
}
