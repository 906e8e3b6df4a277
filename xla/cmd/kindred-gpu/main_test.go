package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/run"
)

// photos writes small pictures of four colours, a folder each.
func photos(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for c, name := range []string{"red", "green", "blue", "grey"} {
		for i := range 6 {
			m := image.NewRGBA(image.Rect(0, 0, 20, 16))
			for p := range 20 * 16 {
				v := [4]uint8{uint8(40 * i), uint8(p % 90), uint8(30 * i), 255}
				if c < 3 {
					v[c] = 220
				}
				m.Set(p%20, p/20, color.RGBA{v[0], v[1], v[2], 255})
			}
			path := filepath.Join(dir, name, string(rune('a'+i))+".png")
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := png.Encode(f, m); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
	}
	return dir
}

func do(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = command(args, &o, &e)
	return status, o.String(), e.String()
}

// TestTrain: a run folder of kindred comes out, and a longer run goes on from it.
func TestTrain(t *testing.T) {
	t.Setenv("KINDRED_WEIGHTS", t.TempDir())
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"train", "--engine", "go", "--devices", "2", "--data", photos(t), "--set",
		"network.name=conv4", "--set", "data.size=16", "--set", "network.width=8", "--set", "train.epochs=2",
		"--out", dir, "--json"}
	status, out, errs := do(t, args...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	var sum struct{ Epochs, Parameters int }
	if err := json.Unmarshal([]byte(out), &sum); err != nil || sum.Epochs != 2 || sum.Parameters == 0 {
		t.Errorf("%v: %s", err, out)
	}
	m, err := run.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, m.Net.Spec().Input.Len())
	if e := m.Net.Infer(x, 1); e.Rows != 1 {
		t.Errorf("%d embeddings", e.Rows)
	}
	if status, _, errs := do(t, "train", "--engine", "go", "--resume", dir, "--set", "train.epochs=3"); status != 0 {
		t.Fatalf("resumed: status %d: %s", status, errs)
	}
	f, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := f.History(); err != nil || len(h.Values["epoch"]) != 3 {
		t.Errorf("history: %v, %v", h, err)
	}
}

// TestWrongCommandLines: what cannot be done is said in one line, with the status
// of its kind.
func TestWrongCommandLines(t *testing.T) {
	data := photos(t)
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"train", "--engine", "gpu"}, 1, `unknown engine "gpu"`},
		{[]string{"train", "--no-such"}, 2, "unknown flag"},
		{[]string{"engines", "all"}, 2, "unknown command"},
		{[]string{"train", "--engine", "go", "--data", data, "--set", "train.chunk=2"}, 1, "train.chunk"},
		{[]string{"train", "--engine", "go", "--set", "train.epoch=2"}, 2, "train.epoch"},
		{[]string{"train", "--engine", "go", "--resume", data}, 1, "nothing to resume"},
		{[]string{"train", "--engine", "go", "--resume", data, "--out", "x"}, 2, "cannot be combined"},
		{[]string{"train", "--engine", "go", "--devices", "0"}, 2, "--devices 0"},
		{[]string{"train", "--engine", "go", "--devices", "some"}, 2, "--devices some"},
		{[]string{"train", "--memory", "1"}, 2, "memory"},
		{[]string{"bench", "resnet51", "--engine", "go"}, 2, `unknown case "resnet51"`},
	} {
		status, _, errs := do(t, c.args...)
		if last := lastLine(errs); status != c.status || !strings.Contains(last, c.want) {
			t.Errorf("%q: status %d, want %d, saying %q: %s", c.args, status, c.status, c.want, last)
		}
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func TestEngines(t *testing.T) {
	status, out, _ := do(t, "engines")
	if status != 0 || !strings.Contains(out, "go") || !strings.Contains(out, "ready") {
		t.Errorf("status %d: %s", status, out)
	}
	var list []struct{ Name string }
	if _, out, _ := do(t, "engines", "--json"); json.Unmarshal([]byte(out), &list) != nil || len(list) < 2 {
		t.Errorf("%s", out)
	}
	if !strings.Contains(out, "device 0") {
		t.Errorf("no devices: %s", out)
	}
}

// TestHelpIsKindreds: kindred-gpu train says what kindred train says, and the flags of
// its engine.
func TestHelpIsKindreds(t *testing.T) {
	status, got, _ := do(t, "train", "--help")
	if status != 0 {
		t.Fatalf("status %d", status)
	}
	var want bytes.Buffer
	root := &cobra.Command{Use: "kindred"}
	var asJSON bool
	var seed uint64
	cli.AddGlobals(root.PersistentFlags(), &asJSON, &seed)
	cmd := cli.NewTrainCommand("kindred", new(cli.TrainFlags))
	cmd.Run = func(*cobra.Command, []string) {}
	root.AddCommand(cmd)
	root.SetOut(&want)
	root.SetArgs([]string{"train", "--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(strings.ReplaceAll(got, "kindred-gpu", "kindred"), "\n"),
		func(line string) bool {
			return strings.Contains(line, "--engine string") || strings.Contains(line, "--devices string") ||
				strings.Contains(line, "--tf32")
		})
	if got := strings.Join(lines, "\n"); got != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
	for _, flag := range []string{"--engine", "--devices", "--tf32"} {
		if !strings.Contains(got, flag) {
			t.Errorf("no %s: %s", flag, got)
		}
	}
}

// TestBench: figures come as a table, as JSON and in the file of --record.
func TestBench(t *testing.T) {
	record := filepath.Join(t.TempDir(), "gpu.json")
	status, out, errs := do(t, "bench", "tiny-16-infer-b6", "--engine", "go", "--record", record)
	if status != 0 || !strings.Contains(out, "tiny-16-infer-b6") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	var kept []struct {
		Case string
		PerS float64 `json:"per_s"`
	}
	text, err := os.ReadFile(record)
	if err != nil || json.Unmarshal(text, &kept) != nil || len(kept) != 1 || !(kept[0].PerS > 0) {
		t.Errorf("%v: %s", err, text)
	}
}
