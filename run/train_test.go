package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

// childDir, if set in the environment, makes the test binary a process that
// runs smallConfig into that folder and prints a line a step, to be killed. One step
// after the line that childUntil has it waits for that.
const (
	childDir   = "KINDRED_TRAIN_TEST_DIR"
	childUntil = "KINDRED_TRAIN_TEST_UNTIL"
)

func TestMain(m *testing.M) {
	if at := os.Getenv(childKill); at != "" {
		runAndDie(os.Getenv(childDir), at)
	}
	if dir := os.Getenv(childDir); dir != "" {
		cfg := smallConfig(&testing.T{})
		cfg.Train.Checkpoint = 2
		opts := Options{Dir: dir, Dataset: newBlobs(4, 20, 16), Resume: os.Getenv(childDir+"_RESUME") != ""}
		until, reached := os.Getenv(childUntil), false
		opts.Observe = func(e train.Event) {
			if e.Stage == train.Stepped {
				if reached {
					time.Sleep(time.Hour)
				}
				line := fmt.Sprint("step ", e.Epoch, " ", e.Step)
				fmt.Println(line)
				reached = line == until
			}
		}
		if _, err := Train(context.Background(), cfg, opts); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRunLearnsAndWritesItsFolder(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Loss, cfg.Mine = Section{"name": "triplet"}, Section{}
	cfg.Network.Dropout = 0
	cfg.Train.Epochs, cfg.Sample.Batches = 6, 12
	dir := filepath.Join(t.TempDir(), "run")
	res, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newBlobs(4, 40, 16)})
	if err != nil {
		t.Fatal(err)
	}
	r1, err := res.LastEpoch().Metric("test_label_recall@1")
	if err != nil || r1 < 0.95 {
		t.Errorf("Recall@1 by the training label is %v, %v after training on four separate blobs", r1, err)
	}
	// The files say what the result says, by an independent way.
	tab, err := embedding.Load(filepath.Join(dir, "embeddings.npy"), filepath.Join(dir, "labels.csv"),
		[]string{"label"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := eval.RecallAt(t.Context(), tab.X, tab.Labels()[0], eval.Euclidean, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := res.LastEpoch().Metric("test_recall@1"); got[0] != want {
		t.Errorf("Recall@1 of the written embeddings is %v, of the result %v", got[0], want)
	}
	csv, err := os.ReadFile(filepath.Join(dir, record.MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(csv)), "\n")
	if len(lines) != 7 || !strings.Contains(lines[0], "test_recall@5") || !strings.Contains(lines[0], "test_map@r") {
		t.Errorf("metrics.csv:\n%s", csv)
	}
	// The resolved configuration is complete and gives the same run.
	text, err := os.ReadFile(filepath.Join(dir, record.ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(record.ConfigFile, text)
	if err != nil {
		t.Fatal(err)
	}
	if again.Network.Normalize != On || again.Data.Size != 16 || again.Mine["negatives"] != "facenet" {
		t.Errorf("not all values are resolved:\n%s", text)
	}
	dir2 := filepath.Join(t.TempDir(), "again")
	if _, err := Train(t.Context(), again, Options{Dir: dir2, Dataset: newBlobs(4, 40, 16)}); err != nil {
		t.Fatal(err)
	}
	sameFolders(t, dir, dir2)
	if _, err := Train(t.Context(), again, Options{Dir: dir2, Dataset: newBlobs(4, 40, 16)}); err == nil ||
		!strings.Contains(err.Error(), "run.Options.Resume") {
		t.Errorf("a second run into the same folder: %v", err)
	}
}

func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	var dirs []string
	for _, n := range []int{1, 2, 3} {
		old := runtime.GOMAXPROCS(n)
		dir := filepath.Join(t.TempDir(), "run")
		_, err := Train(t.Context(), smallConfig(t), Options{Dir: dir, Dataset: newBlobs(4, 20, 16)})
		runtime.GOMAXPROCS(old)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	sameFolders(t, dirs[0], dirs[1])
	sameFolders(t, dirs[0], dirs[2])
}

func TestAnotherSeedAnotherRun(t *testing.T) {
	cfg := smallConfig(t)
	a, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 20, 16)})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Train.Seed++
	b, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 20, 16)})
	if err != nil {
		t.Fatal(err)
	}
	if a.LastEpoch().Loss == b.LastEpoch().Loss {
		t.Error("two seeds give one loss")
	}
}

