//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/jobs/natsserver"
	"github.com/kindred-ml/kindred/internal/test/queuetest"
	"github.com/kindred-ml/kindred/store"
)

// trainNetwork is a run of a second on the pictures of photos, in the folder "run".
func trainNetwork(t *testing.T, photos string) {
	t.Helper()
	runProgram(t, "train --data "+photos+" --out run --set train.epochs=1 --set network.name=mlp --set "+
		"network.width=8 --set data.split=images:0.3")
}

func checkSame(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	y, err2 := os.ReadFile(b)
	if err != nil || err2 != nil || !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ: %d and %d bytes, %v, %v", a, b, len(x), len(y), err, err2)
	}
}

// TestEmbedShared: a queue in a folder and the process's own worker come to the file
// that embed writes alone, unreadable pictures and all.
func TestEmbedShared(t *testing.T) {
	dir := writePhotos(t)
	t.Chdir(t.TempDir())
	trainNetwork(t, dir)
	writeBytes(t, filepath.Join(dir, "c1", "9.png"), []byte("no picture"))
	_, alone := runProgram(t, "embed --run run --data "+dir+" --out A.npy")
	_, told := runProgram(t, "embed --run run --data "+dir+" --out B.npy --queue queue --shard 1")
	checkSame(t, "A.npy", "B.npy")
	checkSame(t, "A.labels.csv", "B.labels.csv")
	left := regexp.MustCompile(`(?m)^left out .*$`)
	if a, b := left.FindString(alone), left.FindString(told); a == "" || a != b {
		t.Errorf("%q and %q", a, b)
	}
	if out, _ := runProgram(t, "jobs --queue queue --json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("what was taken is still there: %s", out)
	}
	code, _, errOut := runArgs(t, "embed", "--run", "run", "--data", dir, "--out", "C.npy", "--queue", "queue",
		"--strict")
	if code != exitFailure || !strings.Contains(errOut, "failed 3 times") || !strings.Contains(errOut, "9.png") {
		t.Errorf("status %d: %s", code, errOut)
	}
	out, _ := runProgram(t, "jobs --queue queue")
	if !strings.Contains(out, "failed") || !strings.Contains(out, "9.png") {
		t.Fatal(out)
	}
	key := strings.Fields(strings.Split(out, "\n")[1])[0]
	runProgram(t, "jobs retry "+key+" --queue queue")
	runProgram(t, "jobs cancel "+key+" --queue queue")
	runProgram(t, "jobs remove "+key+" --queue queue")
	if code, _, errOut := runArgs(t, "jobs", "retry", key, "--queue", "queue"); code != exitFailure ||
		!strings.Contains(errOut, "no job") {
		t.Errorf("status %d: %s", code, errOut)
	}
}

