package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shellScript is a peer that speaks the protocol in shell.
const shellScript = `case "$1 $2" in
"--tune "|--tune) echo '{"env": {"SPEED": "7.5"}, "versions": {"Toy": "1.2.3"}, "blas": "none", "core_type": "fast", "threads": 2}';;
"--serve good")
	echo '{"tool": "Toy", "variants": ["good", "good-cl"]}'
	while read word variant; do
		case $variant in
		good) echo '{"ms": 12.5}';;
		*) echo "{\"ms\": $SPEED}";;
		esac
	done;;
"--serve missing") echo 'no case missing' >&2; exit 3;;
"--serve silent") ;;
"--serve noise") echo 'hello';;
"--serve zero") echo '{"variants": ["zero"]}'; while read line; do echo '{"ms": 0}'; done;;
"--serve slow") exec sleep 60;;
"--serve dies") echo '{"variants": ["dies"]}'; read line; echo 'MemoryError: too much' >&2; exit 1;;
*) echo 'ImportError: no torch' >&2; exit 1;;
esac
`

func toyPeer(t *testing.T) *Peer { return shellPeer(t, shellScript) }

func shellPeer(t *testing.T, script string) *Peer {
	path := filepath.Join(t.TempDir(), "peer.sh")
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("the peer of this test is a shell script")
	}
	return &Peer{Python: "/bin/sh", Script: path}
}

func quickCase(name string) Case {
	return Case{Name: name, Items: 1, Setup: func() (func() error, float64, error) {
		return func() error { time.Sleep(time.Millisecond); return nil }, 0, nil
	}}
}

// TestPeer times a case beside its peer, which is the faster variant in the
// environment that tuning found.
func TestPeer(t *testing.T) {
	p := toyPeer(t)
	if err := p.Tune(context.Background()); err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), quickCase("good"), p)
	if err != nil {
		t.Fatal(err)
	}
	if want := (PeerTimes{"Toy 1.2", "good-cl", Times{7.5, 7.5, 7.5}}); r.Peer == nil || *r.Peer != want {
		t.Errorf("peer %+v, want %+v", r.Peer, want)
	}
	if r.Ratio != 7.5/r.MedianMS {
		t.Errorf("ratio %v of medians %v and 7.5", r.Ratio, r.MedianMS)
	}
	if r, err := Run(context.Background(), quickCase("missing"), p); err != nil || r.Peer != nil || r.MedianMS == 0 {
		t.Errorf("a case that the peer does not have: %+v, %v", r, err)
	}
}

// otherScript is a peer that has few cases. Its way to do the good one is the fastest of all.
const otherScript = `case "$1 $2" in
"--serve good") echo '{"variants": ["good"]}'; while read line; do echo '{"ms": 3.25}'; done;;
"--serve fails") echo 'Killed: by a test' >&2; exit 1;;
*) exit 3;;
esac
`

// TestPeers times a case beside several peers: the fastest is named, and all are kept.
func TestPeers(t *testing.T) {
	p := toyPeer(t)
	if err := p.Tune(context.Background()); err != nil {
		t.Fatal(err)
	}
	second := shellPeer(t, otherScript)
	for _, peers := range [][]*Peer{{p, second}, {second, nil, p}} {
		r, err := Run(context.Background(), quickCase("good"), peers...)
		if err != nil {
			t.Fatal(err)
		}
		if want := (PeerTimes{"", "good", Times{3.25, 3.25, 3.25}}); r.Peer == nil || *r.Peer != want ||
			r.Ratio != 3.25/r.MedianMS {
			t.Errorf("fastest %+v, want %+v; ratio %v of %v", r.Peer, want, r.Ratio, r.MedianMS)
		}
		if len(r.Variants) != 3 {
			t.Errorf("variants %+v, want all three", r.Variants)
		}
	}
	// A case that one of them lacks has the other's time.
	second = shellPeer(t, "exit 3")
	if r, err := Run(context.Background(), quickCase("good"), second, p); err != nil || r.Peer == nil ||
		r.Peer.Tool != "Toy 1.2" {
		t.Errorf("a case that one peer lacks: %+v, %v", r, err)
	}
	// One that fails must not leave the ratio to the other.
	second = shellPeer(t, otherScript)
	good := shellPeer(t, `echo '{"variants": ["fails"]}'; while read line; do echo '{"ms": 1}'; done`)
	if r, err := Run(context.Background(), quickCase("fails"), good, second); err == nil || r.Peer != nil ||
		!strings.Contains(err.Error(), "Killed: by a test") || !strings.Contains(err.Error(), second.Script) {
		t.Errorf("a peer that fails beside one that does not: %+v, %v", r, err)
	}
}

func TestPeerFailures(t *testing.T) {
	p := toyPeer(t)
	for name, want := range map[string]string{
		"silent": "before it printed a time", "noise": "hello", "zero": "turn took 0 ms",
		"dies":  "MemoryError: too much",
		"other": "no torch",
	} {
		if _, err := Run(context.Background(), quickCase(name), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", name, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, quickCase("slow"), p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an interrupted comparison: %v", err)
	}
	p.Script += ".absent"
	if err := p.Tune(context.Background()); err == nil {
		t.Error("tuned by a script that is not there")
	}
}