// TestKilledAndResumed kills a real process at several points and resumes it;
// the run folder must come out as that of a run left alone.
func TestKilledAndResumed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := func(dir string, resume bool, until string) *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childDir+"="+dir, childUntil+"="+until)
		if resume {
			cmd.Env = append(cmd.Env, childDir+"_RESUME=1")
		}
		return cmd
	}
	want := filepath.Join(t.TempDir(), "whole")
	if out, err := child(want, false, "").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := filepath.Join(t.TempDir(), "killed")
	for k, at := range []string{"step 1 4", "step 2 1", "step 2 6", "step 3 3"} {
		cmd := child(got, k > 0, at)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		reached := false
		for lines.Scan() {
			if lines.Text() == at {
				reached = true
				break
			}
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil && reached {
			t.Fatal(err)
		}
		err = cmd.Wait()
		if !reached {
			t.Fatalf("the process ended before %s: %v", at, err)
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("killed at %s, but: %v", at, err)
		}
	}
	if out, err := child(got, true, "").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sameFolders(t, want, got)
}

// TestInterruptedAndResumed stops a run by its context, as Ctrl-C does, within
// an epoch and at its last step.
func TestInterruptedAndResumed(t *testing.T) {
	want := filepath.Join(t.TempDir(), "whole")
	if _, err := Train(t.Context(), smallConfig(t), Options{Dir: want, Dataset: newBlobs(4, 20, 16)}); err != nil {
		t.Fatal(err)
	}
	got := filepath.Join(t.TempDir(), "stopped")
	for k, at := range [][2]int{{1, 2}, {1, 3}, {1, 6}, {2, 5}} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Train(ctx, smallConfig(t),
			Options{Dir: got, Resume: k > 0, Dataset: newBlobs(4, 20, 16), Observe: func(e train.Event) {
				if e.Stage == train.Stepped && e.Epoch == at[0] && e.Step == at[1] {
					cancel()
				}
			}})
		cancel()
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "run.Options.Resume") {
			t.Fatalf("interrupted at %v: %v", at, err)
		}
	}
	if _, err := Train(t.Context(), smallConfig(t),
		Options{Dir: got, Resume: true, Dataset: newBlobs(4, 20, 16)}); err != nil {
		t.Fatal(err)
	}
	sameFolders(t, want, got)
}

// TestResumeFinished resumes a run that is complete: nothing changes.
func TestResumeFinished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	for _, resume := range []bool{false, true} {
		if _, err := Train(t.Context(), smallConfig(t),
			Options{Dir: dir, Resume: resume, Dataset: newBlobs(4, 20, 16)}); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(t.TempDir(), "run")
	if _, err := Train(t.Context(), smallConfig(t), Options{Dir: other, Dataset: newBlobs(4, 20, 16)}); err != nil {
		t.Fatal(err)
	}
	sameFolders(t, other, dir)
}

func TestResumeRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Train(t.Context(), smallConfig(t), Options{Dir: dir, Dataset: newBlobs(4, 20, 16)}); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(checkpointPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	resume := func(d *data.Dataset, change func(*Config)) error {
		cfg := smallConfig(t)
		change(&cfg)
		_, err := Train(t.Context(), cfg, Options{Dir: dir, Resume: true, Dataset: d})
		return err
	}
	same := func(*Config) {}
	for name, c := range map[string]struct {
		file   []byte
		data   *data.Dataset
		change func(*Config)
		want   string
	}{
		"other data":    {good, newBlobs(4, 24, 16), same, "training samples"},
		"other network": {good, newBlobs(4, 20, 16), func(c *Config) { c.Network.Width = 9 }, "network"},
		"damaged": {append(good[:len(good)-9:len(good)-9], 1, 2, 3, 4, 5, 6, 7, 8, 9), newBlobs(4, 20, 16), same,
			"damaged"},
		"truncated": {good[:len(good)/2], newBlobs(4, 20, 16), same, checkpointPath(dir)},
		"empty":     {nil, newBlobs(4, 20, 16), same, checkpointPath(dir)},
	} {
		if err := os.WriteFile(checkpointPath(dir), c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := resume(c.data, c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not contain %q", name, err, c.want)
		}
	}
	if err := os.Remove(checkpointPath(dir)); err != nil {
		t.Fatal(err)
	}
	if err := resume(newBlobs(4, 20, 16), same); err == nil || !strings.Contains(err.Error(), "nothing to resume") {
		t.Errorf("without a checkpoint: %v", err)
	}
}

// TestDiverging drives a run to infinity: it stops, says where, and keeps the
// last checkpoint.
func TestDiverging(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cfg := smallConfig(t)
	cfg.Loss, cfg.Mine = Section{"name": "triplet"}, Section{}
	cfg.Network.Normalize, cfg.Train.Clip, cfg.Train.WeightDecay = Off, 0, 0
	cfg.Train.Optimizer, cfg.Train.LR, cfg.Train.Schedule, cfg.Train.Warmup = "sgd", 1e-3, "constant", 0
	cfg.Train.Epochs = 1
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newBlobs(4, 20, 16)}); err != nil {
		t.Fatal(err)
	}
	before, err := safetensors.Read(checkpointPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Train.Epochs, cfg.Train.LR = 4, 1e30
	_, err = Train(t.Context(), cfg, Options{Dir: dir, Resume: true, Dataset: newBlobs(4, 20, 16)})
	if err == nil {
		t.Fatal("a rate of 1e30 went through")
	}
	for _, want := range []string{"epoch 2, step ", "last good checkpoint"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not contain %q", err, want)
		}
	}
	after, err := safetensors.Read(checkpointPath(dir)) // which knows the new settings, and nothing else
	if err != nil {
		t.Fatal(err)
	}
	if before.Meta["crc32c"] != after.Meta["crc32c"] || before.Meta["optimizer"] != after.Meta["optimizer"] ||
		!strings.Contains(after.Meta["state"], `"epoch":1,"step":0,`) {
		t.Error("the checkpoint has changed")
	}
}

// TestFullDiskMidRun makes the run folder's device refuse more bytes: the run
// stops with the reason, and continues to the same bits once there is room.
func TestFullDiskMidRun(t *testing.T) {
	want := filepath.Join(t.TempDir(), "whole")
	if _, err := Train(t.Context(), smallConfig(t), Options{Dir: want, Dataset: newBlobs(4, 20, 16)}); err != nil {
		t.Fatal(err)
	}
	got := filepath.Join(t.TempDir(), "full")
	// A folder in the place of the file to write fails as the rename would.
	obstacle := filepath.Join(got, record.MetricsFile)
	_, err := Train(t.Context(), smallConfig(t), Options{Dir: got, Dataset: newBlobs(4, 20, 16),
		Observe: func(e train.Event) {
			if e.Stage == train.EpochEnd && e.Row.Epoch == 1 {
				err := errors.Join(os.Remove(obstacle), os.MkdirAll(filepath.Join(obstacle, "x"), 0o755))
				if err != nil {
					t.Error(err)
				}
			}
		}})
	if err == nil || !strings.Contains(err.Error(), record.MetricsFile) {
		t.Fatalf("a file that cannot be written: %v", err)
	}
	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	if _, err := Train(t.Context(), smallConfig(t),
		Options{Dir: got, Resume: true, Dataset: newBlobs(4, 20, 16)}); err != nil {
		t.Fatal(err)
	}
	sameFolders(t, want, got)
}

