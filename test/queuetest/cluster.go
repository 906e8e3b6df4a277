// Package queuetest has a cluster of NATS servers for tests.
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

// Servers are three servers on loopback that know each other.
type Servers struct {
	// URL is how all of them are reached.
	URL string

	options []*server.Options
	running []*server.Server
}

// Cluster starts the servers, which end with the test.
func Cluster(t testing.TB) *Servers {
	t.Helper()
	s := &Servers{running: make([]*server.Server, 3)}
	t.TempDir() // is removed when the servers have ended: what comes first is cleaned up last
	t.Cleanup(s.stop)
	for range attempts {
		s.options = options(t)
		for i := range s.options {
			s.launch(t, i)
		}
		if s.ready() {
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

// attempts is how often servers are started: another program may have taken a port
// between its choice and its use.
const attempts = 5

// options are those of three servers. Each one has to know the ports of the others'
// routes before any of them listens.
func options(t testing.TB) []*server.Options {
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

// freePorts returns ports that are free now, below those that systems give away to
// connections.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(10_000)))
		if err != nil {
			continue
		}
		defer l.Close() // when all are found: no two are the same
		if ports = append(ports, l.Addr().(*net.TCPAddr).Port); len(ports) == n {
			return ports
		}
	}
	t.Fatal("no free ports")
	return nil
}

func (s *Servers) launch(t testing.TB, i int) {
	t.Helper()
	o := *s.options[i] // the server changes its own
	one, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	one.Start()
	s.running[i] = one
}

// ready waits for the servers that run, and tells whether they listen.
func (s *Servers) ready() bool {
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

// Stop ends a server without a word to its clients.
func (s *Servers) Stop(i int) {
	if s.running[i] != nil {
		s.running[i].Shutdown()
		s.running[i].WaitForShutdown()
		s.running[i] = nil
	}
}

// Start starts a server that was stopped, with what it had stored.
func (s *Servers) Start(t testing.TB, i int) {
	t.Helper()
	for range attempts {
		s.launch(t, i)
		if s.ready() {
			return
		}
		s.Stop(i)
	}
	t.Fatal("a server does not start again")
}
