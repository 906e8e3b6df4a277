package serve

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// dialFrom connects from a loopback address of its own, which Linux alone has many of.
func dialFrom(t testing.TB, from, to string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(context.Background(), "tcp", to)
	if err != nil {
		t.Skipf("no second loopback address here: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	// What never ends fails the test instead of stopping it.
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// sendRequest sends a request over a connection and returns the status of its answer.
func sendRequest(c net.Conn, request string) (int, error) {
	if _, err := io.WriteString(c, request); err != nil {
		return 0, err
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

const (
	healthRequest = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	infoRequest   = "GET /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n"
)

// TestOneAddress: whoever opens all connections that there are, and sends nothing, or
// a request and then nothing, keeps nobody else out, and not itself for long.
func TestOneAddress(t *testing.T) {
	t.Parallel() // it waits
	for _, after := range []string{"", healthRequest} {
		s := newServer(t, Options{Limits: Limits{Connections: 40}})
		address := startServer(t, s)
		var mine []net.Conn
		for range 100 {
			mine = append(mine, dialFrom(t, "127.0.0.1", address))
			if after != "" {
				sendRequest(mine[len(mine)-1], after) // refused beyond the share
			}
		}
		if status, err := sendRequest(dialFrom(t, "127.0.0.2", address), healthRequest); status != 200 {
			t.Errorf("after %q another address gets %d, %v", after, status, err)
		}
		time.Sleep(max(firstRequestTime, nextRequestTime))
		if status, err := sendRequest(dialFrom(t, "127.0.0.1", address), healthRequest); status != 200 {
			t.Errorf("after %q the address itself gets %d, %v", after, status, err)
		}
	}
}

// TestManyAddresses: when all places are taken by several addresses, those who come
// get the place of a connection that waits for its next request, and one on which a
// request is under way keeps its own.
func TestManyAddresses(t *testing.T) {
	t.Parallel() // it waits
	s := newServer(t, Options{Limits: Limits{Connections: 20, ConnectionsPerSender: 5}})
	address := startServer(t, s)
	busy := dialFrom(t, "127.0.0.2", address)
	const body = `{"id":"red/001"}`
	fmt.Fprintf(busy, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(body), body[:4])
	for i := range 19 {
		if status, err := sendRequest(dialFrom(t, fmt.Sprintf("127.0.0.%d", 3+i%4), address),
			healthRequest); status != 200 {
			t.Fatalf("%d, %v", status, err)
		}
	}
	for i := range 30 {
		if status, err := sendRequest(dialFrom(t, fmt.Sprintf("127.0.1.%d", 1+i), address),
			healthRequest); status != 200 {
			t.Fatalf("a latecomer gets %d, %v", status, err)
		}
	}
	if status, err := sendRequest(busy, body[4:]); status != 200 {
		t.Errorf("the request that was under way: %d, %v", status, err)
	}
}

// TestUnreadBody: a body that is announced and never sent holds its connection no
// longer than one that is read, though the request had no key, or met no route.
func TestUnreadBody(t *testing.T) {
	path, _, _ := keyFile(t)
	keys, err := OpenKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	address := startServer(t, newServer(t, Options{Keys: keys, Limits: Limits{Time: 200 * time.Millisecond}}))
	for _, target := range []string{"/v1/search", "/nothing"} {
		c := dialFrom(t, "127.0.0.1", address)
		c.SetDeadline(time.Now().Add(8 * time.Second)) // of the 10 s that a header may take
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", target)
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("%s: the connection is not closed: %v", target, err)
		}
	}
}

// deadlines notes the read deadlines that are set.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.set = append(d.set, t); return nil }

// byteReader gives one byte a call.
type byteReader struct{ io.Reader }

func (o byteReader) Read(b []byte) (int, error) { return o.Reader.Read(b[:min(1, len(b))]) }

// TestBodyRate: a body must arrive at a rate; its end alone may take as long as
// Limits.Time.
func TestBodyRate(t *testing.T) {
	begin := time.Now()
	for n, want := range map[int64]time.Duration{0: bodyHeadStart, minBodyRate: bodyHeadStart + time.Second,
		10 * minBodyRate: bodyHeadStart + 10*time.Second, 1 << 40: time.Minute} {
		if have := bodyDeadline(begin, n, time.Minute).Sub(begin); have != want {
			t.Errorf("after %d bytes %s, want %s", n, have, want)
		}
	}
	if have := bodyDeadline(begin, 1<<20, time.Second).Sub(begin); have != time.Second {
		t.Errorf("%s of a second", have)
	}
	s := newServer(t, Options{Limits: Limits{Time: time.Hour}})
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	const size = 2 * minBodyRate
	r := httptest.NewRequest("POST", "/v1/search", byteReader{strings.NewReader(strings.Repeat("x", size))})
	before := time.Now()
	body, err := s.readBody(w, r, &memoryLoan{from: s.memory})
	if err != nil || len(body) != size {
		t.Fatal(len(body), err)
	}
	took := time.Since(before)
	if len(w.set) < size {
		t.Fatalf("%d deadlines for %d bytes", len(w.set), size)
	}
	for i, at := range w.set[:size] {
		if left := at.Sub(before); left > bodyHeadStart+time.Duration(i)*time.Second/minBodyRate+took {
			t.Fatalf("byte %d may take %s", i, left)
		}
	}
}

// connectBusy connects from an address and begins a request whose body does not come.
func connectBusy(t testing.TB, from, to string) net.Conn {
	t.Helper()
	c := dialFrom(t, from, to)
	fmt.Fprint(c, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	// The server says this when it begins to read the body.
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		t.Fatal(line, err)
	}
	return c
}

// requireRefusal fails unless a connection is told in words that there is no place for it.
func requireRefusal(t testing.TB, c net.Conn, request string) {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("cut off instead of told: %v", err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 503 || !res.Close || res.Header.Get("Retry-After") != "1" ||
		!strings.Contains(string(body), `"code":"overloaded"`) || !strings.Contains(string(body), "are in use") {
		t.Errorf("%d, %v, %s, %v", res.StatusCode, res.Header, body, err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("the connection stays open")
	}
}

// startListener lets a server listen until the test ends, and returns its listener.
func startListener(t *testing.T, s *Server, secure bool) *limitedListener {
	t.Helper()
	var conf *tls.Config
	if secure {
		cert, key := filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
		certificate(t, cert, key, 1)
		var err error
		if conf, err = LoadTLS(cert, key, s.log); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := Listen("127.0.0.1:0", s.limits, s.opt.Proxies)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln, conf) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return ln.(*limitedListener)
}

// counts are how many connections of an address there are, of all how many have a request under
// way, and how many are told that there is no place.
func (l *limitedListener) counts(who string) (mine, active, refused int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conns := range l.bySender {
		for c := range conns {
			if !c.quiet {
				active++
			}
		}
	}
	return len(l.bySender[who]), active, l.refused
}

// waitUntil waits for something that comes about soon.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what + " does not come about")
		}
	}
}

// TestBusyAddress: whoever has requests under way on all connections that there are keeps its
// share of them, and nobody else out of the rest; beyond its share it is told that there is none.
func TestBusyAddress(t *testing.T) {
	t.Parallel() // it waits
	l := startListener(t, newServer(t, Options{Limits: Limits{Connections: 24, ConnectionsPerSender: 16}}), false)
	address := l.Addr().String()
	for range 24 {
		connectBusy(t, "127.0.0.1", address)
	}
	requireRefusal(t, dialFrom(t, "127.0.0.1", address), infoRequest)
	for i := range 8 {
		if status, err := sendRequest(dialFrom(t, fmt.Sprintf("127.0.0.%d", 2+i), address),
			healthRequest); status != 200 {
			t.Fatalf("another address gets %d, %v", status, err)
		}
	}
	// The others have less than a share each, and one of them that is idle gives way.
	if status, err := sendRequest(dialFrom(t, "127.0.0.99", address), healthRequest); status != 200 {
		t.Errorf("one more address gets %d, %v", status, err)
	}
	if mine, _, _ := l.counts("127.0.0.1"); mine != 16 {
		t.Errorf("the first has %d connections, want its share of 16", mine)
	}
}

// TestFullOfShares: where everyone has requests under way and no more than a share, who comes
// is told that there is no place, also over LoadTLS, and has one when a request has ended.
func TestFullOfShares(t *testing.T) {
	t.Parallel() // it waits
	for _, secure := range []bool{false, true} {
		l := startListener(t, newServer(t, Options{Limits: Limits{Connections: 4, ConnectionsPerSender: 2}}), secure)
		dial := func(from string) net.Conn {
			c := dialFrom(t, from, l.Addr().String())
			if secure {
				c = tls.Client(c, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // its own certificate
			}
			return c
		}
		begin := func(from string) net.Conn {
			c := dial(from)
			fmt.Fprint(c, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
			return c
		}
		begun := []net.Conn{begin("127.0.0.2"), begin("127.0.0.2"), begin("127.0.0.3"), begin("127.0.0.4")}
		waitUntil(t, "that all are busy", func() bool { _, active, _ := l.counts(""); return active == 4 })
		requireRefusal(t, dial("127.0.0.5"), infoRequest)
		requireRefusal(t, dial("127.0.0.5"),
			"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
		silent := dial("127.0.0.5") // is not waited for
		begun[0].Close()
		waitUntil(t, "a free place", func() bool { _, active, _ := l.counts(""); return active == 3 })
		if status, err := sendRequest(dial("127.0.0.5"), healthRequest); status != 200 {
			t.Errorf("over TLS %v: %d, %v after a place is free", secure, status, err)
		}
		waitUntil(t, "that all have been told", func() bool { _, _, refused := l.counts(""); return refused == 0 })
		silent.Close()
		for _, c := range begun {
			c.Close()
		}
	}
}

// TestManyRefused: beyond those who are told that there is no place, others are cut off, and
// nobody waits for them.
func TestManyRefused(t *testing.T) {
	l := newLimitedListener(nil, Limits{Connections: 1, ConnectionsPerSender: 1}, nil)
	var all []*placedConn
	for i := range maxRefused + 1 {
		a, b := net.Pipe()
		defer b.Close()
		p := &placedConn{Conn: a, from: l}
		if took := l.refuse(p); took != (i < maxRefused) {
			t.Fatalf("refusal %d: %v", i, took)
		}
		all = append(all, p)
	}
	for _, p := range all[:maxRefused] {
		p.Close()
		p.Close()
	}
	if l.refused != 0 || l.open != 0 {
		t.Errorf("%d are told, %d open", l.refused, l.open)
	}
}

// TestManyClients: as many clients as a proxy has, all of one address, ask over connections that
// stay open, and none of these is closed.
func TestManyClients(t *testing.T) {
	const clients, requests = 600, 10
	s := newServer(t, Options{})
	l := startListener(t, s, false)
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(time.Minute))
			for i := range requests {
				begin := time.Now()
				if status, err := sendRequest(c, healthRequest); status != 200 {
					t.Errorf("request %d: %d, %v", i, status, err)
					return
				}
				mu.Lock()
				took = append(took, time.Since(begin))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	if len(took) != clients*requests {
		t.Fatalf("%d answers of %d", len(took), clients*requests)
	}
	t.Logf("99 %% of the answers within %v", took[len(took)*99/100])
}

// TestProxyPlaces: connections of a proxy are as good as those of many: they have all places, and
// keep them while requests are under way.
func TestProxyPlaces(t *testing.T) {
	t.Parallel() // it waits
	proxies, err := ParseProxies([]string{"127.0.0.7"})
	if err != nil {
		t.Fatal(err)
	}
	l := startListener(t, newServer(t, Options{Proxies: proxies,
		Limits: Limits{Connections: 6, ConnectionsPerSender: 2}}), false)
	for range 5 {
		connectBusy(t, "127.0.0.7", l.Addr().String())
	}
	last := dialFrom(t, "127.0.0.7", l.Addr().String())
	if status, err := sendRequest(last, healthRequest); status != 200 {
		t.Fatalf("%d, %v", status, err)
	}
	// One that is idle gives way, those that are not do not.
	connectBusy(t, "127.0.0.8", l.Addr().String())
	requireRefusal(t, dialFrom(t, "127.0.0.9", l.Addr().String()), infoRequest)
	if mine, active, _ := l.counts("127.0.0.7"); mine != 5 || active != 6 {
		t.Errorf("the proxy has %d connections, and %d are active", mine, active)
	}
}

// Of connections that are quiet the one is closed that has been so for longest; one without
// a request only after its time, and of many senders one of who has most.
func TestQuietest(t *testing.T) { synctest.Test(t, testQuietest) } // in which no time passes

func testQuietest(t *testing.T) {
	l := newLimitedListener(nil, Limits{Connections: 9, ConnectionsPerSender: 9}, nil)
	at := func(ago time.Duration, quiet, asked bool) *placedConn {
		return &placedConn{from: l, quiet: quiet, asked: asked, quietSince: time.Now().Add(-ago)}
	}
	conns := func(all ...*placedConn) map[*placedConn]bool {
		out := map[*placedConn]bool{}
		for _, p := range all {
			out[p] = true
		}
		return out
	}
	busy, idle, long := at(time.Hour, false, true), at(time.Minute, true, true), at(2*time.Minute, true, true)
	fresh, ripe := at(0, true, false), at(time.Hour, true, false)
	for name, c := range map[string]struct {
		of   map[*placedConn]bool
		want *placedConn
	}{
		"one at work": {conns(busy), nil}, "two that wait": {conns(busy, idle, long), long},
		"a new one": {conns(busy, fresh), nil}, "one that never asked": {conns(idle, long, ripe, fresh), ripe},
		"one that waits and a new one": {conns(idle, fresh), idle}, "none": {nil, nil},
	} {
		got, wait := l.findQuietest(c.of)
		if got != c.want || wait > nextRequestTime || wait <= 0 {
			t.Errorf("%s: %+v after %v, want %+v", name, got, wait, c.want)
		}
	}
	if got, wait := l.findQuietest(conns(at(nextRequestTime/4, true, true))); got != nil ||
		wait != nextRequestTime*3/4 {
		t.Errorf("one that was answered a moment ago: %+v after %v", got, wait)
	}
	if got, wait := l.findQuietest(conns(at(firstRequestTime/4, true, false), fresh)); got != nil ||
		wait != firstRequestTime*3/4 {
		t.Errorf("%+v after %v", got, wait)
	}
	l.bySender = map[string]map[*placedConn]bool{"a": conns(idle), "b": conns(busy, ripe),
		"c": conns(busy, busy, at(0, false, true))}
	if got, _ := l.findVictim(); got != ripe {
		t.Errorf("of who has most of those with a quiet one: %+v", got)
	}
	l.bySender = map[string]map[*placedConn]bool{"a": conns(idle), "b": conns(long), "c": conns(busy)}
	if got, _ := l.findVictim(); got != long {
		t.Errorf("of senders with as many: %+v", got)
	}
	l.bySender = map[string]map[*placedConn]bool{"a": conns(busy), "b": conns(fresh)}
	if got, wait := l.findVictim(); got != nil || wait > firstRequestTime || wait <= 0 {
		t.Errorf("of none: %+v after %v", got, wait)
	}
}

// For who has less than a share, the one with most beyond its own gives a connection: one that is
// quiet rather than one at work, and that for longest. Who has a share or less gives none, nor
// does a proxy.
func TestLent(t *testing.T) {
	l := newLimitedListener(nil, Limits{Connections: 9, ConnectionsPerSender: 2}, nil)
	at := func(ago time.Duration, quiet bool) *placedConn {
		return &placedConn{from: l, quiet: quiet, asked: true, quietSince: time.Now().Add(-ago)}
	}
	set := func(all ...*placedConn) map[*placedConn]bool {
		out := map[*placedConn]bool{}
		for _, p := range all {
			out[p] = true
		}
		return out
	}
	old, older, quiet := at(time.Minute, false), at(time.Hour, false), at(time.Second, true)
	proxy := at(time.Hour, true)
	proxy.proxy = true
	now := at(0, false)
	type senders map[string]map[*placedConn]bool
	some := set(old, older, now)
	for name, c := range map[string]struct {
		of   senders
		want *placedConn
	}{
		"nobody":            {nil, nil},
		"one at work":       {senders{"a": some}, older},
		"one that is quiet": {senders{"a": set(old, older, quiet)}, quiet},
		"of who has most":   {senders{"a": some, "b": set(old, now, at(0, false), at(0, false))}, old},
		"of a share":        {senders{"a": set(older, quiet)}, nil},
		"of itself":         {senders{"who": some}, nil},
		"of a proxy":        {senders{"a": set(proxy, now, older)}, older},
		"of nothing but that": {senders{"a": set(proxy, &placedConn{proxy: true},
			&placedConn{proxy: true, quiet: true})}, nil},
	} {
		l.bySender = c.of
		if got := l.findLentPlace("who"); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
