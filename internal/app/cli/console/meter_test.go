package console

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	var b bytes.Buffer
	m := (&Console{Err: &b}).NewMeter("f", Bytes)
	m.Show(1<<20, 4<<20)
	m.Close()
	if b.Len() != 0 {
		t.Errorf("what takes no time says %q", b.String())
	}
	// After the time between two lines.
	m.told = time.Now().Add(-m.every)
	m.begun = time.Now().Add(-3 * time.Second)
	m.Show(1<<20, 4<<20)
	m.Show(2<<20, 4<<20)
	m.Close()
	if got := b.String(); got != "f: 1 MiB of 4 MiB, 9s left\n" {
		t.Errorf("in a log %q", got)
	}

	b.Reset()
	m.terminal, m.every = true, 0
	m.Show(3<<20, 0)
	m.Show(1<<30, 0)
	m.Show(1<<20, 0)
	m.Close()
	m.Close()
	if got := b.String(); got != "\rf: 3 MiB\rf: 1 GiB\rf: 1 MiB\r        \r" {
		t.Errorf("on a terminal %q", got)
	}
	b.Reset()
	m.Show(1<<20+5, 0)
	m.Show(1, 0)
	if ok := regexp.MustCompile(`^\rf: 1 MiB\rf: 1 B  $`).MatchString(b.String()); !ok ||
		strings.Count(b.String(), "\n") != 0 {
		t.Errorf("a shorter line leaves the longer one's end: %q", b.String())
	}
}