// TestNetworkShared: workers embed with a network that was not trained here too, and an index whose photos
// they embed has the items of one that a process makes alone: EXIF columns, digests, and photos that
// cannot be read included.
func TestNetworkShared(t *testing.T) {
	dir := t.TempDir()
	for i := range 24 {
		writeBytes(t, filepath.Join(dir, fmt.Sprint("c", i%3), fmt.Sprint(i, ".jpg")),
			newCameraPhoto(t, uint64(i), "Acme",
				fmt.Sprintf("2024:04:%02d 12:30:00", i+1)))
	}
	writeBytes(t, filepath.Join(dir, "c1", "9.png"), []byte("no picture"))
	makeFolderOld(t, dir)
	t.Chdir(t.TempDir())
	trainNetwork(t, dir)
	runProgram(t, "export run --out m.onnx")
	for _, name := range []string{"model.json", "model.safetensors"} {
		b, err := os.ReadFile(filepath.Join("run", name))
		if err != nil {
			t.Fatal(err)
		}
		writeBytes(t, filepath.Join("net", name), b)
	}
	for i, of := range []string{"--network m.onnx", "--network net --pixels unit --fit cover", "--run run"} {
		a, b := fmt.Sprint("A", i), fmt.Sprint("B", i)
		runProgram(t, "embed "+of+" --data "+dir+" --out "+a+".parquet")
		runProgram(t, "embed "+of+" --data "+dir+" --out "+b+".parquet --queue queue --shard 1")
		checkSame(t, a+".parquet", b+".parquet")
		_, alone := runProgram(t, "index create "+of+" --data "+dir+" --out "+a)
		_, told := runProgram(t, "index create "+of+" --data "+dir+" --out "+b+" --queue queue --shard 1")
		checkSameIndex(t, a, b)
		if left := "left out 1"; !strings.Contains(alone, left) || !strings.Contains(told, left) ||
			!strings.Contains(told, "embed: ") {
			t.Errorf("%s\n%s", alone, told)
		}
	}
	it := readItems(t, "B0")["c0/0.jpg"]
	if it.Columns["camera"] != "Acme" || it.Columns["file.digest"] == nil {
		t.Errorf("%v", it.Columns)
	}
	if out, _ := runProgram(t, "jobs --queue queue --json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("what was taken is still there: %s", out)
	}
	code, _, errOut := runArgs(t, "index", "create", "run", dir, "--out", "C", "--queue", "queue", "--strict")
	if _, err := os.Stat("C"); code != exitFailure || !strings.Contains(errOut, "failed 3 times") || err == nil {
		t.Errorf("status %d: %s, %v", code, errOut, err)
	}
}

// TestIndexAddShared: an index to which photos are added by workers gets those that it lacks, in the
// place where they are among the others.
func TestIndexAddShared(t *testing.T) {
	dir := writePhotos(t)
	makeFolderOld(t, dir)
	t.Chdir(t.TempDir())
	trainNetwork(t, dir)
	later := filepath.Join(dir, "c1")
	if err := os.Rename(later, "later"); err != nil {
		t.Fatal(err)
	}
	for _, ix := range []string{"A", "B"} {
		runProgram(t, "index create run "+dir+" --out "+ix)
	}
	if err := os.Rename("later", later); err != nil {
		t.Fatal(err)
	}
	alone, _ := runProgram(t, "index add A --data "+dir+" --json")
	told, said := runProgram(t, "index add B --data "+dir+" --queue queue --json")
	if want := strings.Replace(told, `"B"`, `"A"`, 1); alone != want || !strings.Contains(said, "6 to 11: done") {
		t.Errorf("%s\n%s\n%s", alone, told, said)
	}
	checkSameIndex(t, "A", "B")
}

