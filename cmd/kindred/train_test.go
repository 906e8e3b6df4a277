//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/internal/base/lock"
)

// shortRun is a run of milliseconds; append to it.
const shortRun = "train --data features.npy --set network.name=linear --set network.dim=3 --set sample.batches=4 " +
	"--set train.epochs=2 "

func TestTrainSaysWhereItWrites(t *testing.T) {
	makeFeatureSet(t)
	for _, dir := range []string{"runs/features.npy", "runs/features.npy-2"} {
		if out, said := runProgram(t, shortRun); !strings.Contains(said, "run folder   "+dir+"\n") ||
			!strings.HasSuffix(out, dir+"\n") {
			t.Errorf("printed %q and said %q", out, said)
		}
	}
	runProgram(t, shortRun+"--out mine")
	code, _, said := runArgs(t, strings.Fields(shortRun+"--out mine")...)
	if code != exitFailure || !strings.Contains(said, "--resume mine") || !strings.Contains(said, "--force") {
		t.Errorf("status %d, said %q", code, said)
	}
	runProgram(t, shortRun+"--out mine --force")
	if code, _, said := runArgs(t, "train", "--resume", "mine", "--force"); code != exitUsage {
		t.Errorf("status %d, said %q", code, said)
	}
	if code, _, said := runArgs(t, "train", "--resume", "."); code != exitFailure ||
		!strings.Contains(said, "not the folder of a run") {
		t.Errorf("status %d, said %q", code, said)
	}
}

