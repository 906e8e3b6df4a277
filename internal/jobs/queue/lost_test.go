package queue

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// lossy returns another way to the servers at u, on which the nth request whose
// subject begins with prefix goes where nobody answers, as one does to a server that
// has just stopped leading. The counter tells how many were lost.
func lossy(t *testing.T, u, prefix string, nth int32) (string, *atomic.Int32) {
	t.Helper()
	at, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	nowhere := append([]byte("X"), prefix[1:]...)
	hears, err := nats.Connect(u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hears.Close)
	lost := new(atomic.Int32)
	// Someone has to be subscribed, or else the servers say at once that nobody is.
	if _, err := hears.Subscribe(string(nowhere)+">", func(*nats.Msg) { lost.Add(1) }); err != nil {
		t.Fatal(err)
	}
	if err := hears.Flush(); err != nil {
		t.Fatal(err)
	}
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
	return at.String(), lost
}

// TestLostAnswer: a request without an answer is made again after answer, however
// long the whole may take.
func TestLostAnswer(t *testing.T) {
	t.Run("connecting", func(t *testing.T) {
		t.Parallel()
		u, lost := lossy(t, serve(t), "$JS.API.STREAM.CREATE.", 1)
		connect(t, Options{URL: u})
		if lost.Load() != 1 {
			t.Errorf("%d requests were lost", lost.Load())
		}
	})
	t.Run("finishing", func(t *testing.T) {
		t.Parallel()
		direct := serve(t)
		leader := connect(t, Options{URL: direct})
		u, lost := lossy(t, direct, "$KV.kindred.state.", 2) // after that of claiming
		work(t, &Worker{Queue: connect(t, Options{URL: u}), Kinds: kinds()})
		ctx, cancel := context.WithTimeout(t.Context(), 10*answer)
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
		u, lost := lossy(t, serve(t), "$O.kindred.M.", 1)
		q := connect(t, Options{URL: u})
		ctx, cancel := context.WithTimeout(t.Context(), 10*answer)
		defer cancel()
		name, err := q.Keep(ctx, func(w io.Writer) error { _, err := io.WriteString(w, "kept"); return err })
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
