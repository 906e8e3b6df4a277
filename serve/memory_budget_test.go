package serve

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// Requests share memory to the last byte. One that could never have what it needs is told
// so; one that could, later, to come back.
func TestAccount(t *testing.T) {
	all := &memoryBudget{limit: 100}
	a, b := &memoryLoan{from: all}, &memoryLoan{from: all}
	refused := func(l *memoryLoan, n int64, as problemKind, text string) {
		t.Helper()
		var p *problem
		if err := l.take(n, "a picture"); !errors.As(err, &p) || p.problemKind != as ||
			!strings.Contains(p.detail, text) ||
			(p.retry == time.Second) != (as == overloaded) {
			t.Errorf("%d bytes: %v, want %s", n, err, text)
		}
	}
	taken := func(l *memoryLoan, n, inUse int64) {
		t.Helper()
		if err := l.take(n, "a picture"); err != nil || all.bytesInUse() != inUse {
			t.Errorf("%d bytes: %v, %d in use of %d", n, err, all.bytesInUse(), inUse)
		}
	}
	refused(a, 101, tooLarge, "a picture needs 101 bytes, but all requests together may use 100")
	taken(a, 60, 60)
	refused(a, 41, tooLarge, "a picture needs 101 bytes")
	refused(b, 41, overloaded, "other requests use the memory that a picture needs")
	taken(b, 40, 100)
	refused(a, 1, overloaded, "other requests")
	b.give(30)
	taken(a, 30, 100)
	a.end()
	if all.bytesInUse() != 10 || a.n != 0 {
		t.Errorf("%d in use", all.bytesInUse())
	}
	taken(a, 90, 100)
	a.end()
	b.end()
	if b.end(); all.bytesInUse() != 0 { // nothing twice
		t.Errorf("%d in use in the end", all.bytesInUse())
	}
}

// A body has five seconds and one more for every 4 KiB that came, and no more than all.
func TestDue(t *testing.T) {
	start := time.Unix(1000, 0)
	for n, want := range map[int64]time.Duration{0: 5 * time.Second, 2048: 5500 * time.Millisecond,
		40 << 10: 15 * time.Second, 100 << 10: 20 * time.Second} {
		if got := bodyDeadline(start, n, 20*time.Second).Sub(start); got != want {
			t.Errorf("%d bytes are due after %v, want %v", n, got, want)
		}
	}
	if got := bodyDeadline(start, 0, time.Second).Sub(start); got != time.Second {
		t.Errorf("due after %v of one second", got)
	}
}

// Waiting for a token costs none: who is early twice waits no longer.
func TestEarly(t *testing.T) {
	b := newRateLimiter(2, 1)
	now := time.Unix(1000, 0)
	if b.takeToken("a", now) != 0 {
		t.Error("the first one waits")
	}
	for range 3 {
		if wait := b.takeToken("a", now.Add(100*time.Millisecond)); wait != 400*time.Millisecond {
			t.Errorf("who is early waits %v", wait)
		}
	}
	if wait := b.takeToken("a", now.Add(500*time.Millisecond)); wait != 0 {
		t.Errorf("waits %v when it is due", wait)
	}
	free := newRateLimiter(-1, 1)
	for range 5 {
		if wait := free.takeToken("a", now); wait != 0 {
			t.Errorf("waits %v without a limit", wait)
		}
	}
	none := newRateLimiter(0, 1)
	if none.takeToken("a", now) != 0 || none.takeToken("a", now.Add(time.Hour)) == 0 {
		t.Error("a rate of 0 gives tokens")
	}
}

// Buckets that are full are forgotten once a second, others are not.
func TestSweep(t *testing.T) {
	b := newRateLimiter(1, 2)
	now := time.Unix(1000, 0)
	b.takeToken("busy", now)
	b.takeToken("busy", now)
	b.takeToken("calm", now)
	b.removeFull(now.Add(1500 * time.Millisecond))
	if b.bySender["busy"] == nil || b.bySender["calm"] != nil {
		t.Errorf("%d buckets: of the busy one %v", len(b.bySender), b.bySender["busy"])
	}
	b.removeFull(now.Add(2499 * time.Millisecond))
	if b.bySender["busy"] == nil {
		t.Error("swept twice within a second")
	}
	if b.removeFull(now.Add(2500 * time.Millisecond)); len(b.bySender) != 0 {
		t.Errorf("%d buckets", len(b.bySender))
	}
}

type address string

func (address) Network() string  { return "unix" }
func (a address) String() string { return string(a) }

type listenerAt struct {
	net.Listener
	at net.Addr
}

func (l listenerAt) Addr() net.Addr { return l.at }

func TestIsLoopback(t *testing.T) {
	for at, want := range map[net.Addr]bool{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}: true,
		&net.TCPAddr{IP: net.IPv6loopback}: true, &net.TCPAddr{IP: net.IPv4zero}: false,
		&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}: false, address("/run/kindred"): false} {
		if got := IsLoopback(listenerAt{at: at}); got != want {
			t.Errorf("%v is a loopback: %v", at, got)
		}
	}
}
