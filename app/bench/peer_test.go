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

// script is a peer that speaks the protocol in shell.
const script = `case "$1 $2" in
"--tune "|--tune) echo '{"env": {"SPEED": "7.5"}, "versions": {"Toy": "1"}, "blas": "none", "core_type": "fast", "threads": 2}';;
"--serve good")
	echo '{"variants": ["good", "good-cl"]}'
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

func toyPeer(t *testing.T) *Peer {
	path := filepath.Join(t.TempDir(), "peer.sh")
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("the peer of this test is a shell script")
	}
	return &Peer{Python: "/bin/sh", Script: path}
}

func quick(name string) Case {
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
	r, err := Run(context.Background(), quick("good"), p)
	if err != nil {
		t.Fatal(err)
	}
	if want := (PeerTimes{"good-cl", Times{7.5, 7.5, 7.5}}); r.Peer == nil || *r.Peer != want {
		t.Errorf("peer %+v, want %+v", r.Peer, want)
	}
	if r.Ratio != 7.5/r.MedianMS {
		t.Errorf("ratio %v of medians %v and 7.5", r.Ratio, r.MedianMS)
	}
	if r, err := Run(context.Background(), quick("missing"), p); err != nil || r.Peer != nil || r.MedianMS == 0 {
		t.Errorf("a case that the peer does not have: %+v, %v", r, err)
	}
}

func TestPeerFailures(t *testing.T) {
	p := toyPeer(t)
	for name, want := range map[string]string{
		"silent": "before it printed a time", "noise": "hello", "zero": "turn took 0 ms",
		"dies":  "MemoryError: too much",
		"other": "no torch",
	} {
		if _, err := Run(context.Background(), quick(name), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", name, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, quick("slow"), p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an interrupted comparison: %v", err)
	}
	p.Script += ".absent"
	if err := p.Tune(context.Background()); err == nil {
		t.Error("tuned by a script that is not there")
	}
}
