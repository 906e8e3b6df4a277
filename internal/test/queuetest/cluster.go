// Package queuetest starts a cluster of NATS servers for tests.
package queuetest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Servers is a cluster of three servers on loopback.
type Servers struct {
	// URL has the addresses of all servers.
	URL string

	options []*server.Options
	running []*server.Server
}

// Cluster starts the servers, which end with the test.
func Cluster(t testing.TB) *Servers {
	t.Helper()
	s := &Servers{running: make([]*server.Server, 3)}
	t.TempDir() // The folder is removed after the servers have ended, because cleanups run in reverse order.
	t.Cleanup(s.stop)
	for range attempts {
		s.options = serverOptions(t)
		for i := range s.options {
			s.launch(t, i)
		}
		if s.isReady() {
			var urls []string
			for _, one := range s.running {
				urls = append(urls, one.ClientURL())
			}
			s.URL = strings.Join(urls, ",")
			return s
		}
		s.stop()
	}
	t.Fatal("the servers do not start")
	return nil
}

// attempts is the largest number of starts of the servers. A start fails if another
// program takes a port between its choice and its use.
const attempts = 5

// serverOptions returns the options of three servers. Each server must know the ports of the
// others' routes before any of them listens.
func serverOptions(t testing.TB) []*server.Options {
	t.Helper()
	ports := freePorts(t, 6)
	var routes []*url.URL
	for _, port := range ports[:3] {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
	}
	var all []*server.Options
	for i := range routes {
		all = append(all, &server.Options{ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: ports[3+i],
			JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, Routes: routes,
			Cluster: server.ClusterOpts{Name: "kindred", Host: "127.0.0.1", Port: ports[i]}})
	}
	return all
}

// freePorts returns ports that are free now, below the ports that systems give to
// connections.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(10_000)))
		if err != nil {
			continue
		}
		defer l.Close() // closed when all are found, so that no two are the same
		if ports = append(ports, l.Addr().(*net.TCPAddr).Port); len(ports) == n {
			return ports
		}
	}
	t.Fatal("no free ports")
	return nil
}

func (s *Servers) launch(t testing.TB, i int) {
	t.Helper()
	o := *s.options[i] // a copy, because the server changes its options
	one, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	one.Start()
	s.running[i] = one
}

// isReady waits for the running servers, and reports whether they listen.
func (s *Servers) isReady() bool {
	for _, one := range s.running {
		if one != nil && !one.ReadyForConnections(30*time.Second) {
			return false
		}
	}
	return true
}

func (s *Servers) stop() {
	for i := range s.running {
		s.Stop(i)
	}
}

// Stop ends a server without a message to its clients.
func (s *Servers) Stop(i int) {
	if s.running[i] != nil {
		s.running[i].Shutdown()
		s.running[i].WaitForShutdown()
		s.running[i] = nil
	}
}

// Start starts a stopped server again, with its stored data.
func (s *Servers) Start(t testing.TB, i int) {
	t.Helper()
	for range attempts {
		s.launch(t, i)
		if s.isReady() {
			return
		}
		s.Stop(i)
	}
	t.Fatal("a stopped server does not start again")
}
