package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/jobs/natsserver"
)

// lossy returns another way to the servers at u, on which the nth request whose
// subject begins with prefix goes where nobody answers, as one does to a server that
// has just stopped leading. If answer is not empty, it is that request's answer. The
// counter tells how many were lost.
func lossy(t *testing.T, u, prefix string, nth int32, answer string) (string, *atomic.Int32) {
	t.Helper()
	hears, err := nats.Connect(u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hears.Close)
	lost := new(atomic.Int32)
	// Someone has to be subscribed, or else the servers say at once that nobody is.
	whole := strings.TrimSuffix("X"+prefix[1:], ".")
	for _, subject := range []string{whole, whole + ".>"} {
		_, err := hears.Subscribe(subject, func(m *nats.Msg) {
			lost.Add(1)
			if answer != "" {
				_ = m.Respond([]byte(answer))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := hears.Flush(); err != nil {
		t.Fatal(err)
	}
	way, _ := unheard(t, u, prefix, nth)
	return way, lost
}

// unheard is lossy where the servers say at once that nobody has heard the request. It also
// tells how many of these requests there were.
func unheard(t *testing.T, u, prefix string, nth int32) (string, func() int32) {
	t.Helper()
	at, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	nowhere := append([]byte("X"), prefix[1:]...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	target := at.Host
	var seen atomic.Int32
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				return
			}
			go func() { _, _ = io.Copy(client, server); client.Close() }()
			go func() {
				defer server.Close()
				b := make([]byte, 1<<20)
				for {
					n, err := client.Read(b)
					if i := bytes.Index(b[:n], []byte("PUB "+prefix)); i >= 0 && seen.Add(1) == nth {
						copy(b[i+len("PUB "):], nowhere)
					}
					if _, werr := server.Write(b[:n]); err != nil || werr != nil {
						return
					}
				}
			}()
		}
	}()
	at.Host = l.Addr().String()
	return at.String(), seen.Load
}

// TestLostAnswer: a request without an answer is made again after answer, however
// long the whole may take.
func TestLostAnswer(t *testing.T) {
	t.Run("connecting", func(t *testing.T) {
		t.Parallel()
		u, lost := lossy(t, serve(t), "$JS.API.STREAM.CREATE.", 1, "")
		connect(t, Options{URL: u})
		if lost.Load() != 1 {
			t.Errorf("%d requests were lost", lost.Load())
		}
	})
	t.Run("finishing", func(t *testing.T) {
		t.Parallel()
		direct := serve(t)
		leader := connect(t, Options{URL: direct})
		u, lost := lossy(t, direct, "$KV.kindred.state.", 2, "") // after that of claiming
		work(t, &Worker{Queue: connect(t, Options{URL: u}), Kinds: kinds()})
		ctx, cancel := context.WithTimeout(t.Context(), 10*answerTimeout)
		defer cancel()
		if _, err := leader.Run(ctx, list(t, "chain", chain{Seed: 1, Steps: 2})); err != nil {
			t.Error(err)
		}
		if lost.Load() != 1 {
			t.Errorf("%d requests were lost", lost.Load())
		}
	})
	t.Run("storing", func(t *testing.T) {
		t.Parallel()
		u, lost := lossy(t, serve(t), "$O.kindred.M.", 1, "")
		q := connect(t, Options{URL: u})
		ctx, cancel := context.WithTimeout(t.Context(), 10*answerTimeout)
		defer cancel()
		name, err := q.Store(ctx, func(w io.Writer) error { _, err := io.WriteString(w, "kept"); return err })
		if err != nil {
			t.Fatal(err)
		}
		r, err := q.Open(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if text, err := io.ReadAll(r); string(text) != "kept" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if lost.Load() != 1 {
			t.Errorf("%d requests were lost", lost.Load())
		}
	})
}

// What a server of a cluster answers that does not know a stream yet, or has no leader.
const (
	unknown    = `{"error": {"code": 404, "err_code": 10059, "description": "stream not found"}}`
	leaderless = `{"error": {"code": 503, "err_code": 10008, "description": "temporarily unavailable"}}`
)

// TestUnknownStream: a stream that a server does not know yet is asked for again, by
// those who connect, who work and who wait for results.
func TestUnknownStream(t *testing.T) {
	for _, c := range []struct {
		prefix string
		nth    int32
		answer string
	}{
		// The first question finds that there is no bucket; the second one comes after making it.
		{"$JS.API.STREAM.INFO.KV_kindred", 2, unknown},
		{"$JS.API.STREAM.INFO.OBJ_kindred", 2, unknown},
		{"$JS.API.STREAM.CREATE.kindred-todo", 1, unknown},
		{"$JS.API.STREAM.CREATE.KV_kindred", 1, unknown},
		{"$JS.API.STREAM.UPDATE.OBJ_kindred", 1, unknown},
		{"$JS.API.CONSUMER.CREATE.kindred-todo", 1, unknown},
		{"$JS.API.STREAM.MSG.GET.KV_kindred", 1, unknown},
		{"$JS.API.STREAM.MSG.GET.KV_kindred", 2, unknown},
		{"$JS.API.STREAM.MSG.GET.OBJ_kindred", 1, unknown},
		{"$JS.API.CONSUMER.CREATE.KV_kindred", 1, unknown},
		{"$JS.API.CONSUMER.CREATE.KV_kindred", 1, leaderless},
		{"$JS.API.CONSUMER.CREATE.KV_kindred", 2, unknown}, // that of List
		{"$JS.API.STREAM.MSG.GET.OBJ_kindred", 2, unknown},
		{"$JS.API.STREAM.MSG.GET.OBJ_kindred", 2, leaderless},
	} {
		t.Run(fmt.Sprint(c.prefix, c.nth, len(c.answer)), func(t *testing.T) {
			t.Parallel()
			u, lost := lossy(t, serve(t), c.prefix, c.nth, c.answer)
			q := connect(t, Options{URL: u})
			work(t, &Worker{Queue: q, Kinds: kinds()})
			all := list(t, "chain", chain{Seed: 1, Steps: 2, Bytes: maxInline + 1})
			ctx, cancel := context.WithTimeout(t.Context(), 2*missingTimeout)
			defer cancel()
			if results, err := q.Run(ctx, all); err != nil || outputs(results) != alone(t, all) {
				t.Error(err)
			}
			if states, err := q.List(t.Context()); err != nil || len(states) != 1 || states[0].Tries > 0 {
				t.Errorf("%+v, %v", states, err)
			}
			if lost.Load() != 1 {
				t.Errorf("%d requests were answered so", lost.Load())
			}
		})
	}
}

// TestRemovedStream: servers do not answer those who write to a stream that somebody has
// removed. The error says that there is none.
func TestRemovedStream(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	refused := q.orAbsentError(t.Context(), "KV_kindred", jetstream.ErrNoStreamResponse)
	if !errors.Is(refused, jetstream.ErrNoStreamResponse) {
		t.Errorf("of a stream that is there: %v", refused)
	}
	for _, name := range []string{"kindred-todo", "KV_kindred", "OBJ_kindred"} {
		if err := q.js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	_, created := q.states.Create(t.Context(), "k", nil)
	_, published := q.js.Publish(t.Context(), q.subject("k"), nil)
	for stream, err := range map[string]error{"KV_kindred": created, "kindred-todo": published} {
		if isAbsent(err) || !isAbsent(q.orAbsentError(t.Context(), stream, err)) {
			t.Errorf("%s: %v", stream, err)
		}
	}
}

// TestWithoutDeadline: the end of a context is kept, its time is not.
func TestWithoutDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	inner, done := withoutDeadline(ctx)
	defer done()
	if _, ok := inner.Deadline(); ok {
		t.Error("it has a deadline")
	}
	<-inner.Done()
	if context.Cause(inner) != context.DeadlineExceeded {
		t.Error(context.Cause(inner))
	}
}

// TestDroppedMeanwhile: a job that is submitted between a worker's look at its missing record and the removal of its
// old message is in the queue afterwards, and one that is not submitted is not.
func TestDroppedMeanwhile(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	consumer, err := q.todo.CreateOrUpdateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "test",
		FilterSubject: q.subject("*"), AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	j := list(t, "chain", chain{Seed: 1, Steps: 1})[0]
	key := q.key(j)
	s := &session{w: &Worker{Queue: q}}
	for _, submitted := range []bool{false, true} {
		if _, err := q.publish(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		batch, err := consumer.Fetch(1)
		if err != nil {
			t.Fatal(err)
		}
		m := <-batch.Messages()
		if _, err := s.claim(t.Context(), m, key); !errors.Is(err, jetstream.ErrKeyNotFound) {
			t.Fatalf("claimed: %v", err)
		}
		want := uint64(0)
		if submitted {
			want = 1
			if err := (&collector{q: q}).submit(t.Context(), key, j); err != nil {
				t.Fatal(err)
			}
		}
		s.removeMessage(t.Context(), m, key)
		info, err := q.todo.Info(t.Context())
		if err != nil || info.State.Msgs != want {
			t.Errorf("submitted %v: %d messages, %v", submitted, info.State.Msgs, err)
		}
	}
}

// TestEndedWhileClaiming: the servers end when a worker has the message of a job and not yet its record. The worker
// gives the message up when its lease is over, and ends when it has been idle.
func TestEndedWhileClaiming(t *testing.T) {
	server, err := natsserver.Serve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	q := connect(t, Options{URL: server.URL()})
	consumer, err := q.todo.CreateOrUpdateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "test",
		FilterSubject: q.subject("*"), AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.publish(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	batch, err := consumer.Fetch(1)
	if err != nil {
		t.Fatal(err)
	}
	m := <-batch.Messages()
	server.Close()
	var said string
	s := &session{w: &Worker{Queue: q, Idle: time.Millisecond, Log: func(line string) { said = line }}, lease: lease,
		seen: time.Now()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if !s.reserve() {
			t.Error("it is idle at once")
		}
		s.handle(t.Context(), m)
		s.release(true)
		time.Sleep(2 * time.Millisecond)
		s.fetchJobs(t.Context(), consumer)
	}()
	select {
	case <-ended:
		if !strings.Contains(said, "key: the queue does not answer") {
			t.Errorf("it said %q", said)
		}
	case <-time.After(20 * lease):
		t.Error("it waits for a queue that has ended")
	}
}
