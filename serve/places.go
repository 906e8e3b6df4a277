package serve

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// newcomer is how long a connection may take to its first request before it gives its
// place to another.
const newcomer = time.Second

// limited is a listener with a bound on the connections that are open, and on those of
// one sender. When there is no place left, the connection that has been quiet for
// longest is closed: one that waits for its next request, or has not sent the header of
// its first.
type limited struct {
	net.Listener
	total, share int
	patience     time.Duration // with those without a request yet

	mu      sync.Mutex
	open    int
	of      map[string]map[*placed]bool // by sender
	changed chan struct{}               // a place is free, or a connection became quiet
	closed  chan struct{}
	once    sync.Once
}

func newLimited(ln net.Listener, l Limits) *limited {
	return &limited{Listener: ln, total: l.Connections, share: l.PerSender, patience: newcomer,
		of: map[string]map[*placed]bool{}, changed: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Accept returns the next connection that there is a place for. One whose sender has
// its share already, none of it quiet, is closed; for the others it waits.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p := &placed{Conn: c, from: l, who: sender(c.RemoteAddr().String()), quiet: true, since: time.Now()}
		for {
			taken, refused, wait := l.take(p)
			if taken {
				return p, nil
			}
			if refused {
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

// await waits until something changed, or for a time. It returns false when the
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

// take gives a connection a place. If there is none it says whether the connection is
// refused, or else when to try again.
func (l *limited) take(p *placed) (taken, refused bool, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mine := l.of[p.who]; len(mine) >= l.share {
		victim, ripe := l.quietest(mine)
		if victim == nil && l.share < l.total {
			return false, true, 0
		}
		if victim == nil {
			return false, false, ripe
		}
		l.evict(victim)
	}
	if l.open >= l.total {
		victim, ripe := l.crowd()
		if victim == nil {
			return false, false, ripe
		}
		l.evict(victim)
	}
	if l.of[p.who] == nil {
		l.of[p.who] = map[*placed]bool{}
	}
	l.of[p.who][p] = true
	l.open++
	return true, false, 0
}

// crowd returns the quietest connection of the sender that has most of those with a
// quiet one.
func (l *limited) crowd() (victim *placed, ripe time.Duration) {
	ripe = l.patience
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

// quietest returns the connection that has been quiet for longest of those that may be
// closed; nil if there is none, and then how long until there may be one.
func (l *limited) quietest(conns map[*placed]bool) (victim *placed, ripe time.Duration) {
	ripe = l.patience
	for c := range conns {
		if !c.quiet {
			continue
		}
		if left := l.patience - time.Since(c.since); !c.asked && left > 0 {
			ripe = min(ripe, left)
		} else if victim == nil || c.since.Before(victim.since) {
			victim = c
		}
	}
	return victim, ripe
}

// evict closes a connection, whose place is free at once.
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

// placed is a connection with a place, which it gives back when it is closed. The
// listener's lock guards its fields.
type placed struct {
	net.Conn
	from *limited
	who  string

	quiet bool      // no request has begun, or all are answered
	asked bool      // there has been a request
	since time.Time // when it became quiet
	gone  bool
}

func (c *placed) Close() error {
	c.from.mu.Lock()
	c.from.forget(c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}

// noteState tells a connection's listener whether a request is under way on it. It is
// for http.Server.ConnState.
func noteState(c net.Conn, state http.ConnState) {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok { // of TLS
		c = t.NetConn()
	}
	p, ok := c.(*placed)
	if !ok || state != http.StateActive && state != http.StateIdle {
		return
	}
	p.from.mu.Lock()
	defer p.from.mu.Unlock()
	if quiet := state == http.StateIdle; quiet != p.quiet {
		p.quiet, p.since, p.asked = quiet, time.Now(), true
		p.from.tell()
	}
}