// TestSnapshots keeps the embeddings of every evaluation; the last are those of
// the run's end.
func TestSnapshots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cfg := smallConfig(t)
	cfg.Eval.Keep, cfg.Eval.Every, cfg.Eval.Train = true, 2, 10
	cfg.Eval.Metrics = []string{"fine:nmi", "label:nmi+2"}
	res, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newBlobs(4, 20, 16)})
	if err != nil {
		t.Fatal(err)
	}
	files := readFolder(t, dir)
	for _, e := range []string{"0000", "0002", "0003"} {
		for _, set := range []string{"test", "train"} {
			if files["snapshots/"+e+"_"+set+"_embeddings.npy"] == "" ||
				files["snapshots/"+e+"_"+set+"_labels.csv"] == "" {
				t.Errorf("no snapshot of the %s samples after epoch %s", set, e)
			}
		}
	}
	if files["snapshots/0003_test_embeddings.npy"] != files["embeddings.npy"] {
		t.Error("the last snapshot is not what the run ended with")
	}
	if files["snapshots/0003_train_embeddings.npy"] != files["train_embeddings.npy"] {
		t.Error("the last snapshot of the training samples is not what the run ended with")
	}
	if files["snapshots/0000_test_embeddings.npy"] == files["embeddings.npy"] {
		t.Error("training changed nothing")
	}
	for key, want := range map[string]bool{"test_nmi": true, "test_label_nmi+2": true, "test_label_nmi": false,
		"test_nmi+2": false} {
		if _, err := res.LastEpoch().Metric(key); (err == nil) != want {
			t.Errorf("metric %s: %v", key, err)
		}
	}
}

func TestFeatures(t *testing.T) {
	cfg := Default()
	cfg.Network.Dim, cfg.Network.Width = 8, 16
	cfg.Train.Epochs = 4
	for _, name := range []string{"linear", "mlp", ""} {
		cfg.Network.Name = name
		res, err := Train(t.Context(), cfg, Options{Dataset: newFeatures(6, 40, 20)})
		if err != nil {
			t.Fatal(err)
		}
		if r1, _ := res.LastEpoch().Metric("test_recall@1"); r1 < 0.95 {
			t.Errorf("network %q: Recall@1 %v on six separate clusters", name, r1)
		}
	}
}

func TestRunErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		data   *data.Dataset
		want   string
	}{
		"no data": {func(*Config) {}, nil, "give data.path"},
		"impossible pool": {func(c *Config) { c.Network.Name = "conv4"; c.Data.Size = 8 }, newBlobs(4, 8, 8),
			"network conv4"},
		"unknown network":  {func(c *Config) { c.Network.Name = "conv5" }, newBlobs(4, 8, 16), "conv5"},
		"too many classes": {func(c *Config) { c.Sample.Classes = 9 }, newBlobs(4, 8, 16), "9 classes"},
		"one class": {func(c *Config) { c.Data.TrainClasses = "0"; c.Data.TestClasses = "1,2" },
			newBlobs(4, 8, 16), "only one label"},
		"unknown label":     {func(c *Config) { c.Data.Label = "colour" }, newBlobs(4, 8, 16), "colour"},
		"bad value":         {func(c *Config) { c.Train.LR = math.NaN() }, newBlobs(4, 8, 16), "train.lr"},
		"unknown loss":      {func(c *Config) { c.Loss = Section{"name": "x"} }, newBlobs(4, 8, 16), "loss"},
		"one class a batch": {func(c *Config) { c.Sample.Classes = 1 }, newBlobs(4, 8, 16), "sample.classes"},
		"one of a class":    {func(c *Config) { c.Sample.PerClass = 1 }, newBlobs(4, 8, 16), "sample.per_class"},
		"views": {func(c *Config) { c.Loss = Section{"name": "spread"} }, newBlobs(4, 8, 16),
			"sample.views=2"},
		"one picture each": {func(c *Config) { c.Data.TrainLimit = 1 }, newBlobs(6, 8, 16), "only one picture"},
		"group fits none": {func(c *Config) { c.Train.Groups = []Group{{Prefix: "nowhere", Scale: 1}} },
			newBlobs(4, 8, 16), "nowhere"},
	} {
		cfg := Default()
		c.change(&cfg)
		dir := filepath.Join(t.TempDir(), "run")
		_, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: c.data})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not contain %q", name, err, c.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the run folder was made before the mistake was found", name)
		}
	}
}

