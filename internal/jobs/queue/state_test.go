package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/jobs/natsserver"
)

// A job that failed waits longer each time, but never for minutes, however often it has
// failed.
func TestRest(t *testing.T) {
	for tries, want := range map[int]time.Duration{1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second,
		5: 8 * time.Second, 6: 15 * time.Second, 34: 15 * time.Second, 1000: 15 * time.Second} {
		if have := retryDelay(tries); have != want {
			t.Errorf("after %d tries %v, want %v", tries, have, want)
		}
	}
}

// Only what is longer than a record holds is cut, and not within a character.
func TestShort(t *testing.T) {
	for text, want := range map[string]string{"": "", strings.Repeat("x", maxText): strings.Repeat("x", maxText),
		strings.Repeat("x", maxText+1):       strings.Repeat("x", maxText) + " ...",
		"x" + strings.Repeat("é", maxText/2): "x" + strings.Repeat("é", maxText/2-1) + " ..."} {
		if have := shorten(text); have != want || !utf8.ValidString(have) {
			t.Errorf("%d bytes became %d: %.20q", len(text), len(have), have[max(0, len(have)-20):])
		}
	}
}

// A job that is under way is told by how far it is, one that is not by its last error.
func TestStatusText(t *testing.T) {
	for _, c := range []struct {
		r    record
		want string
	}{
		{record{State: Running, Text: "step 1", Error: "once"}, "step 1"},
		{record{State: Running, Error: "once"}, ""},
		{record{State: Queued, Text: "step 1", Error: "once"}, "once"},
		{record{State: Queued, Text: "step 1"}, "step 1"},
		{record{State: Failed, Error: "once"}, "once"}, {record{State: Done}, ""},
	} {
		c.r.Lane, c.r.Tries, c.r.Losses, c.r.Worker = "a", 2, 3, "w"
		s := c.r.status("k", "a", time.Unix(5, 0))
		if s.Text != c.want || !s.Mine || s.Tries != 2 || s.Losses != 3 || s.Worker != "w" || s.State != c.r.State {
			t.Errorf("%+v is told as %+v", c.r, s)
		}
		if c.r.status("k", "b", time.Time{}).Mine {
			t.Error("a job of another lane is told to be of this one")
		}
	}
}

// What is not said of a queue is as its options tell.
func TestDefaults(t *testing.T) {
	q, err := Connect(t.Context(), Options{URL: serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if o := q.o; o.Name != "kindred" || o.Lease != 30*time.Second || o.Tries != 3 || o.Losses != 10 ||
		o.Keep != 7*24*time.Hour {
		t.Errorf("%+v", o)
	}
}

// Three servers keep three copies, and of fewer one alone.
func TestReplicas(t *testing.T) {
	for servers, want := range map[int]int{1: 1, 2: 1, 3: 3, 5: 3} {
		if have := replicas(servers); have != want {
			t.Errorf("%d servers keep %d", servers, have)
		}
	}
}

// What may be gone in a moment is asked again; the rest is an error at once.
func TestPassing(t *testing.T) {
	api := func(code, number int) error {
		return fmt.Errorf("x: %w", &jetstream.APIError{Code: code, ErrorCode: jetstream.ErrorCode(number)})
	}
	for err, want := range map[error]bool{
		context.DeadlineExceeded: true, nats.ErrTimeout: true, nats.ErrNoResponders: true, nats.ErrDisconnected: true,
		api(503, 10008): true, api(500, 1): true, api(400, int(noPeers)): true,
		api(400, 10071): false, api(404, 10059): false, context.Canceled: false, errors.New("other"): false,
		jetstream.ErrKeyNotFound:                    false,
		&nats.APIError{Code: 503, ErrorCode: 10008}: true, nats.ErrStreamNotFound: false,
	} {
		if have := isTemporary(err); have != want {
			t.Errorf("%v passes: %v", err, have)
		}
		if is := isRevisionConflict(err); is != strings.Contains(err.Error(), "10071") {
			t.Errorf("%v is a write at another revision: %v", err, is)
		}
	}
}

// What fails for the moment is asked again after a wait, twice as long each time, up to two
// seconds.
func TestPersist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		last := time.Now()
		err := retry(t.Context(), func(context.Context) error {
			waits, last = append(waits, time.Since(last)), time.Now()
			if len(waits) < 9 {
				return nats.ErrTimeout
			}
			return errNotOurs
		})
		want := []time.Duration{0, 50, 100, 200, 400, 800, 1600, 2000, 2000}
		for i := range want {
			want[i] *= time.Millisecond
		}
		if !errors.Is(err, errNotOurs) || !slices.Equal(waits, want) {
			t.Errorf("%v, %v, want %v", err, waits, want)
		}
	})
}

