package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/jobs/natsserver"
)

// half makes a queue in a folder in which the first jobs of a list are done, the others wait,
// and no server runs.
func half(t *testing.T, all []jobs.Job, done int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "queue")
	s, err := natsserver.Serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	q := connect(t, Options{URL: s.URL()})
	stop := work(t, &Worker{Queue: q, Kinds: kinds()})
	if _, err := q.Run(t.Context(), all[:done]); err != nil {
		t.Fatal(err)
	}
	stop()
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() { _, err := q.Run(ctx, all); waiting <- err }()
	for n := 0; n < len(all)-done; sleep(t.Context(), 10*time.Millisecond) {
		info, err := q.todo.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n = int(info.State.Msgs)
	}
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	q.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// resume serves a folder and has all jobs done that are not. It returns how many were begun,
// what the server left out, and whether the results are those wanted.
func resume(t *testing.T, dir string, all []jobs.Job, want string) (begun int, mended []string, err error) {
	t.Helper()
	s, err := natsserver.Serve(dir)
	if err != nil {
		return 0, nil, err
	}
	defer s.Close()
	ctx, stop := context.WithTimeout(t.Context(), 15*time.Second)
	defer stop()
	q, err := Connect(ctx, Options{URL: s.URL(), Lease: lease})
	if err != nil {
		return 0, s.Repaired, err
	}
	defer q.Close()
	var n atomic.Int64
	count := jobs.Kinds{"chain": func(ctx context.Context, t jobs.Task) ([]byte, error) {
		n.Add(1)
		return doChain(ctx, t)
	}}
	atWork, home := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- (&Worker{Queue: q, Kinds: count}).Work(atWork) }()
	results, err := q.Run(ctx, all)
	home()
	<-ended
	if err == nil && outputs(results) != want {
		err = errors.New("other results")
	}
	return int(n.Load()), s.Repaired, err
}

// TestDamaged: whatever becomes of a file of a queue's folder, its jobs are done within
// seconds, those that were done and are whole only once, or an error names the file. Nothing
// is written through a link.
func TestDamaged(t *testing.T) {
	all := list(t, "chain", chain{Seed: 1, Steps: 9, Bytes: 3000}, chain{Seed: 2, Steps: 9, Bytes: 300_000},
		chain{Seed: 3, Steps: 5}, chain{Seed: 4, Steps: 5}, chain{Seed: 5, Steps: 5})
	want, done := alone(t, all), 2
	base := half(t, all, done)
	copied := func() string {
		dir := filepath.Join(t.TempDir(), "queue")
		if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	if begun, mended, err := resume(t, copied(), all, want); err != nil || begun != len(all)-done || mended != nil {
		t.Fatalf("whole: %d begun, %q, %v", begun, mended, err)
	}
	var files []string
	if err := fs.WalkDir(os.DirFS(base), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, file := range files {
		for _, how := range []string{"flip", "flip too", "cut", "empty", "remove", "link", "folder link"} {
			dir := copied()
			outside, kept := damage(t, filepath.Join(dir, filepath.FromSlash(file)), how, rng)
			start := time.Now()
			begun, mended, err := resume(t, dir, all, want)
			took := time.Since(start).Round(time.Millisecond)
			name := fmt.Sprintf("%s, %s (seed %d, after %v)", file, how, seed, took)
			linked := strings.HasSuffix(how, "link")
			switch block := strings.HasSuffix(file, ".blk"); {
			case linked && (err == nil || !strings.Contains(err.Error(), "is a link")):
				t.Errorf("%s: served: %v", name, err)
			case linked:
			case file == "server.json" && how != "remove":
				// A flip may leave an address that is none of a server, or one of another.
				if err != nil && !strings.Contains(err.Error(), "server.json is damaged") {
					t.Errorf("%s: %v", name, err)
				}
			case err != nil:
				t.Errorf("%s: %v; %q", name, err, mended)
			case !block && begun != len(all)-done, begun < len(all)-done, begun > len(all):
				t.Errorf("%s: %d jobs begun", name, begun)
			case block && strings.HasPrefix(how, "flip") && (len(mended) == 0 ||
				!strings.Contains(mended[0], filepath.FromSlash(file)) || begun > len(all)-done+1):
				t.Errorf("%s: %d jobs begun, and %q is said", name, begun, mended)
			}
			if now, err := os.ReadDir(outside); linked && (err != nil || len(now) != 1) {
				t.Errorf("%s: wrote %v", name, now)
			}
			if b, err := os.ReadFile(filepath.Join(outside, "x")); linked && (err != nil || !slices.Equal(b, kept)) {
				t.Errorf("%s: wrote %d bytes", name, len(b))
			}
		}
	}
}

// damage does something to the file at path. A link leads to what the file was, x in a folder
// outside.
func damage(t *testing.T, path, how string, rng *rand.Rand) (outside string, was []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, b []byte) error { return os.WriteFile(path, b, 0o600) }
	outside = t.TempDir()
	x := filepath.Join(outside, "x")
	switch how {
	case "flip", "flip too":
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		err = write(path, b)
	case "cut":
		err = write(path, b[:rng.IntN(len(b))])
	case "empty":
		err = write(path, nil)
	case "remove":
		err = os.Remove(path)
	case "link":
		if err = errors.Join(write(x, b), os.Remove(path)); err == nil {
			err = os.Symlink(x, path)
		}
	default: // the folder that it is in leads elsewhere
		if filepath.Base(path) == "server.json" {
			path = filepath.Join(filepath.Dir(path), "jetstream", "more")
		} else {
			path = filepath.Dir(path)
		}
		if err = errors.Join(write(x, b), os.RemoveAll(path)); err == nil {
			err = os.Symlink(outside, path)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return outside, b
}
