package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// startServer lets a server listen on a loopback port until the test ends, and fails the
// test if it does not stop.
func startServer(t testing.TB, s *Server) (address string) {
	t.Helper()
	address, stop := startTLS(t, s, "", "")
	t.Cleanup(stop)
	return address
}

func startTLS(t testing.TB, s *Server, cert, key string) (address string, stop func()) {
	t.Helper()
	ln, err := Listen("127.0.0.1:0", s.limits, s.opt.Proxies)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		if cert == "" {
			done <- s.Serve(ctx, ln, nil)
			return
		}
		conf, err := LoadTLS(cert, key, s.log)
		if err != nil {
			done <- err
			return
		}
		done <- s.Serve(ctx, ln, conf)
	}()
	stopped := false
	return ln.Addr().String(), func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// sendSlowly announces a body, and sends one byte of it.
func sendSlowly(address, method, target, kind string) (status int, header http.Header, body []byte, err error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return 0, nil, nil, err
	}
	defer c.Close()
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 1000\r\n\r\n{", method,
		target, kind)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, res.Header, body, err
}

// keyFile writes a file with a key to read and one to write.
func keyFile(t testing.TB) (path, read, write string) {
	t.Helper()
	read, readLine, err := NewKey("reader", Read)
	if err != nil {
		t.Fatal(err)
	}
	write, writeLine, err := NewKey("writer", Write)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("# keys\n"+readLine+"\n\n"+writeLine+" # of the importer\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return path, read, write
}

// Strangers have ten seconds for a head, three times the limit on time more for a body that
// no route reads, and two minutes between requests.
func TestTimesOfStrangers(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{Time: 7 * time.Second}})
	h := s.httpServer(context.Background(), nil)
	if h.ReadHeaderTimeout != 10*time.Second || h.ReadTimeout != 31*time.Second || h.IdleTimeout != 2*time.Minute ||
		h.MaxHeaderBytes <= 0 || h.Handler != s {
		t.Errorf("a head in %v, all in %v, idle for %v", h.ReadHeaderTimeout, h.ReadTimeout, h.IdleTimeout)
	}
}
