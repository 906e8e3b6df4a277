package serve

import (
	"testing"
	"testing/synctest"
	"time"
)

// Of connections that are quiet the one is closed that has been so for longest; one without
// a request only after its time, and of many senders one of who has most.
func TestQuietest(t *testing.T) { synctest.Test(t, testQuietest) } // in which no time passes

func testQuietest(t *testing.T) {
	l := newLimited(nil, Limits{Connections: 9, PerSender: 9}, nil)
	at := func(ago time.Duration, quiet, asked bool) *placed {
		return &placed{from: l, quiet: quiet, asked: asked, since: time.Now().Add(-ago)}
	}
	conns := func(all ...*placed) map[*placed]bool {
		out := map[*placed]bool{}
		for _, p := range all {
			out[p] = true
		}
		return out
	}
	busy, idle, long := at(time.Hour, false, true), at(time.Minute, true, true), at(2*time.Minute, true, true)
	fresh, ripe := at(0, true, false), at(time.Hour, true, false)
	for name, c := range map[string]struct {
		of   map[*placed]bool
		want *placed
	}{
		"one at work": {conns(busy), nil}, "two that wait": {conns(busy, idle, long), long},
		"a new one": {conns(busy, fresh), nil}, "one that never asked": {conns(idle, long, ripe, fresh), ripe},
		"one that waits and a new one": {conns(idle, fresh), idle}, "none": {nil, nil},
	} {
		got, wait := l.quietest(c.of)
		if got != c.want || wait > idler || wait <= 0 {
			t.Errorf("%s: %+v after %v, want %+v", name, got, wait, c.want)
		}
	}
	if got, wait := l.quietest(conns(at(idler/4, true, true))); got != nil || wait != idler*3/4 {
		t.Errorf("one that was answered a moment ago: %+v after %v", got, wait)
	}
	if got, wait := l.quietest(conns(at(newcomer/4, true, false), fresh)); got != nil || wait != newcomer*3/4 {
		t.Errorf("%+v after %v", got, wait)
	}
	l.of = map[string]map[*placed]bool{"a": conns(idle), "b": conns(busy, ripe),
		"c": conns(busy, busy, at(0, false, true))}
	if got, _ := l.crowd(); got != ripe {
		t.Errorf("of who has most of those with a quiet one: %+v", got)
	}
	l.of = map[string]map[*placed]bool{"a": conns(idle), "b": conns(long), "c": conns(busy)}
	if got, _ := l.crowd(); got != long {
		t.Errorf("of senders with as many: %+v", got)
	}
	l.of = map[string]map[*placed]bool{"a": conns(busy), "b": conns(fresh)}
	if got, wait := l.crowd(); got != nil || wait > newcomer || wait <= 0 {
		t.Errorf("of none: %+v after %v", got, wait)
	}
}

// For who has less than a share, the one with most beyond its own gives a connection: one that is
// quiet rather than one at work, and that for longest. Who has a share or less gives none, nor
// does a proxy.
func TestLent(t *testing.T) {
	l := newLimited(nil, Limits{Connections: 9, PerSender: 2}, nil)
	at := func(ago time.Duration, quiet bool) *placed {
		return &placed{from: l, quiet: quiet, asked: true, since: time.Now().Add(-ago)}
	}
	set := func(all ...*placed) map[*placed]bool {
		out := map[*placed]bool{}
		for _, p := range all {
			out[p] = true
		}
		return out
	}
	old, older, quiet := at(time.Minute, false), at(time.Hour, false), at(time.Second, true)
	proxy := at(time.Hour, true)
	proxy.proxy = true
	now := at(0, false)
	type senders map[string]map[*placed]bool
	some := set(old, older, now)
	for name, c := range map[string]struct {
		of   senders
		want *placed
	}{
		"nobody":              {nil, nil},
		"one at work":         {senders{"a": some}, older},
		"one that is quiet":   {senders{"a": set(old, older, quiet)}, quiet},
		"of who has most":     {senders{"a": some, "b": set(old, now, at(0, false), at(0, false))}, old},
		"of a share":          {senders{"a": set(older, quiet)}, nil},
		"of itself":           {senders{"who": some}, nil},
		"of a proxy":          {senders{"a": set(proxy, now, older)}, older},
		"of nothing but that": {senders{"a": set(proxy, &placed{proxy: true}, &placed{proxy: true, quiet: true})}, nil},
	} {
		l.of = c.of
		if got := l.lent("who"); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
