package shards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/sweep"
	"github.com/kindred-ml/kindred/run"
)

// specTask is a task of which nothing but the spec is there.
type specTask struct{ job jobs.Job }

func (g specTask) Job() jobs.Job                                             { return g.job }
func (g specTask) Report(string)                                             {}
func (g specTask) Save(context.Context, func(io.Writer) error) error         { return nil }
func (g specTask) Restore(context.Context) (io.ReadCloser, error)            { return nil, nil }
func (g specTask) Open(context.Context, string) (r io.ReadCloser, err error) { return nil, errOpened }

// errOpened: the job got as far as its network.
var errOpened = errors.New("opened")

const refusedText = "--allow"

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestJobsReadNothing: no job of another process has a file of the worker's read, a
// folder listed, or an address asked.
func TestJobsReadNothing(t *testing.T) {
	asked := 0
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer web.Close()
	dir := t.TempDir()
	key := filepath.Join(dir, "key.safetensors")
	writeFile(t, key, "-----BEGIN OPENSSH PRIVATE KEY-----")
	writeFile(t, filepath.Join(dir, "secret-name", "x.png"), "no picture")
	t.Chdir(dir)
	k := &WorkerKit{Home: t.TempDir(), Dir: t.TempDir(), Open: data.Open,
		Weights: func(context.Context, string) (run.Start, error) { return run.Start{}, errOpened }}
	var specs []jobs.Job
	add := func(kind string, spec any) {
		j, err := jobs.New(kind, spec)
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, j)
	}
	for _, what := range []string{dir, dir + "/", "secret-name", "./secret-name", "key.npy", web.URL + "/x.zip",
		"s3://bucket/x", k.Home + "/../" + filepath.Base(dir), "..", ".", `a\..`} {
		if what == "key.npy" {
			writeFile(t, what, "no features")
		}
		add(embedKind, embedSpec{embedSet: embedSet{Source: Source{Data: what}}})
		add(sweepKind, sweep.Job{Config: fmt.Sprintf("data: {path: %q}\n", what), Until: 1})
	}
	add(embedKind, embedSpec{embedSet: embedSet{Source: Source{Data: "mnist", Outside: true}}})
	for _, line := range []string{"network: {pretrained: %q}", "data: {path: features.npy, labels: %q}",
		"data: {name: mnist, outside: true}\nnetwork: {pretrained: %q}", "data: {name: %q}"} {
		add(sweepKind, sweep.Job{Config: fmt.Sprintf(line, key), Until: 1})
	}
	for _, set := range []string{"network.pretrained=" + key, "data.path=" + dir, "data.path=" + web.URL} {
		add(paperKind, paper.Job{Experiment: "omniglot", Arm: "MS", Set: []string{set}})
	}
	for _, j := range specs {
		_, err := k.Kinds().Do(t.Context(), specTask{j})
		text := fmt.Sprint(err)
		if !strings.Contains(text, refusedText) && !strings.Contains(text, "--outside") {
			t.Errorf("%s: %v", j.Spec, err)
		}
		if strings.Contains(text, "BEGIN") || strings.Contains(text, "x.png") {
			t.Errorf("%s tells what is there: %v", j.Spec, err)
		}
	}
	if asked > 0 {
		t.Errorf("%d requests were sent", asked)
	}
	// What this process submits itself may name anything.
	k.RegisterOwn(specs[:1])
	if _, err := k.Kinds().Do(t.Context(), specTask{specs[0]}); !errors.Is(err, errOpened) {
		t.Errorf("a job of its own: %v", err)
	}
}

// TestAllowed: what is named, and what is below it, may be read, and nothing beside it.
func TestAllowed(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(dir, "in")
	writeFile(t, filepath.Join(in, "photos", "a.png"), "")
	writeFile(t, filepath.Join(dir, "inner", "a.png"), "")
	writeFile(t, filepath.Join(dir, "out", "deep", "a.png"), "")
	writeFile(t, filepath.Join(dir, "out", "x"), "")
	linked := os.Symlink(filepath.Join(dir, "out", "deep"), filepath.Join(in, "link")) == nil
	a, err := NewAllowed([]string{in, "s3://bucket/photos", "https://host/a/"}, false)
	if err != nil {
		t.Fatal(err)
	}
	roots, err := a.openRoots("")
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	for what, want := range map[string]bool{
		in: true, in + "/photos": true, in + "/photos/a.png": true, in + "/": true, in + "/nothing": true,
		in + "/photos/..": true, in + "/../inner": false, in + "/..": false, dir: false, dir + "/inner": false,
		in + "/link": !linked, in + "/link/../../out": false, in + "/link/../x": !linked, "in": false, "": false,
		"s3://bucket/photos": true, "s3://bucket/photos/x": true, "s3://bucket/photosx": false, "s3://bucket": false,
		"s3://other/photos": false, "https://host/a": true, "https://host/a/b.zip": true, "https://host/": false,
		"http://host/a": false, "https://host:444/a": false, "https://me@host/a": false, "https://host/a/../b": false,
		"https://host/a/%2e%2e/b": false, "https://host/a?x=1": false, "https://host.evil/a": false,
	} {
		if have := a.contains(roots, what); have != want {
			t.Errorf("%s: %v", what, have)
		}
	}
	for _, root := range []string{filepath.Join(dir, "nothing"), "s3://", "https://me:word@host/"} {
		if _, err := NewAllowed([]string{root}, false); err == nil {
			t.Errorf("%s is a root", root)
		}
	}
}

// TestLinkedOut: of a folder that is allowed no job of another process reads what is behind a
// link that leads out, and a job of this one does.
func TestLinkedOut(t *testing.T) {
	out, in := t.TempDir(), t.TempDir()
	for _, name := range []string{"a/1.png", "b/2.png"} {
		writeFile(t, filepath.Join(in, name), "no picture")
	}
	writeFile(t, filepath.Join(out, "3.png"), "no picture")
	writeFile(t, filepath.Join(out, "w.onnx"), "no network")
	for name, to := range map[string]string{"c": out, "w.onnx": filepath.Join(out, "w.onnx")} {
		if err := os.Symlink(to, filepath.Join(in, name)); err != nil {
			t.Skip(err)
		}
	}
	allow, err := NewAllowed([]string{in}, false)
	if err != nil {
		t.Fatal(err)
	}
	k := &WorkerKit{Home: t.TempDir(), Dir: t.TempDir(), Open: data.Open, Allow: allow}
	for _, config := range []string{"data: {path: %q}\n", "data: {path: mnist}\nnetwork: {pretrained: %q}\n"} {
		what := in
		if strings.Contains(config, "pretrained") {
			what = filepath.Join(in, "w.onnx")
		}
		j, err := jobs.New(sweepKind, sweep.Job{Config: fmt.Sprintf(config, what), Until: 1})
		if err != nil {
			t.Fatal(err)
		}
		result, err := k.Kinds().Do(t.Context(), specTask{j})
		if text := fmt.Sprint(string(result), err); !strings.Contains(text, refusedText) {
			t.Errorf("%s: %s", j.Spec, text)
		}
		k.RegisterOwn([]jobs.Job{j})
		result, err = k.Kinds().Do(t.Context(), specTask{j})
		if text := fmt.Sprint(string(result), err); strings.Contains(text, refusedText) {
			t.Errorf("%s, of its own: %s", j.Spec, text)
		}
	}
	if left, err := os.ReadDir(k.Dir); err != nil || len(left) > 0 {
		t.Errorf("left %v: %v", left, err)
	}
}