// TestResumeWritesThePage after all else that a kill left unwritten.
func TestResumeWritesThePage(t *testing.T) {
	makeFeatureSet(t)
	runProgram(t, shortRun+"--set train.epochs=1 --out r")
	want, err := os.ReadFile("r/metrics.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"metrics.csv", "timing.csv", "model.safetensors", "model.json", "embeddings.npy",
		"labels.csv", "report.html"} {
		if err := os.Remove(filepath.Join("r", name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, said := runProgram(t, "train --resume r"); !strings.Contains(said, "r has finished all 1 epochs") {
		t.Errorf("said %q", said)
	}
	if got, err := os.ReadFile("r/metrics.csv"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("metrics.csv: %v\n%s", err, got)
	}
	if _, err := os.Stat("r/report.html"); err != nil {
		t.Error(err)
	}
	runProgram(t, "embed --run r --data features.npy --out E.npy")
}

// A run ends with the two commands that go on from it, and a shell runs them as they
// stand.
func TestTrainEndsWithTheNextCommands(t *testing.T) {
	makeFeatureSet(t)
	dir := "-it's a folder"
	if err := os.CopyFS(dir, os.DirFS(writePhotos(t))); err != nil {
		t.Fatal(err)
	}
	const small = " --set train.epochs=1 --set network.name=mlp --set network.width=8"
	for data, does := range map[string]string{"./" + dir: "search", "features.npy": "neighbours"} {
		args := append([]string{"train", "--data", data, "--out", "-r " + does}, strings.Fields(small)...)
		code, _, said := runArgs(t, args...)
		if code != exitOK {
			t.Fatalf("status %d, %s", code, said)
		}
		lines := strings.Split(strings.TrimSpace(said), "\n")
		next := lines[len(lines)-2:]
		code, out, said := runArgs(t, append(args, "--force", "--json")...)
		var doc struct{ Next []string }
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK || len(doc.Next) != 2 ||
			doc.Next[0] != strings.TrimSpace(next[0]) {
			t.Fatalf("next %q, %v, %s", doc.Next, err, said)
		}
		for i, command := range doc.Next {
			if strings.TrimSpace(next[i]) != command || !strings.HasPrefix(command, os.Args[0]+" ") {
				t.Errorf("printed %q, want %q", next[i], command)
			}
			words, err := exec.Command("sh", "-c", "printf '%s\\n' "+strings.TrimPrefix(command, os.Args[0])).Output()
			if err != nil {
				t.Fatal(err)
			}
			words = bytes.TrimSuffix(words, []byte("\n"))
			code, _, said := runArgs(t, strings.Split(string(words), "\n")...)
			if want := []string{does, "report"}[i]; code != exitOK || !strings.HasPrefix(string(words), want+"\n") {
				t.Errorf("%s: status %d, %s", command, code, said)
			}
		}
	}
}

// TestInterruptedTrainingSaysHowToGoOn stops a process by each signal and runs
// the command that it prints, in a shell.
func TestInterruptedTrainingSaysHowToGoOn(t *testing.T) {
	makeFeatureSet(t)
	dir := "a run's folder"
	for _, s := range stopSignals() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		cmd := newChild(t, shortRun+"--set train.epochs=1000000 --set eval.every=1000000 --data-dir no/such --out OUT")
		cmd.Env = append(cmd.Env, childOut+"="+dir)
		var said bytes.Buffer
		r, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(make([]byte, 1)); err != nil { // the first epoch's line
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&said, r); err != nil {
			t.Fatal(err)
		}
		if st := waitStatus(t, cmd); st.ExitStatus() != 128+int(s) {
			t.Errorf("%v: status %d", s, st.ExitStatus())
		}
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		if end := len(lines) - 1; strings.Contains(lines[end], " train --finish ") { // a step was taken
			if !strings.HasSuffix(lines[end], ` train --finish 'a run'\''s folder' --data-dir no/such`) {
				t.Errorf("%v: the command that ends it is %q", s, lines[end])
			}
			lines = lines[:end-1]
		}
		where, command := lines[len(lines)-2], lines[len(lines)-1]
		if !strings.Contains(where, "interrupted: "+dir+" stopped in epoch ") {
			t.Errorf("%v: says %q", s, where)
		}
		if want := ` train --resume 'a run'\''s folder' --data-dir no/such`; !strings.HasSuffix(command, want) {
			t.Errorf("%v: the command is %q, want it to end in %q", s, command, want)
		}
		// The shell's own reading of it goes on, here to the end of the epoch.
		words, err := exec.Command("sh", "-c", "printf '%s\\n' "+strings.TrimPrefix(command, os.Args[0])).Output()
		if err != nil {
			t.Fatal(err)
		}
		var epoch int
		if _, err := fmt.Sscanf(where[strings.Index(where, " stopped in epoch "):], " stopped in epoch %d",
			&epoch); err != nil {
			t.Fatal(where, err)
		}
		args := strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
		code, _, errOut := runArgs(t, append(args, "--set", fmt.Sprintf("train.epochs=%d", epoch))...)
		if code != exitOK || !strings.Contains(errOut, fmt.Sprintf("continues in epoch %d", epoch)) {
			t.Errorf("%v: going on ends with status %d\n%s", s, code, errOut)
		}
	}
}

// TestTrainingGoesOnWithoutReaders closes standard error after the first bytes,
// as `kindred train 2>&1 | head -1` does: the run ends as any other.
func TestTrainingGoesOnWithoutReaders(t *testing.T) {
	makeFeatureSet(t)
	cmd := newChild(t, shortRun+"--set train.epochs=50 --out r")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	waitStatus(t, cmd)
	for _, name := range []string{"model.safetensors", "report.html"} {
		if _, err := os.Stat(filepath.Join("r", name)); err != nil {
			t.Error(err)
		}
	}
	if text, _ := os.ReadFile("r/metrics.csv"); bytes.Count(text, []byte("\n")) != 51 {
		t.Errorf("metrics.csv:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join("r", lock.FileName)); err == nil {
		t.Error("the folder is still locked")
	}
}

// TestNoHome trains and embeds by path with an empty environment.
func TestNoHome(t *testing.T) {
	makeFeatureSet(t)
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "KINDRED_DATA"} {
		t.Setenv(name, "")
	}
	runProgram(t, shortRun+"--out r --set data.cache=true")
	runProgram(t, "embed --run r --data features.npy --out E.npy")
	runProgram(t, "data info features.npy")
	code, _, said := runArgs(t, "data", "list")
	if code != exitFailure || !strings.Contains(said, "--data-dir") {
		t.Errorf("status %d, said %q", code, said)
	}
}

// TestDataOfAnyName goes on with a run whose data have a name that a plain YAML
// value could not hold, and refuses what no configuration can.
func TestDataOfAnyName(t *testing.T) {
	makeFeatureSet(t)
	dir := "a\tb \r"
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Skip("no such names here:", err)
	}
	for _, file := range []string{"features.npy", "labels.csv"} {
		if err := os.Rename(file, filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	args := strings.Fields(shortRun + "--out r")
	args[2] = filepath.Join(dir, "features.npy")
	for _, args := range [][]string{args, {"train", "--resume", "r", "--set", "train.epochs=3"}} {
		if code, _, said := runArgs(t, args...); code != 0 {
			t.Fatalf("%q: %s", args, said)
		}
	}
	code, _, said := runArgs(t, "train", "--data", "a\xff", "--out", "s")
	if code != exitUsage || !strings.Contains(said, `"a\xff" is not valid UTF-8`) {
		t.Errorf("status %d, said %q", code, said)
	}
}

// TestEmbedWritesIntoPipes and to standard output, where its words would be in
// the way.
func TestEmbedWritesIntoPipes(t *testing.T) {
	makeFeatureSet(t)
	runProgram(t, shortRun+"--out r")
	runProgram(t, "embed --run r --data features.npy --out E.npy --labels Y.csv")
	want, err := os.ReadFile("E.npy")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo("fifo", 0o600); err != nil {
		t.Skip(err)
	}
	got := make(chan []byte)
	go func() {
		b, err := os.ReadFile("fifo")
		if err != nil {
			t.Error(err)
		}
		got <- b
	}()
	runProgram(t, "embed --run r --data features.npy --out fifo")
	if !bytes.Equal(<-got, want) {
		t.Error("the pipe got other bytes")
	}
	if st, err := os.Stat("fifo"); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe became %v, %v", st.Mode(), err)
	}
	for _, name := range []string{"-", "/dev/stdout"} {
		out, said := runProgram(t, "embed --run r --data features.npy --out "+name)
		if out != string(want) || !strings.Contains(said, "40 embeddings of 3 numbers") {
			t.Errorf("--out %s: %d bytes of %d, said %q", name, len(out), len(want), said)
		}
		labels, err := os.ReadFile("Y.csv")
		if err != nil {
			t.Fatal(err)
		}
		if out, _ := runProgram(t,
			"embed --run r --data features.npy --out E.npy --labels "+name); out != string(labels) {
			t.Errorf("--labels %s: %q", name, out)
		}
		for _, two := range []string{"--out - --labels " + name, "--out E.npy --json --labels " + name,
			"--json --out " + name} {
			if code, out, _ := runArgs(t,
				strings.Fields("embed --run r --data features.npy "+two)...); code != exitUsage || out != "" {
				t.Errorf("%s: status %d, %d bytes", two, code, len(out))
			}
		}
	}
}

func TestReproduceKeepsOutOfOtherFolders(t *testing.T) {
	makeFeatureSet(t)
	dir := t.TempDir()
	held, err := lock.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	for name, want := range map[string]string{".": "neither empty nor the folder of an experiment: it holds " +
		"features.npy", dir: "is in use by process"} {
		code, _, said := runArgs(t, "reproduce", "mnist", "--fast", "--data", "features.npy", "--out", name)
		if code != exitFailure || !strings.Contains(said, want) {
			t.Errorf("--out %s: status %d, said %q", name, code, said)
		}
		if _, err := os.Stat(filepath.Join(name, "runs")); err == nil {
			t.Errorf("--out %s: runs were made", name)
		}
	}
}

// TestGoOn: a folder whose name begins like a flag is given as a path.
func TestGoOn(t *testing.T) {
	for dir, want := range map[string]string{"-r": "./-r", "runs/x": "runs/x"} {
		if got := (&trainFlags{}).continueCommand("--resume", dir); !strings.HasSuffix(got, " train --resume "+want) {
			t.Errorf("%s: %s", dir, got)
		}
	}
}

// TestTrainMinutes: --minutes trains a run that config.yaml repeats, and is refused where it can decide nothing.
func TestTrainMinutes(t *testing.T) {
	makeFeatureSet(t)
	small := []string{"--data", "features.npy", "--set", "network.name=mlp", "--set", "network.width=8"}
	mustRun(t, append([]string{"train", "--out", "r", "--minutes", "0.001"}, small...)...)
	mustRun(t, "train", "-c", "r/config.yaml", "--out", "again")
	for name, args := range map[string][]string{
		"must be above 0":      append([]string{"train", "--minutes", "0"}, small...),
		"must not be negative": append([]string{"train", "--minutes", "-1"}, small...),
		"leave train.epochs out": append([]string{"train", "--minutes", "1", "--set", "train.epochs=2"},
			small...),
		"(train.epochs=0)":              {"train", "-c", "r/config.yaml", "--minutes", "1"},
		"--resume r --set train.epochs": {"train", "--resume", "r", "--minutes", "1"},
		"is for a new run":              {"train", "--finish", "r", "--minutes", "1"},
	} {
		if code, _, said := runArgs(t, args...); code != exitUsage || !strings.Contains(said, name) {
			t.Errorf("%v: status %d, %q; want %q", args, code, said, name)
		}
	}
}

// TestTryEncoders: --try-encoders needs networks in the weights folder and a run that has none yet.
func TestTryEncoders(t *testing.T) {
	dir, empty := writePhotos(t), t.TempDir()
	if code, _, said := runArgs(t, "train", dir, "--try-encoders", "--weights-dir", empty); code == exitOK ||
		!strings.Contains(said, "there is no network in "+empty) {
		t.Errorf("status %d, %q", code, said)
	}
	full := t.TempDir()
	e, err := weights.Find("mobilenet_v3_small")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(e.Path(full), make([]byte, e.Bytes), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"network.pretrained is none": {"--set", "network.pretrained=none"},
		"network.name is conv4":      {"--set", "network.name=conv4"},
		"none of the networks can be tried:\nnetwork mobilenet_v3_small is": {},
	} {
		args = append([]string{"train", dir, "--try-encoders", "--weights-dir", full, "--offline", "--out",
			filepath.Join(t.TempDir(), "r")}, args...)
		if code, _, said := runArgs(t, args...); code == exitOK ||
			!strings.Contains(said, "--try-encoders: "+want) {
			t.Errorf("%v: status %d, %q; want %q", args, code, said, want)
		}
	}
}
