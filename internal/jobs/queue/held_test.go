package queue

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/jobs"
)

// A connection that is lost is tried again for ever, five times a second, and a server that
// answers no more is noticed by the second question without an answer, within half a minute.
func TestConnection(t *testing.T) {
	o := connect(t, Options{URL: serve(t)}).conn.Opts
	if o.MaxReconnect >= 0 || o.ReconnectWait != 200*time.Millisecond || o.Timeout != 5*time.Second ||
		o.PingInterval != 10*time.Second || o.MaxPingsOut != 2 || o.RetryOnFailedConnect {
		t.Errorf("%d times after %v, at most %v to connect, a question every %v, %d without an answer",
			o.MaxReconnect, o.ReconnectWait, o.Timeout, o.PingInterval, o.MaxPingsOut)
	}
}

// The longest name is one; with a letter more it is refused before anybody is asked.
func TestLongestName(t *testing.T) {
	name := strings.Repeat("az09-", 13)
	for n, want := range map[int]string{64: "cannot be reached", 65: "want at most 64 small letters"} {
		_, err := Connect(t.Context(), Options{URL: "nats://127.0.0.1:1", Name: name[:n]})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a name of %d letters: %v", n, err)
		}
	}
}

// A job that nobody acknowledges comes again as often as it takes, whoever has it, once the
// lease is over; as many jobs may be under way as there are workers.
func TestDelivery(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	stop := work(t, &Worker{Queue: q, Kinds: kinds()})
	if _, err := q.Run(t.Context(), list(t, "chain", chain{Seed: 1, Steps: 1})); err != nil {
		t.Fatal(err)
	}
	stop()
	c, err := q.todo.Consumer(t.Context(), "lane-"+q.lane)
	if err != nil {
		t.Fatal(err)
	}
	cfg := c.CachedInfo().Config
	if cfg.MaxDeliver != -1 || cfg.MaxAckPending != 1<<20 || cfg.AckWait != lease ||
		cfg.AckPolicy != jetstream.AckExplicitPolicy || cfg.FilterSubject != "kindred.todo."+q.lane+".*" {
		t.Errorf("%+v", cfg)
	}
}

// A worker does as many jobs at a time as N says: three of three that wait for each other,
// and one after the other where nothing is said.
func TestAtATime(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	for _, n := range []int{0, 3} {
		var busy, most atomic.Int64
		together := make(chan struct{})
		stop := work(t, &Worker{Queue: q, Parallel: n, Kinds: jobs.Kinds{"k": func(ctx context.Context,
			_ jobs.Task) ([]byte,
			error) {
			now := busy.Add(1)
			defer busy.Add(-1)
			most.Store(max(most.Load(), now))
			if now == int64(n) {
				close(together)
			}
			if n > 0 {
				select {
				case <-together:
				case <-time.After(30 * time.Second):
				}
			} else {
				time.Sleep(20 * time.Millisecond)
			}
			return []byte{}, nil
		}}})
		all := list(t, "k", n, n+10, n+20)
		if _, err := q.Run(t.Context(), all); err != nil || most.Load() != int64(max(n, 1)) {
			t.Errorf("N %d: %d at a time, %v", n, most.Load(), err)
		}
		stop()
	}
}

// A worker that is to do one job does one, and leaves the next to others.
func TestMost(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	all := list(t, "k", 1, 2, 3)
	for _, j := range all {
		if err := (&collector{q: q}).submit(t.Context(), q.key(j), j); err != nil {
			t.Fatal(err)
		}
	}
	for _, most := range []int{1, 2} {
		did := 0
		w := &Worker{Queue: q, MaxJobs: most, Kinds: jobs.Kinds{"k": func(context.Context, jobs.Task) ([]byte, error) {
			did++
			return []byte{}, nil
		}}}
		if err := w.Work(t.Context()); err != nil || did != most {
			t.Errorf("did %d of %d, %v", did, most, err)
		}
	}
}

