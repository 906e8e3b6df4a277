package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of what a client sends before the body.
const (
	headerTimeout = 10 * time.Second
	headerBytes   = 32 << 10
	idleTimeout   = 2 * time.Minute
)

// Listen listens on a TCP address. At most Limits.Connections are open at once. If all places are taken, a new
// connection takes the place of one that has been idle for a while, or of an address that has more than
// Limits.ConnectionsPerSender, even if that is not idle. If there is no such place, a Server answers with
// 503. Proxies count as many addresses and have no share.
func Listen(address string, l Limits, proxies Proxies) (net.Listener, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return newLimitedListener(ln, l.withDefaults(), proxies), nil
}

// IsLoopback reports whether only this machine can reach a listener.
func IsLoopback(ln net.Listener) bool {
	a, ok := ln.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// httpServer returns the server for a port, with its time limits.
func (s *Server) httpServer(work context.Context, t *tls.Config) *http.Server {
	return &http.Server{
		Handler:                      s,
		TLSConfig:                    t,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  headerTimeout + 3*s.limits.Time, // for bodies that no route reads
		IdleTimeout:                  idleTimeout,
		ConnState:                    trackState,
		ConnContext:                  markRefused,
		MaxHeaderBytes:               headerBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // errors of clients
		BaseContext:                  func(net.Listener) context.Context { return work },
	}
}

// Serve answers requests until ctx ends, with LoadTLS if a configuration is given. Then it
// reports itself as not ready, accepts no new connections, lets running requests finish
// for up to Limits.Drain, cuts off the rest, and returns nil. It closes the listener, but
// not the Server.
func (s *Server) Serve(ctx context.Context, ln net.Listener, t *tls.Config) error {
	// The work of requests that are still running when the time is over ends with this
	// context.
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	h := s.httpServer(work, t)
	failed := make(chan error, 1)
	go func() {
		if t != nil {
			failed <- h.ServeTLS(ln, "", "")
		} else {
			failed <- h.Serve(ln)
		}
	}()
	select {
	case err := <-failed:
		h.Close()
		return fmt.Errorf("listening on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	s.log.Info("stopping", "drain", s.limits.Drain.String())
	wait, cancel := context.WithTimeout(work, s.limits.Drain)
	defer cancel()
	err := h.Shutdown(wait)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("requests were cut off", "after", s.limits.Drain.String())
		cut()
		err = h.Close()
	}
	<-failed
	s.log.Info("stopped")
	return err
}
