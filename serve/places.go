package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// newcomer is the time that a connection has for its first request, and idler for its next one, before
// another connection may take its place. A client that was just answered may be sending its next
// request: to it, a closed connection would be an error.
const (
	newcomer = time.Second
	idler    = 2 * time.Second
)

// Connections without a place get an answer that says so: at most mostRefused at once, each within
// the time refusal. The others are cut off.
const (
	mostRefused = 256
	refusal     = 2 * time.Second
)

// limited is a listener with a bound on open connections. If there is no place left, it closes the connection
// that has been quiet for longest: it waits for its next request, or has not sent the header of its first. Each
// sender has a share of the places. It keeps further places only until another sender needs them.
type limited struct {
	net.Listener
	total, share int
	proxies      Proxies // a proxy has many clients and may use all places

	mu      sync.Mutex
	open    int
	refused int
	full    time.Time                   // time since when no connection found a place; zero if one did
	of      map[string]map[*placed]bool // connections by sender
	changed chan struct{}               // a place is free, or a connection became quiet
	closed  chan struct{}
	once    sync.Once
}

func newLimited(ln net.Listener, l Limits, proxies Proxies) *limited {
	return &limited{Listener: ln, total: l.Connections, share: l.PerSender, proxies: proxies,
		of: map[string]map[*placed]bool{}, changed: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Accept returns the next connection that has a place, or one that must get the answer that all places
// are taken.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		remote := c.RemoteAddr().String()
		p := &placed{Conn: c, from: l, who: sender(remote), proxy: l.proxies.trustPeer(remote), quiet: true,
			since: time.Now()}
		for {
			taken, wait := l.take(p)
			if taken {
				return p, nil
			}
			if wait == 0 {
				if l.refuse(p) {
					return p, nil
				}
				c.Close()
				break
			}
			if !l.await(wait) {
				c.Close()
				return nil, net.ErrClosed
			}
		}
	}
}

// await waits until something changes, or for a time. It returns false when the
// listener is closed.
func (l *limited) await(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.closed:
		return false
	case <-l.changed:
	case <-t.C:
	}
	return true
}

// take gives a connection a place. If all are taken, wait is the time until the next try; 0 means never. A
// sender that has its share can only take its own places. No wait is longer than a quiet connection
// may stay.
func (l *limited) take(p *placed) (taken bool, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.total {
		mine := l.of[p.who]
		sated := !p.proxy && l.share < l.total && len(mine) >= l.share
		var victim *placed
		if sated {
			victim, _ = l.quietest(mine)
		} else if victim, wait = l.crowd(); victim == nil {
			victim = l.lent(p.who)
		}
		switch {
		case victim != nil:
			l.evict(victim)
		case sated:
			return false, 0
		case l.full.IsZero():
			l.full = time.Now()
			return false, wait
		default:
			return false, max(0, min(wait, idler-time.Since(l.full)))
		}
	}
	l.full = time.Time{}
	if l.of[p.who] == nil {
		l.of[p.who] = map[*placed]bool{}
	}
	l.of[p.who][p] = true
	l.open++
	return true, 0
}

// crowd returns the quietest connection of the sender with the most connections, among senders that have a
// quiet one.
func (l *limited) crowd() (victim *placed, ripe time.Duration) {
	ripe = idler
	most := 0
	for _, conns := range l.of {
		v, r := l.quietest(conns)
		ripe = min(ripe, r)
		if v == nil || len(conns) < most || len(conns) == most && v.since.After(victim.since) {
			continue
		}
		victim, most = v, len(conns)
	}
	return victim, ripe
}

// quietest returns the connection that has been quiet for longest, if it may be closed. If no connection may be
// closed yet, victim is nil, and ripe is the time until one may.
func (l *limited) quietest(conns map[*placed]bool) (victim *placed, ripe time.Duration) {
	ripe = idler
	for c := range conns {
		if !c.quiet {
			continue
		}
		patience := newcomer
		if c.asked {
			patience = idler
		}
		if left := patience - time.Since(c.since); left > 0 {
			ripe = min(ripe, left)
		} else if victim == nil || c.since.Before(victim.since) {
			victim = c
		}
	}
	return victim, ripe
}

// lent returns a connection to close for a sender with less than its share. It is a connection of the sender that
// exceeds its share most: the quiet one that has been quiet for longest, else the one that has been busy for
// longest.
func (l *limited) lent(to string) (victim *placed) {
	most := l.share
	for who, conns := range l.of {
		if who == to || len(conns) <= most {
			continue
		}
		var oldest *placed
		for c := range conns {
			if !c.proxy && (oldest == nil || c.quiet && !oldest.quiet ||
				c.quiet == oldest.quiet && c.since.Before(oldest.since)) {
				oldest = c
			}
		}
		if oldest != nil {
			victim, most = oldest, len(conns)
		}
	}
	return victim
}

// refuse keeps a connection without a place until it has its answer, unless there are too many such
// connections.
func (l *limited) refuse(p *placed) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused >= mostRefused {
		return false
	}
	l.refused++
	p.refused = time.AfterFunc(refusal, func() { p.Close() })
	return true
}

// evict closes a connection. Its place is free at once.
func (l *limited) evict(p *placed) {
	l.forget(p)
	go p.Conn.Close() // outside the lock: closing may wait
}

// forget frees a connection's place, once.
func (l *limited) forget(p *placed) {
	if p.gone {
		return
	}
	p.gone = true
	if p.refused != nil {
		p.refused.Stop()
		l.refused--
		return
	}
	delete(l.of[p.who], p)
	if len(l.of[p.who]) == 0 {
		delete(l.of, p.who)
	}
	l.open--
	l.tell()
}

func (l *limited) tell() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Close closes the listener and leaves the connections.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// placed is a connection with a place, which becomes free when it is closed. The
// listener's lock guards its fields.
type placed struct {
	net.Conn
	from    *limited
	who     string
	proxy   bool
	refused *time.Timer // closes a connection without a place

	quiet bool      // no request is running
	asked bool      // a request has been received
	since time.Time // when it became quiet
	gone  bool
}

func (c *placed) Close() error {
	c.from.mu.Lock()
	c.from.forget(c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}

// placeOf returns the placed connection of a server's connection; nil without the listener of Listen.
func placeOf(c net.Conn) *placed {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok { // a TLS connection
		c = t.NetConn()
	}
	p, _ := c.(*placed)
	return p
}

type refusedKey struct{}

// noteRefused marks the requests of a connection that has no place. It is for
// http.Server.ConnContext.
func noteRefused(ctx context.Context, c net.Conn) context.Context {
	if p := placeOf(c); p != nil && p.refused != nil {
		return context.WithValue(ctx, refusedKey{}, true)
	}
	return ctx
}

// noteState records for a connection's listener whether a request is running on it. It is
// for http.Server.ConnState.
func noteState(c net.Conn, state http.ConnState) {
	p := placeOf(c)
	if p == nil || p.refused != nil || state != http.StateActive && state != http.StateIdle {
		return
	}
	p.from.mu.Lock()
	defer p.from.mu.Unlock()
	if quiet := state == http.StateIdle; quiet != p.quiet {
		p.quiet, p.since, p.asked = quiet, time.Now(), true
		p.from.tell()
	}
}