// makeFolderOld makes the files of a folder old: an index does not record the times of files that were just written.
func makeFolderOld(t *testing.T, dir string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			err = os.Chtimes(path, then, then)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkSameIndex compares the networks and the items of two indexes, which have names of their own at random.
func checkSameIndex(t *testing.T, a, b string) {
	t.Helper()
	for _, name := range []string{"model.json", "model.safetensors", "config.yaml"} {
		checkSame(t, filepath.Join(a, "network", name), filepath.Join(b, "network", name))
	}
	var x [2][]store.Item
	for i, dir := range []string{a, b} {
		ix, err := index.Open(dir, index.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer ix.Close()
		for it, err := range ix.All() {
			if err != nil {
				t.Fatal(err)
			}
			x[i] = append(x[i], it)
		}
	}
	if len(x[0]) == 0 || !reflect.DeepEqual(x[0], x[1]) {
		t.Errorf("%s and %s differ: %d and %d items", a, b, len(x[0]), len(x[1]))
	}
}

// TestEvalShared: shards of a ranking come to the report of one process.
func TestEvalShared(t *testing.T) {
	dir := writePhotos(t)
	t.Chdir(t.TempDir())
	trainNetwork(t, dir)
	runProgram(t, "embed --run run --data "+dir+" --out E.npy")
	how := "eval --embeddings E.npy --metrics recall@1,recall@4,map@r,map,nmi --bootstrap 50 --worst 3 --json"
	alone, _ := runProgram(t, how)
	told, said := runProgram(t, how+" --queue queue --shard 5")
	if alone != told || !strings.Contains(said, "eval: queries 5 to 9: done") {
		t.Errorf("%s\n%s\n%s", alone, told, said)
	}
	if out, _ := runProgram(t, "jobs --queue queue --json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("what was taken is still there: %s", out)
	}
}

// TestRemote: training and embedding by way of a web server come to the files that
// the folder gives.
func TestRemote(t *testing.T) {
	dir := writePhotos(t)
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	list := ""
	for i := range 18 {
		list += fmt.Sprintf("c%d/%d.png\n", i/6, i%6)
	}
	writeBytes(t, filepath.Join(dir, "list.txt"), []byte(list))
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	how := " --set train.epochs=1 --set network.name=mlp --set network.width=8 --set data.split=images:0.3"
	runProgram(t, "train --data "+dir+" --out here"+how+" --set data.cache=true")
	runProgram(t, "train --data "+s.URL+"/list.txt --out there"+how)
	checkSame(t, "here/model.safetensors", "there/model.safetensors")
	runProgram(t, "embed --run here --data "+dir+" --out A.npy")
	runProgram(t, "embed --run there --data "+s.URL+"/list.txt --out B.npy")
	runProgram(t, "embed --run there --data "+s.URL+"/list.txt --out C.npy --queue queue --shard 1")
	for _, name := range []string{"B", "C"} {
		checkSame(t, "A.npy", name+".npy")
		for _, column := range []string{"path", "label"} { // photos elsewhere have no digest
			a, b := readColumn(t, "A.labels.csv", column), readColumn(t, name+".labels.csv", column)
			if len(a) != 18 || !slices.Equal(a, b) {
				t.Errorf("%s of %s: %q, want %q", column, name, b, a)
			}
		}
	}
}

func TestQueueUsage(t *testing.T) {
	for _, line := range []string{"worker", "jobs", "jobs cancel --queue q", "worker --queue q --launch slurm",
		"worker --queue nats://a --launch lsf", "worker --queue nats://a --launch kubernetes",
		"embed --network x --data y --out z.npy --queue q --keep", "embed x - --out z.npy --queue q",
		"embed x y --out z.npy --queue q --shard 0", "index create x y --out z --queue q --shard 0"} {
		code, _, errOut := runArgs(t, strings.Fields(line)...)
		if code != exitUsage {
			t.Errorf("%s: status %d: %s", line, code, errOut)
		}
	}
	out, _ := runProgram(t, "worker --queue nats://a:4222 --launch slurm --allow /a --allow s3://b/c --outside "+
		"--queue-secret /s")
	if !strings.Contains(out, "--queue-secret /s --allow /a --allow s3://b/c --outside --idle") {
		t.Error(out)
	}
	out, _ = runProgram(t, "worker --queue nats://a:4222 --launch slurm --count 3")
	if !strings.Contains(out, "exec kindred worker --queue nats://a:4222 --idle 10m0s") {
		t.Error(out)
	}
}

// TestWorkerAllows: a worker of its own reads for the jobs of others what --allow names,
// and does only signed ones if it has a secret; flags and environment say which.
func TestWorkerAllows(t *testing.T) {
	dir := writePhotos(t)
	t.Chdir(t.TempDir())
	trainNetwork(t, dir)
	s, err := natsserver.Serve("queue")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	writeBytes(t, "secret", []byte(strings.Repeat("s", 32)))
	writeBytes(t, "short", []byte("s"))
	linked := t.TempDir() // a set with a picture behind a link
	for _, class := range []string{"c1", "c2"} {
		if err := os.CopyFS(filepath.Join(linked, class), os.DirFS(filepath.Join(dir, class))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(linked, "c3")); err != nil {
		t.Skip(err)
	}
	embed := "embed --run run --data " + dir + " --out A.npy --force --workers 0 --queue " + s.URL()
	for _, tc := range []struct{ leader, worker, want string }{
		{"", "", "--allow"},
		{"", "--allow " + filepath.Join(dir, "c1"), "--allow"},
		{"", "--allow " + filepath.Dir(dir), ""},
		{"--data " + linked, "--allow " + linked, linked + "/c3: a link leads out"},
		{"--data " + linked, "--allow " + linked + " --allow " + dir, ""},
		{"", "--queue-secret secret --allow " + dir, "it is not signed"},
		{"--queue-secret secret", "--queue-secret secret --allow " + dir, ""},
	} {
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var said safeBuffer
		wg.Go(func() {
			execute(ctx, strings.Fields("worker --queue "+s.URL()+" "+tc.worker), io.Discard, &said)
		})
		code, _, errOut := runArgs(t, strings.Fields(embed+" "+tc.leader)...)
		// The leader may hear of a refusal before the worker has said it.
		for end := time.Now().Add(30 * time.Second); !strings.Contains(said.String(), tc.want) &&
			time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		stop()
		wg.Wait()
		if (code == exitOK) != (tc.want == "") || !strings.Contains(errOut, tc.want) ||
			!strings.Contains(said.String(), tc.want) {
			t.Errorf("%q, %q: status %d: %s\nthe worker: %s", tc.leader, tc.worker, code, errOut, said.String())
		}
		if strings.Contains(errOut, "warning") {
			t.Errorf("a warning of this machine's own queue: %s", errOut)
		}
		if out, _ := runProgram(t, "jobs --json --queue "+s.URL()); tc.want != "" {
			key := regexp.MustCompile(`"key": "([0-9a-f]+)"`).FindStringSubmatch(out)
			runProgram(t, "jobs remove "+key[1]+" --queue "+s.URL())
		}
	}
	t.Setenv(queues.SecretEnv, "short")
	code, _, errOut := runArgs(t, strings.Fields(embed)...)
	if code == exitOK || !strings.Contains(errOut, "is not a secret") {
		t.Errorf("status %d: %s", code, errOut)
	}
}

// TestExposedQueue: servers beyond this machine that ask nobody who they are get a
// warning.
func TestExposedQueue(t *testing.T) {
	// A name that no server has: the warning comes before the connection.
	_, _, errOut := runArgs(t, "jobs", "--queue", "nats://kindred.invalid:4222")
	if !strings.Contains(errOut, "warning: nats://kindred.invalid:4222 does not authenticate clients") {
		t.Error(errOut)
	}
	_, _, errOut = runArgs(t, "jobs", "--queue", "nats://me:word@kindred.invalid:4222")
	if strings.Contains(errOut, "warning") || strings.Contains(errOut, "word@") {
		t.Error(errOut)
	}
}

// childProcesses are processes of the program that are killed and begun again.
type childProcesses struct {
	t       *testing.T
	lines   []string
	running []*exec.Cmd
	ended   []chan error
}

func (c *childProcesses) start(i int) {
	c.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childArgs+"="+c.lines[i])
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.running[i], c.ended[i] = cmd, make(chan error, 1)
	go func(ended chan error) {
		err := cmd.Wait()
		if err != nil && cmd.ProcessState.ExitCode() > 0 {
			err = fmt.Errorf("%w: %s", err, said.String())
		}
		ended <- err
	}(c.ended[i])
}

func (c *childProcesses) kill(i int) {
	c.running[i].Process.Kill()
	<-c.ended[i]
}

// TestSharedKilled: three servers, four workers, and two leaders that embed pictures
// and try the settings of a sweep. All but the servers are killed at random; the
// files are those of one process alone.
//
// Long: it is one story.
func TestSharedKilled(t *testing.T) {
	kills, pictures := 6, 600
	if os.Getenv("KINDRED_LONG") != "" {
		kills, pictures = 20, 20_000
	} else if testing.Short() {
		t.Skip("kills processes for a minute")
	}
	url := queuetest.Cluster(t).URL
	dir := writePhotos(t)
	t.Chdir(t.TempDir())
	trainNetwork(t, dir)
	many := t.TempDir()
	rng := rand.New(rand.NewPCG(2, 2))
	for i := range pictures {
		im := image.NewGray(image.Rect(0, 0, 8, 8))
		for k := range im.Pix {
			im.Pix[k] = uint8(rng.Uint32())
		}
		var b bytes.Buffer
		if err := png.Encode(&b, im); err != nil {
			t.Fatal(err)
		}
		writeBytes(t, filepath.Join(many, fmt.Sprintf("c%d", i%7), fmt.Sprintf("%d.png", i)), b.Bytes())
	}
	plan := fmt.Sprintf("set:\n  data: {path: %q, split: \"images:0.3\"}\n  network: {name: mlp, width: 8}\n"+
		"  sample: {classes: 3, per_class: 3, batches: 8}\n  train: {epochs: 6}\n  eval.recall: [1]\n"+
		"ranges:\n  train.lr: {low: 0.0003, high: 0.03, log: true}\n"+
		"trials: 12\nfolds: images:2\nseeds: 1\nsearch: random\nstop: never\nat_once: 8\n", dir)
	writeBytes(t, "plan.yaml", []byte(plan))
	begun := time.Now()
	runProgram(t, "embed --run run --data "+many+" --out A.npy")
	runProgram(t, "sweep plan.yaml --out A --jobs 4")
	alone := time.Since(begun)

	worker := "worker --queue " + url + " --lease 2s --allow " + dir + " --allow " + many
	c := &childProcesses{t: t, lines: []string{worker, worker, worker, worker,
		"embed --run run --data " + many + " --out B.npy --queue " + url + " --shard 1",
		"sweep plan.yaml --out B --jobs 8 --queue " + url}}
	c.running, c.ended = make([]*exec.Cmd, len(c.lines)), make([]chan error, len(c.lines))
	begun = time.Now()
	for i := range c.lines {
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range c.running[:4] {
			c.kill(i)
		}
	})
	finished := map[int]bool{}
	killed := 0
	for len(finished) < 2 {
		wait := time.Duration(100+rng.IntN(500)) * time.Millisecond
		select {
		case err := <-c.ended[4]:
			if finished[4], c.ended[4] = true, nil; err != nil {
				t.Fatal("embed: ", err)
			}
		case err := <-c.ended[5]:
			if finished[5], c.ended[5] = true, nil; err != nil {
				t.Fatal("sweep: ", err)
			}
		case <-time.After(wait):
			if time.Since(begun) > 5*time.Minute {
				t.Fatalf("the commands do not come to an end; finished: %v", finished)
			}
			i := rng.IntN(len(c.lines))
			if finished[i] || killed == kills {
				continue
			}
			killed++
			c.kill(i)
			c.start(i)
		}
	}
	t.Logf("%d kills; alone in %v, with the kills in %v", killed, alone.Round(time.Millisecond),
		time.Since(begun).Round(time.Millisecond))
	checkSame(t, "A.npy", "B.npy")
	checkSame(t, "A.labels.csv", "B.labels.csv")
	seconds := regexp.MustCompile(`"[a-z_]*(seconds|took_ns|dir)": [^,\n]*`)
	a, err := os.ReadFile("A/sweep.json")
	b, err2 := os.ReadFile("B/sweep.json")
	if a, b = seconds.ReplaceAll(a, nil), seconds.ReplaceAll(b, nil); err != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("the sweeps differ: %v, %v\n%s\n%s", err, err2, a, b)
	}
	out, _ := runProgram(t, "jobs --json --queue "+url)
	if strings.Contains(out, `"state": "failed"`) || strings.Contains(out, `"state": "queued"`) {
		t.Errorf("left: %s", out)
	}
}