// What ended a request is told as it is: by the context's own end if the request was cut
// off by it, and by what the servers said if they said something.
func TestPersistEnds(t *testing.T) {
	real, over := errors.New("real"), errors.New("over")
	for _, c := range []struct {
		ended     bool
		err, want error
	}{
		{false, context.Canceled, context.Canceled}, {false, real, real}, {false, nil, nil},
		{true, real, real}, {true, context.Canceled, context.DeadlineExceeded},
		{true, nats.ErrTimeout, nats.ErrTimeout},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.ended {
			var stop context.CancelFunc
			ctx, stop = context.WithDeadline(ctx, time.Now().Add(-time.Second))
			defer stop()
		}
		if err := retry(ctx, func(context.Context) error { return c.err }); err != c.want {
			t.Errorf("ended %v, %v: %v, want %v", c.ended, c.err, err, c.want)
		}
		cancel(over)
	}
}

// A question waits as long as a worker may be idle, but no longer than the servers keep it,
// and not so short that they do nothing but answer.
func TestPatience(t *testing.T) {
	for idle, want := range map[time.Duration]time.Duration{-1: 5 * time.Second, 0: 5 * time.Second,
		1: 100 * time.Millisecond, time.Second: time.Second, time.Minute: 5 * time.Second} {
		if have := (&Worker{Idle: idle}).patience(); have != want {
			t.Errorf("idle for %v: %v, want %v", idle, have, want)
		}
	}
}

// quiet is a consumer without jobs whose servers answer with err after a while.
type quiet struct {
	jetstream.Consumer
	after time.Duration
	err   error
	asked int
}

func (q *quiet) Fetch(int, ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	q.asked++
	time.Sleep(q.after)
	return nothing{q.err}, nil
}

// nothing is an answer without jobs.
type nothing struct{ err error }

func (n nothing) Messages() <-chan jetstream.Msg {
	none := make(chan jetstream.Msg)
	close(none)
	return none
}

func (n nothing) Error() error { return n.err }

// A worker whose servers have no job asks again at once, and one whose servers are away
// asks five times a second.
func TestAskedAgain(t *testing.T) {
	for err, want := range map[error]int{nil: 10, context.DeadlineExceeded: 10, nats.ErrConnectionClosed: 9} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Second-time.Millisecond)
			defer stop()
			c := &quiet{after: time.Second, err: err}
			if (&session{w: &Worker{}}).fetchJobs(ctx, c); c.asked != want {
				t.Errorf("%v: asked %d times in 10 s, want %d", err, c.asked, want)
			}
		})
	}
}

