package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	var b bytes.Buffer
	m := (&app{err: &b}).newMeter("f", bytesUnit)
	m.show(1<<20, 4<<20)
	m.close()
	if b.Len() != 0 {
		t.Errorf("what takes no time says %q", b.String())
	}
	// After the time between two lines.
	m.told = time.Now().Add(-m.every)
	m.begun = time.Now().Add(-3 * time.Second)
	m.show(1<<20, 4<<20)
	m.show(2<<20, 4<<20)
	m.close()
	if got := b.String(); got != "f: 1 MiB of 4 MiB, 9s left\n" {
		t.Errorf("in a log %q", got)
	}

	b.Reset()
	m.terminal, m.every = true, 0
	m.show(3<<20, 0)
	m.show(1<<30, 0)
	m.show(1<<20, 0)
	m.close()
	m.close()
	if got := b.String(); got != "\rf: 3 MiB\rf: 1 GiB\rf: 1 MiB\r        \r" {
		t.Errorf("on a terminal %q", got)
	}
	b.Reset()
	m.show(1<<20+5, 0)
	m.show(1, 0)
	if ok := regexp.MustCompile(`^\rf: 1 MiB\rf: 1 B  $`).MatchString(b.String()); !ok ||
		strings.Count(b.String(), "\n") != 0 {
		t.Errorf("a shorter line leaves the longer one's end: %q", b.String())
	}
}

// What fetches data draws nothing where that would end in a log.
func TestFetchingIntoALog(t *testing.T) {
	var b bytes.Buffer
	g := (&app{err: &b}).newFetcher(t.TempDir())
	for done := range int64(100) {
		g.Bytes("train.gz", done<<20, 100<<20)
	}
	g.Progress("mnist: trying somewhere else")
	if got := b.String(); got != "mnist: trying somewhere else\n" {
		t.Errorf("wrote %q", got)
	}
}
