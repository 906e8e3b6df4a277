package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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

// ask sends a request over a connection and returns the status of its answer.
func ask(c net.Conn, request string) (int, error) {
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

const healthz = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

// TestOneAddress: whoever opens all connections that there are, and sends nothing, or
// a request and then nothing, keeps nobody else out, and not itself for long.
func TestOneAddress(t *testing.T) {
	for _, after := range []string{"", healthz} {
		s := newServer(t, Options{Limits: Limits{Connections: 40}})
		address := start(t, s)
		var mine []net.Conn
		for range 100 {
			mine = append(mine, dialFrom(t, "127.0.0.1", address))
			if after != "" {
				ask(mine[len(mine)-1], after) // refused beyond the share
			}
		}
		if status, err := ask(dialFrom(t, "127.0.0.2", address), healthz); status != 200 {
			t.Errorf("after %q another address gets %d, %v", after, status, err)
		}
		time.Sleep(newcomer)
		if status, err := ask(dialFrom(t, "127.0.0.1", address), healthz); status != 200 {
			t.Errorf("after %q the address itself gets %d, %v", after, status, err)
		}
	}
}

// TestManyAddresses: when all places are taken by several addresses, those who come
// get the place of a connection that waits for its next request, and one on which a
// request is under way keeps its own.
func TestManyAddresses(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{Connections: 20, PerSender: 5}})
	address := start(t, s)
	busy := dialFrom(t, "127.0.0.2", address)
	const body = `{"id":"red/001"}`
	fmt.Fprintf(busy, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(body), body[:4])
	for i := range 19 {
		if status, err := ask(dialFrom(t, fmt.Sprintf("127.0.0.%d", 3+i%4), address), healthz); status != 200 {
			t.Fatalf("%d, %v", status, err)
		}
	}
	for range 30 {
		if status, err := ask(dialFrom(t, "127.0.0.9", address), healthz); status != 200 {
			t.Fatalf("a latecomer gets %d, %v", status, err)
		}
	}
	if status, err := ask(busy, body[4:]); status != 200 {
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
	address := start(t, newServer(t, Options{Keys: keys, Limits: Limits{Time: 200 * time.Millisecond}}))
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

// oneByOne gives one byte a call.
type oneByOne struct{ io.Reader }

func (o oneByOne) Read(b []byte) (int, error) { return o.Reader.Read(b[:min(1, len(b))]) }

// TestBodyRate: a body must arrive at a rate; its end alone may take as long as
// Limits.Time.
func TestBodyRate(t *testing.T) {
	begin := time.Now()
	for n, want := range map[int64]time.Duration{0: headStart, slowest: headStart + time.Second,
		10 * slowest: headStart + 10*time.Second, 1 << 40: time.Minute} {
		if have := due(begin, n, time.Minute).Sub(begin); have != want {
			t.Errorf("after %d bytes %s, want %s", n, have, want)
		}
	}
	if have := due(begin, 1<<20, time.Second).Sub(begin); have != time.Second {
		t.Errorf("%s of a second", have)
	}
	s := newServer(t, Options{Limits: Limits{Time: time.Hour}})
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	const size = 2 * slowest
	r := httptest.NewRequest("POST", "/v1/search", oneByOne{strings.NewReader(strings.Repeat("x", size))})
	before := time.Now()
	body, err := s.readBody(w, r, &loan{from: s.memory})
	if err != nil || len(body) != size {
		t.Fatal(len(body), err)
	}
	took := time.Since(before)
	if len(w.set) < size {
		t.Fatalf("%d deadlines for %d bytes", len(w.set), size)
	}
	for i, at := range w.set[:size] {
		if left := at.Sub(before); left > headStart+time.Duration(i)*time.Second/slowest+took {
			t.Fatalf("byte %d may take %s", i, left)
		}
	}
}
