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
