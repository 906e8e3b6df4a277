// Package queuetest has a cluster of NATS servers for tests.
package queuetest

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
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
	var routes []*url.URL
	for range 3 { // ports that are free now
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := &Servers{running: make([]*server.Server, len(routes))}
	for i, r := range routes {
		port, err := strconv.Atoi(r.Port())
		if err != nil {
			t.Fatal(err)
		}
		s.options = append(s.options, &server.Options{ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: -1,
			JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, Routes: routes,
			Cluster: server.ClusterOpts{Name: "kindred", Host: "127.0.0.1", Port: port}})
	}
	t.Cleanup(func() {
		for i := range s.running {
			s.Stop(i)
		}
	})
	for i := range routes {
		s.launch(t, i)
	}
	var urls []string
	for i := range routes {
		urls = append(urls, s.ready(t, i))
	}
	s.URL = strings.Join(urls, ",")
	return s
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

// ready waits for a server and returns how it is reached, now and after Start.
func (s *Servers) ready(t testing.TB, i int) string {
	t.Helper()
	if !s.running[i].ReadyForConnections(30 * time.Second) {
		t.Fatal("a server does not start")
	}
	u := s.running[i].ClientURL()
	at, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	if s.options[i].Port, err = strconv.Atoi(at.Port()); err != nil {
		t.Fatal(err)
	}
	return u
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
	s.launch(t, i)
	s.ready(t, i)
}