// A record is written by whoever holds the job: a write is told from that of another
// attempt by its token, and a Cancel, which has none, never passes for one.
func TestWriteAtARevision(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	put := func(r record) uint64 {
		value, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		revision, err := q.states.Put(t.Context(), "state.k", value)
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	mine := record{State: Running, Token: "mine", Text: "step 2"}
	done := record{State: Done, Token: "mine"}
	for name, c := range map[string]struct {
		there, written record
		want           error
	}{
		"an earlier write of the attempt":    {record{State: Running, Token: "mine", Text: "step 1"}, mine, nil},
		"this write, whose answer was lost":  {done, done, nil},
		"another attempt":                    {record{State: Running, Token: "other"}, mine, errNotOurs},
		"the attempt, which has ended":       {done, mine, errNotOurs},
		"it was cancelled":                   {record{State: Cancelled}, mine, errNotOurs},
		"a cancel beside a job without name": {record{State: Running}, record{State: Cancelled}, errNotOurs},
	} {
		first := put(record{State: Queued})
		there := put(c.there)
		revision, err := q.write(t.Context(), "k", &c.written, first)
		if err != c.want || err == nil && revision < there {
			t.Errorf("%s: revision %d after %d, %v, want %v", name, revision, there, err, c.want)
		}
		r, _, err := q.read(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if want := c.written; c.want == nil && (r.Text != want.Text || r.State != want.State) ||
			c.want != nil && (r.Token != c.there.Token || r.State != c.there.State) {
			t.Errorf("%s: now %+v", name, r)
		}
	}
}

// A result of up to 32 KiB stands in its record; a longer one is an object.
func TestInline(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	work(t, &Worker{Queue: q, Kinds: kinds()})
	all := list(t, "chain", chain{Seed: 1, Steps: 1, Bytes: maxInline},
		chain{Seed: 1, Steps: 1, Bytes: maxInline + 1})
	if _, err := q.Run(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for i, j := range all {
		r, _, err := q.read(t.Context(), q.key(j))
		if err != nil {
			t.Fatal(err)
		}
		if inline := r.Output == "" && len(r.Inline) == maxInline; inline != (i == 0) {
			t.Errorf("number %d: %d bytes in the record, object %q", i, len(r.Inline), r.Output)
		}
	}
}

// A file that was stored long ago is stored again, so that it is kept as long as one that
// is new.
func TestKeptAnew(t *testing.T) {
	q := connect(t, Options{URL: serve(t), Keep: time.Hour})
	write := func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }
	stored := func() time.Time {
		name, err := q.Store(t.Context(), write)
		if err != nil {
			t.Fatal(err)
		}
		info, err := q.objects.GetInfo(t.Context(), "file."+name)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime
	}
	first := stored()
	if second := stored(); !second.Equal(first) {
		t.Errorf("stored again %v later", second.Sub(first))
	}
	q.o.Keep = time.Since(first)
	if third := stored(); third.Equal(first) {
		t.Error("half of its time is over, and it is not stored again")
	}
}

// A worker keeps its job while the record is its attempt's, whoever wrote that last: an
// answer of its own may have been lost, and a server may be behind.
func TestStillHeld(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	held := &task{session: &session{w: &Worker{Queue: q}}, key: "k", record: record{State: Running, Token: "mine"}}
	for name, c := range map[string]struct {
		r    record
		late bool // written after what this worker wrote
		want error
	}{
		"as it was written":           {record{State: Running, Token: "mine"}, false, nil},
		"written once more":           {record{State: Running, Token: "mine", Text: "step 2"}, true, nil},
		"another attempt":             {record{State: Running, Token: "other"}, true, errNotOurs},
		"cancelled":                   {record{State: Cancelled}, true, errNotOurs},
		"ended":                       {record{State: Done, Token: "mine"}, true, errNotOurs},
		"a server that is behind":     {record{State: Queued}, false, nil},
		"a server before another one": {record{State: Running, Token: "first"}, false, nil},
	} {
		value, err := json.Marshal(&c.r)
		if err != nil {
			t.Fatal(err)
		}
		if held.revision, err = q.states.Put(t.Context(), "state.k", value); err != nil {
			t.Fatal(err)
		}
		if c.late {
			held.revision--
		}
		if err := held.check(t.Context()); err != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A job that is tried again in the moment before its worker acknowledges the last try is
// made available once more.
func TestRetryBeforeTheWorkerIsDone(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	all := list(t, "k", 1)
	key := q.key(all[0])
	if err := (&collector{q: q}).submit(t.Context(), key, all[0]); err != nil {
		t.Fatal(err)
	}
	for late := true; late; { // Retry waits a second, in which a busy machine may do nothing
		if err := q.Cancel(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if _, err := q.publish(t.Context(), key); err != nil { // the last try, if it was late
			t.Fatal(err)
		}
		gone := make(chan error, 1)
		var begun, ended time.Time
		sub, err := q.conn.Subscribe(q.subject(key), func(*nats.Msg) {
			gone <- q.todo.Purge(t.Context()) // the worker acknowledges
			ended = time.Now()
			close(gone)
		})
		if err == nil {
			err = sub.AutoUnsubscribe(1)
		}
		if err == nil {
			err = q.conn.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		begun = time.Now()
		if err := q.Retry(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		for err := range gone {
			if err != nil {
				t.Fatal(err)
			}
		}
		late = ended.Sub(begun) >= time.Second
	}
	if info, err := q.todo.Info(t.Context()); err != nil || info.State.Msgs != 1 {
		t.Errorf("%d messages, %v, want one", info.State.Msgs, err)
	}
}