func TestUnreadableImages(t *testing.T) {
	d := newBlobs(4, 20, 16)
	d.Source.(*blobs).bad = 3
	cfg := smallConfig(t)
	res, err := Train(t.Context(), cfg, Options{Dataset: d})
	if err != nil || len(res.LeftOut) != 1 || res.LeftOut[0].Count != 1 {
		t.Errorf("an unreadable training image: %v, %+v", err, res)
	}
	cfg.Data.Strict = true
	if _, err = Train(t.Context(), cfg, Options{Dataset: d}); err == nil ||
		!strings.Contains(err.Error(), "data.strict ends the run here") {
		t.Errorf("with data.strict: %v", err)
	}
}

// Classes of few images give what they have, and every one of them but the
// lonely finds positives other than itself. Repeated images once filled the
// quota, were positives at distance 0, and no tuple was ever active.
func TestSmallClasses(t *testing.T) {
	for perClass := 2; perClass <= 5; perClass++ {
		for _, positives := range []string{"easy", "random"} {
			cfg := Default()
			cfg.Train.Epochs, cfg.Network.Width = 1, 8
			cfg.Mine["positives"] = positives
			res, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(9, 2*perClass, 16)})
			if err != nil {
				t.Fatal(err)
			}
			if row := res.LastEpoch(); row.Active*10 < row.Tuples || row.NoPositive > 0 ||
				row.Tuples != row.Steps*min(9*perClass, 128) {
				t.Errorf("%d images a class, %s positives: %+v", perClass, positives, row.Totals)
			}
		}
	}
}

// A picture listed twice is one picture: with nothing else in its class no
// sample has a positive.
func TestPictureListedTwice(t *testing.T) {
	d := newBlobs(4, 8, 16)
	for c := range 4 {
		for k := range 4 {
			d.Names[8*c+k] = d.Names[8*c]
		}
	}
	if _, err := Train(t.Context(), Default(), Options{Dataset: d}); err == nil ||
		!strings.Contains(err.Error(), "only one picture") {
		t.Errorf("classes of one picture, listed four times: %v", err)
	}
	d.Names[1] = "another" // class 0 has two
	cfg := Default()
	cfg.Train.Epochs, cfg.Network.Width, cfg.Loss["name"] = 1, 8, "triplet"
	res, err := Train(t.Context(), cfg, Options{Dataset: d})
	if err != nil {
		t.Fatal(err)
	}
	if row := res.LastEpoch(); row.NoPositive != row.Steps*12 || row.Anchors != row.Steps*4 {
		t.Errorf("with one class of two pictures: %+v", row.Totals)
	}
}

// A checkpoint that does not say what it was trained with is refused: it may be of other
// settings than the folder's.
func TestCheckpointWithoutSettingsIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cfg := smallConfig(t)
	cfg.Train.Epochs = 1
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newBlobs(4, 20, 16)}); err != nil {
		t.Fatal(err)
	}
	f := &Folder{record.Dir{Path: dir}}
	c, err := f.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	c.Settings = ""
	if err := f.dir.Write(filepath.Join(record.CheckpointDir, record.CheckpointFile), c.Write); err != nil {
		t.Fatal(err)
	}
	_, err = Train(t.Context(), cfg, Options{Dir: dir, Resume: true, Dataset: newBlobs(4, 20, 16)})
	if err == nil || !strings.Contains(err.Error(), "start the run again") {
		t.Errorf("resumed with %v", err)
	}
}

// Plan finds what Train would refuse, and writes nothing.
func TestPlan(t *testing.T) {
	for _, override := range []string{"network.name=vit_tiny_patch16", "sample.classes=100", "data.label=none"} {
		cfg, err := Parse("", nil, "data.path=blobs", override)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "run")
		opts := Options{Dataset: newBlobs(6, 10, 20), Dir: dir}
		_, planned := Plan(t.Context(), cfg, opts)
		_, trained := Train(t.Context(), cfg, opts)
		if planned == nil || trained == nil || planned.Error() != trained.Error() {
			t.Errorf("%s: planned: %v; trained: %v", override, planned, trained)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the folder is there", override)
		}
	}
}