// A stream that the servers do not know is asked for again for half a minute in a row, not
// longer.
func TestPersistAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, unknown := range []error{jetstream.ErrStreamNotFound, jetstream.ErrBucketNotFound,
			jetstream.ErrConsumerNotFound, nats.ErrStreamNotFound} {
			begun := time.Now()
			err := retry(t.Context(), func(context.Context) error {
				if took := time.Since(begun); took > 20*time.Second && took < 25*time.Second {
					return nats.ErrTimeout // it has been found meanwhile
				}
				return unknown
			})
			if took := time.Since(begun); !errors.Is(err, unknown) || !strings.Contains(err.Error(), "is missing") ||
				took < 55*time.Second || took > 60*time.Second {
				t.Errorf("%v: after %v: %v", unknown, took, err)
			}
			begun = time.Now()
			err = retry(t.Context(), func(context.Context) error {
				if time.Since(begun) > 20*time.Second {
					return nil
				}
				return unknown
			})
			if err != nil {
				t.Errorf("%v: found after 20 s: %v", unknown, err)
			}
		}
	})
}

// A worker asks for as many jobs as it may do, those under way among them; what it asked for
// in vain does not count. One that has been idle for too long asks no more.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{w: &Worker{MaxJobs: 2}, left: 2}
		for i, want := range []bool{true, true, false} {
			if s.reserve() != want {
				t.Errorf("number %d of 2 is asked for: %v", i+1, !want)
			}
		}
		s.release(false)
		if !s.reserve() || s.reserve() {
			t.Error("one that did not come counts")
		}
		s.release(true)
		if s.reserve() {
			t.Error("one that is done counts no more")
		}
		s = &session{w: &Worker{Idle: time.Minute}, seen: time.Now()}
		time.Sleep(time.Minute)
		if !s.reserve() {
			t.Error("no job is asked for before the time is over")
		}
		time.Sleep(time.Minute)
		if !s.reserve() {
			t.Error("beside a job under way none is asked for")
		}
		s.release(true)
		s.release(false)
		time.Sleep(time.Minute + 1)
		if s.reserve() {
			t.Error("a job is asked for after the time is over")
		}
	})
}

// A key is found by its beginning, if no other begins like this.
func TestFind(t *testing.T) {
	q := connect(t, Options{URL: serve(t)})
	all := list(t, "k", 1, 2)
	for _, j := range all {
		if err := (&collector{q: q}).submit(t.Context(), q.key(j), j); err != nil {
			t.Fatal(err)
		}
	}
	first, second := q.key(all[0]), q.key(all[1])
	if s, err := q.Find(t.Context(), first[:12]); err != nil || s.Key != first || s.Title != "k 1" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := q.Find(t.Context(), second); err != nil || s.Key != second {
		t.Errorf("%+v, %v", s, err)
	}
	for beginning, want := range map[string]string{"": "2 keys begin", "x": `no job "x"`, first + "0": "no job"} {
		if _, err := q.Find(t.Context(), beginning); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", beginning, err)
		}
	}
}

// Whoever wants to hear of it is told that the connection is lost.
func TestLostConnection(t *testing.T) {
	s, err := natsserver.Serve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	told := make(chan string, 10)
	q := connect(t, Options{URL: s.URL(), Log: func(line string) { told <- line }})
	quiet := connect(t, Options{URL: s.URL()})
	s.Close()
	if line := <-told; !strings.Contains(line, "the connection to the queue is lost") {
		t.Error(line)
	}
	for _, q := range []*Queue{q, quiet} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, _, err := q.read(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
}
