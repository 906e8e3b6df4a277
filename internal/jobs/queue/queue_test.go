package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/jobs"
)

// TestRun: two workers come to what one process comes to, in the order of the list;
// the same job is done once; results are found again until they are forgotten.
func TestRun(t *testing.T) {
	url := serve(t)
	q := connect(t, Options{URL: url})
	var done atomic.Int64
	counted := jobs.Kinds{"chain": func(ctx context.Context, t jobs.Task) ([]byte, error) {
		done.Add(1)
		return doChain(ctx, t)
	}}
	for range 2 {
		work(t, &Worker{Queue: connect(t, Options{URL: url}), Kinds: counted, Parallel: 2})
	}
	var specs []any
	for i := range 12 {
		specs = append(specs, chain{Seed: uint64(i), Steps: i, Bytes: i * 7000}) // in records and in objects
	}
	specs = append(specs, specs[3], specs[11])
	all := list(t, "chain", specs...)
	want := alone(t, all)
	results, err := q.Run(t.Context(), all)
	if err != nil || outputs(results) != want || done.Load() != 12 {
		t.Fatalf("%d calls, %v\n%s\nwant\n%s", done.Load(), err, outputs(results), want)
	}
	results, err = q.Run(t.Context(), all)
	if err != nil || outputs(results) != want || done.Load() != 12 || !results[5].Cached {
		t.Fatalf("again: %d calls, %v", done.Load(), err)
	}
	if err := q.Forget(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if left, err := q.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if results, err = q.Run(t.Context(), all[:2]); err != nil || done.Load() != 14 || results[1].Cached {
		t.Errorf("when forgotten: %d calls, %v", done.Load(), err)
	}
	if r, err := q.Run(t.Context(), nil); len(r) > 0 || err != nil {
		t.Error(r, err)
	}
}

// TestPoison: a job that fails is tried three times and then given up with its error;
// the others are done, and Retry lets it be tried again.
func TestPoison(t *testing.T) {
	url := serve(t)
	q := connect(t, Options{URL: url})
	var tries atomic.Int64
	var good atomic.Bool
	work(t, &Worker{Queue: connect(t, Options{URL: url}), Kinds: jobs.Kinds{"n": func(_ context.Context, t jobs.Task) (
		[]byte, error) {
		switch s := string(t.Job().Spec); {
		case s != "3" || good.Load():
			return []byte(s), nil
		case tries.Add(1) == 2:
			panic("out of cheese")
		}
		return nil, errors.New("three is bad")
	}}})
	all := list(t, "n", 1, 2, 3, 4)
	results, err := q.Run(t.Context(), all)
	var f *jobs.FailedError
	if !errors.As(err, &f) || f.Tries != 3 || tries.Load() != 3 || !strings.Contains(err.Error(), "three is bad") ||
		!strings.Contains(err.Error(), "n 3 failed 3 times") || len(results) != 4 || string(results[3].Output) != "4" ||
		results[2].Output != nil {
		t.Fatalf("%d tries, %v, %v", tries.Load(), err, results)
	}
	if _, err := q.Run(t.Context(), all); !errors.As(err, &f) || tries.Load() != 3 {
		t.Errorf("run again: %d tries, %v", tries.Load(), err)
	}
	key := q.key(all[2])
	good.Store(true)
	if err := q.Retry(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if results, err = q.Run(t.Context(), all); err != nil || string(results[2].Output) != "3" {
		t.Errorf("tried again: %v, %v", results, err)
	}
	for _, err := range []error{q.Retry(t.Context(), key), q.Cancel(t.Context(), key)} {
		if err == nil || !strings.Contains(err.Error(), "is done") {
			t.Error(err)
		}
	}
	for _, key := range []string{"nothing", "a b", ""} {
		if err := q.Retry(t.Context(), key); err == nil || !strings.Contains(err.Error(), "no job") {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// TestTakenOver: a worker that falls silent loses its job to another one, which goes
// on from its checkpoint; when the first comes back, its result does not count.
func TestTakenOver(t *testing.T) {
	url := serve(t)
	q := connect(t, Options{URL: url})
	begun, release := make(chan struct{}), make(chan struct{})
	lost := connect(t, Options{URL: url})
	var said sync.Map
	work(t, &Worker{Queue: lost, Name: "first", Log: func(l string) { said.Store(l, true) },
		Kinds: jobs.Kinds{"k": func(ctx context.Context, t jobs.Task) ([]byte, error) {
			err := t.Save(ctx, func(w io.Writer) error { _, err := io.WriteString(w, "half"); return err })
			close(begun)
			<-release // whatever the context says
			return []byte("wrong"), err
		}}})
	all := list(t, "k", 1)
	type outcome struct {
		results []jobs.Result
		err     error
	}
	ended := make(chan outcome, 1)
	go func() {
		r, err := q.Run(t.Context(), all)
		ended <- outcome{r, err}
	}()
	<-begun
	lost.conn.Close() // it can be heard no more
	var from atomic.Value
	work(t, &Worker{Queue: connect(t, Options{URL: url}), Name: "second",
		Kinds: jobs.Kinds{"k": func(ctx context.Context, t jobs.Task) ([]byte, error) {
			r, err := t.Restore(ctx)
			if err != nil || r == nil {
				return nil, fmt.Errorf("no checkpoint: %w", err)
			}
			defer r.Close()
			b, err := io.ReadAll(r)
			from.Store(string(b))
			return []byte("right"), err
		}}})
	o := <-ended
	close(release)
	if o.err != nil || string(o.results[0].Output) != "right" || o.results[0].Worker != "second" ||
		from.Load() != "half" {
		t.Fatalf("%+v, from %v", o, from.Load())
	}
	if l, err := q.List(t.Context()); err != nil || len(l) != 1 || l[0].Losses != 1 || l[0].Tries != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestSlowTwin: a worker that was only slow finds that its job has been done, and
// what it brings is dropped.
func TestSlowTwin(t *testing.T) {
	url := serve(t)
	q := connect(t, Options{URL: url})
	all := list(t, "k", 1)
	s := &session{w: &Worker{Queue: q}, name: "slow", lease: lease}
	c := &collector{q: q}
	if err := c.submit(t.Context(), q.key(all[0]), all[0]); err != nil {
		t.Fatal(err)
	}
	slow, err := s.claim(t.Context(), nil, q.key(all[0]))
	if err != nil {
		t.Fatal(err)
	}
	quick := &session{w: &Worker{Queue: q}, name: "quick", lease: lease}
	fast, err := quick.claim(t.Context(), nil, q.key(all[0]))
	if err != nil {
		t.Fatal(err)
	}
	for who, want := range map[*task]error{slow: errNotOurs, fast: nil} {
		if err := who.check(t.Context()); !errors.Is(err, want) {
			t.Errorf("the lease of %s, while both are at work: %v, want %v", who.record.Worker, err, want)
		}
	}
	long := bytes.Repeat([]byte("x"), 2*maxInline)
	if err := fast.finish(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	if err := slow.finish(t.Context(), bytes.Repeat([]byte("y"), 2*maxInline)); !errors.Is(err, errNotOurs) {
		t.Errorf("the slow one: %v", err)
	}
	if err := slow.Save(t.Context(), func(w io.Writer) error { _, err := w.Write(long); return err }); !errors.Is(err,
		errNotOurs) {
		t.Errorf("its checkpoint: %v", err)
	}
	if err := slow.check(t.Context()); !errors.Is(err, errNotOurs) {
		t.Errorf("its lease: %v", err)
	}
	results, err := q.Run(t.Context(), all)
	if err != nil || !bytes.Equal(results[0].Output, long) {
		t.Error(len(results[0].Output), err)
	}
	if left, err := q.objects.List(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("%d objects, %v", len(left), err)
	}
}

// TestDeadly: a job that no worker survives is given up.
func TestDeadly(t *testing.T) {
	q := connect(t, Options{URL: serve(t), Losses: 3})
	all := list(t, "k", 1)
	key := q.key(all[0])
	if err := (&collector{q: q}).submit(t.Context(), key, all[0]); err != nil {
		t.Fatal(err)
	}
	s := &session{w: &Worker{Queue: q}, name: "brave", lease: lease}
	for k := range 4 {
		got, err := s.claim(t.Context(), nil, key)
		if err != nil || (got != nil) != (k < 3) {
			t.Fatalf("%d: %v, %v", k, got, err)
		}
	}
	if _, err := q.Run(t.Context(), all); err == nil ||
		!strings.Contains(err.Error(), "3 workers died or fell silent during the job") {
		t.Error(err)
	}
}

// TestCancel: the worker of a cancelled job stops, and is free for the next.
func TestCancel(t *testing.T) {
	url := serve(t)
	q := connect(t, Options{URL: url})
	begun := make(chan struct{})
	stopped := make(chan error, 1)
	work(t, &Worker{Queue: connect(t, Options{URL: url}), Kinds: jobs.Kinds{"k": func(ctx context.Context,
		t jobs.Task) ([]byte, error) {
		if string(t.Job().Spec) == "2" {
			return []byte("2"), nil
		}
		t.Report("waiting")
		close(begun)
		<-ctx.Done()
		stopped <- ctx.Err()
		return nil, ctx.Err()
	}}})
	all := list(t, "k", 1)
	go func() {
		<-begun
		for { // until its report has been seen
			l, err := q.List(t.Context())
			if err != nil || len(l) == 1 && l[0].Text == "waiting" && l[0].State == Running {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err := q.Cancel(t.Context(), q.key(all[0])); err != nil {
			t.Error(err)
		}
	}()
	if _, err := q.Run(t.Context(), all); err == nil || !strings.Contains(err.Error(), "was cancelled") {
		t.Error(err)
	}
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Its message is acknowledged at once, or it would be handed out again after the lease.
	for {
		info, err := q.todo.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.State.Msgs == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if c, err := q.todo.Consumer(t.Context(), "lane-"+q.lane); err != nil || c.CachedInfo().Delivered.Consumer != 1 {
		t.Errorf("handed out %d times, %v", c.CachedInfo().Delivered.Consumer, err)
	}
	if r, err := q.Run(t.Context(), list(t, "k", 2)); err != nil || string(r[0].Output) != "2" {
		t.Error(r, err)
	}
}

// saver is a task that tells of its checkpoints.
type saver struct {
	jobs.Task
	saved func()
}

func (s saver) Save(ctx context.Context, write func(io.Writer) error) error {
	err := s.Task.Save(ctx, write)
	s.saved()
	return err
}

// TestStopped: a worker that is told to stop gives its job back, which counts neither
// as a try nor as a loss.
func TestStopped(t *testing.T) {
	url := serve(t)
	q := connect(t, Options{URL: url})
	all := list(t, "chain", chain{Seed: 1, Steps: 40, Pause: 20})
	want := alone(t, all)
	saved := make(chan struct{})
	var once sync.Once
	stop := work(t, &Worker{Queue: connect(t, Options{URL: url}), Kinds: jobs.Kinds{"chain": func(ctx context.Context,
		t jobs.Task) ([]byte, error) {
		return doChain(ctx, saver{t, func() { once.Do(func() { close(saved) }) }})
	}}})
	var wg sync.WaitGroup
	wg.Go(func() {
		results, err := q.Run(t.Context(), all)
		if err != nil || outputs(results) != want {
			t.Error(err)
		}
	})
	<-saved
	stop()
	work(t, &Worker{Queue: connect(t, Options{URL: url}), Kinds: kinds()})
	wg.Wait()
	if l, err := q.List(t.Context()); err != nil || l[0].Losses+l[0].Tries != 0 || l[0].State != Done {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestLanes: workers of another program or of other kernels take no jobs of this one,
// and their results are not found.
func TestLanes(t *testing.T) {
	url := serve(t)
	say := func(text string) jobs.Kinds {
		return jobs.Kinds{"k": func(context.Context, jobs.Task) ([]byte, error) { return []byte(text), nil }}
	}
	var queues []*Queue
	for _, lane := range []string{"v1 avx2", "v1 avx512"} {
		q := connect(t, Options{URL: url, Lane: lane})
		work(t, &Worker{Queue: q, Kinds: say(lane)})
		queues = append(queues, q)
	}
	for _, q := range queues {
		if r, err := q.Run(t.Context(), list(t, "k", 1)); err != nil || string(r[0].Output) != q.o.Lane {
			t.Errorf("%s: %v, %v", q.o.Lane, r, err)
		}
	}
	l, err := queues[0].List(t.Context())
	if err != nil || len(l) != 2 || l[0].Mine == l[1].Mine {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestMadeTogether: of programs that find no queue at once, one makes it and the others
// take it.
func TestMadeTogether(t *testing.T) {
	url := serve(t)
	for k := range 5 {
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				q, err := Connect(t.Context(), Options{URL: url, Name: fmt.Sprintf("together%d", k), Lease: lease})
				if err != nil {
					t.Error(err)
					return
				}
				q.Close()
			})
		}
		wg.Wait()
	}
}

// TestFiles: a file is stored once and found by workers; other names are errors.
func TestFiles(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	content := bytes.Repeat([]byte("0123456789abcdef"), 40_000)
	write := func(w io.Writer) error { _, err := w.Write(content); return err }
	name, err := q.Store(t.Context(), write)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := q.Store(t.Context(), write); again != name || err != nil {
		t.Errorf("%s and %s, %v", name, again, err)
	}
	r, err := q.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, content) {
		t.Error(len(b), err)
	}
	for _, bad := range []string{"", "x", strings.Repeat("0", 64)} {
		if _, err := q.Open(t.Context(), bad); err == nil {
			t.Errorf("%q opens", bad)
		}
	}
	broken := errors.New("broken")
	if _, err := q.Store(t.Context(), func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestConnectErrors(t *testing.T) {
	url := serve(t)
	bare := "nats://" + url[strings.Index(url, "@")+1:]
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{URL: "nats://127.0.0.1:1"}, "cannot be reached"},
		{Options{URL: bare}, "queue.Options.Credentials"},
		{Options{URL: url, Name: "Two Words"}, `queue name "Two Words": want at most 64`},
		{Options{URL: url, Credentials: "missing.creds"}, "missing.creds"},
	} {
		q, err := Connect(t.Context(), c.o)
		if err == nil {
			q.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, want %s", err, c.want)
		}
		token, _, _ := strings.Cut(strings.TrimPrefix(url, "nats://"), "@")
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("the token is told: %v", err)
		}
	}
}

// A job is made available once, until a worker has done it, and what is stored is read
// from the server that leads.
func TestPublishedOnce(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	for i, key := range []string{"a", "a", "b", "a", "b"} {
		first := i == 0 || i == 2
		if made, err := q.publish(t.Context(), key); err != nil || made != first {
			t.Errorf("%s, number %d: made %v, %v", key, i, made, err)
		}
	}
	info, err := q.todo.Info(t.Context())
	if err != nil || info.State.Msgs != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	for _, name := range []string{"KV_kindred", "OBJ_kindred"} {
		s, err := q.js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if s.CachedInfo().Config.AllowDirect {
			t.Errorf("%s may be read from a server that is behind", name)
		}
	}
}
