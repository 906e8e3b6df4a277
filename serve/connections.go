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
	firstRequestTime = time.Second
	nextRequestTime  = 2 * time.Second
)

// Connections without a place get an answer that says so: at most maxRefused at once, each within
// the time refusal. The others are cut off.
const (
	maxRefused  = 256
	refusalTime = 2 * time.Second
)

// limitedListener is a listener with a bound on open connections. If there is no place left, it closes the connection
// that has been quiet for longest: it waits for its next request, or has not sent the header of its first. Each
// sender has a share of the places. It keeps further places only until another sender needs them.
type limitedListener struct {
	net.Listener
	maxOpen, senderShare int
	proxies              Proxies // a proxy has many clients and may use all places

	mu        sync.Mutex
	open      int
	refused   int
	fullSince time.Time                       // time since when no connection found a place; zero if one did
	bySender  map[string]map[*placedConn]bool // connections by sender
	changed   chan struct{}                   // a place is free, or a connection became quiet
	closed    chan struct{}
	once      sync.Once
}

func newLimitedListener(ln net.Listener, l Limits, proxies Proxies) *limitedListener {
	return &limitedListener{Listener: ln, maxOpen: l.Connections, senderShare: l.ConnectionsPerSender, proxies: proxies,
		bySender: map[string]map[*placedConn]bool{}, changed: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Accept returns the next connection that has a place, or one that must get the answer that all places
// are taken.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		remote := c.RemoteAddr().String()
		p := &placedConn{Conn: c, from: l, sender: senderOf(remote), proxy: l.proxies.isProxyPeer(remote), quiet: true,
			quietSince: time.Now()}
		for {
			taken, wait := l.admit(p)
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
			if !l.waitForChange(wait) {
				c.Close()
				return nil, net.ErrClosed
			}
		}
	}
}

// waitForChange waits until something changes, or for a time. It returns false when the
// listener is closed.
func (l *limitedListener) waitForChange(d time.Duration) bool {
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

// admit gives a connection a place. If all are taken, wait is the time until the next try; 0 means never. A
// sender that has its share can only take its own places. No wait is longer than a quiet connection
// may stay.
func (l *limitedListener) admit(p *placedConn) (taken bool, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.maxOpen {
		mine := l.bySender[p.sender]
		sated := !p.proxy && l.senderShare < l.maxOpen && len(mine) >= l.senderShare
		var victim *placedConn
		if sated {
			victim, _ = l.findQuietest(mine)
		} else if victim, wait = l.findVictim(); victim == nil {
			victim = l.findLentPlace(p.sender)
		}
		switch {
		case victim != nil:
			l.evict(victim)
		case sated:
			return false, 0
		case l.fullSince.IsZero():
			l.fullSince = time.Now()
			return false, wait
		default:
			return false, max(0, min(wait, nextRequestTime-time.Since(l.fullSince)))
		}
	}
	l.fullSince = time.Time{}
	if l.bySender[p.sender] == nil {
		l.bySender[p.sender] = map[*placedConn]bool{}
	}
	l.bySender[p.sender][p] = true
	l.open++
	return true, 0
}

// findVictim returns the quietest connection of the sender with the most connections, among senders that have a
// quiet one.
func (l *limitedListener) findVictim() (victim *placedConn, ripe time.Duration) {
	ripe = nextRequestTime
	most := 0
	for _, conns := range l.bySender {
		v, r := l.findQuietest(conns)
		ripe = min(ripe, r)
		if v == nil || len(conns) < most || len(conns) == most && v.quietSince.After(victim.quietSince) {
			continue
		}
		victim, most = v, len(conns)
	}
	return victim, ripe
}

// findQuietest returns the connection that has been quiet for longest, if it may be closed. If no connection may be
// closed yet, victim is nil, and ripe is the time until one may.
func (l *limitedListener) findQuietest(conns map[*placedConn]bool) (victim *placedConn, ripe time.Duration) {
	ripe = nextRequestTime
	for c := range conns {
		if !c.quiet {
			continue
		}
		patience := firstRequestTime
		if c.asked {
			patience = nextRequestTime
		}
		if left := patience - time.Since(c.quietSince); left > 0 {
			ripe = min(ripe, left)
		} else if victim == nil || c.quietSince.Before(victim.quietSince) {
			victim = c
		}
	}
	return victim, ripe
}

// findLentPlace returns a connection to close for a sender with less than its share. It is a connection of
// the sender that exceeds its share most: the quiet one that has been quiet for longest, else the one that
// has been busy for longest.
func (l *limitedListener) findLentPlace(to string) (victim *placedConn) {
	most := l.senderShare
	for who, conns := range l.bySender {
		if who == to || len(conns) <= most {
			continue
		}
		var oldest *placedConn
		for c := range conns {
			if !c.proxy && (oldest == nil || c.quiet && !oldest.quiet ||
				c.quiet == oldest.quiet && c.quietSince.Before(oldest.quietSince)) {
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
func (l *limitedListener) refuse(p *placedConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused >= maxRefused {
		return false
	}
	l.refused++
	p.refused = time.AfterFunc(refusalTime, func() { p.Close() })
	return true
}

// evict closes a connection. Its place is free at once.
func (l *limitedListener) evict(p *placedConn) {
	l.release(p)
	go p.Conn.Close() // outside the lock: closing may wait
}

// release frees a connection's place, once.
func (l *limitedListener) release(p *placedConn) {
	if p.gone {
		return
	}
	p.gone = true
	if p.refused != nil {
		p.refused.Stop()
		l.refused--
		return
	}
	delete(l.bySender[p.sender], p)
	if len(l.bySender[p.sender]) == 0 {
		delete(l.bySender, p.sender)
	}
	l.open--
	l.signalChange()
}

func (l *limitedListener) signalChange() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Close closes the listener and leaves the connections.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// placedConn is a connection with a place, which becomes free when it is closed. The
// listener's lock guards its fields.
type placedConn struct {
	net.Conn
	from    *limitedListener
	sender  string
	proxy   bool
	refused *time.Timer // closes a connection without a place

	quiet      bool      // no request is running
	asked      bool      // a request has been received
	quietSince time.Time // when it became quiet
	gone       bool
}

func (c *placedConn) Close() error {
	c.from.mu.Lock()
	c.from.release(c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}

// placedConnOf returns the placed connection of a server's connection; nil without the listener of Listen.
func placedConnOf(c net.Conn) *placedConn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok { // a LoadTLS connection
		c = t.NetConn()
	}
	p, _ := c.(*placedConn)
	return p
}

type refusedKey struct{}

// markRefused marks the requests of a connection that has no place. It is for
// http.Server.ConnContext.
func markRefused(ctx context.Context, c net.Conn) context.Context {
	if p := placedConnOf(c); p != nil && p.refused != nil {
		return context.WithValue(ctx, refusedKey{}, true)
	}
	return ctx
}

// trackState records for a connection's listener whether a request is running on it. It is
// for http.Server.ConnState.
func trackState(c net.Conn, state http.ConnState) {
	p := placedConnOf(c)
	if p == nil || p.refused != nil || state != http.StateActive && state != http.StateIdle {
		return
	}
	p.from.mu.Lock()
	defer p.from.mu.Unlock()
	if quiet := state == http.StateIdle; quiet != p.quiet {
		p.quiet, p.quietSince, p.asked = quiet, time.Now(), true
		p.from.signalChange()
	}
}
