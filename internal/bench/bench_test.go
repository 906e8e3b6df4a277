package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		in   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(tc.in); got != tc.want {
			t.Errorf("median(%v) = %v, want %v", tc.in, got, tc.want)
		}
	}
}

func TestRunCountsWarmUpApart(t *testing.T) {
	calls := 0
	c := Case{Name: "x", Runs: 3, Warm: 2, Items: 10, Setup: func() (func() error, float64, error) {
		return func() error { calls++; return nil }, 0, nil
	}}
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if calls != 5 || r.Runs != 3 || r.Case != "x" {
		t.Errorf("%d calls, result %+v", calls, r)
	}
}

func TestRunReportsErrorsAndInterrupts(t *testing.T) {
	boom := errors.New("boom")
	c := Case{Name: "x", Runs: 1, Items: 1, Setup: func() (func() error, float64, error) {
		return func() error { return boom }, 0, nil
	}}
	if _, err := Run(context.Background(), c); !errors.Is(err, boom) || !strings.Contains(err.Error(), "bench x") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
}

func TestSelect(t *testing.T) {
	all := []Case{{Name: "a"}, {Name: "b"}}
	if got, err := Select(all, []string{"b"}); err != nil || len(got) != 1 || got[0].Name != "b" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Select(all, []string{"c"}); err == nil || !strings.Contains(err.Error(), "a, b") {
		t.Errorf("an unknown case must list the known ones, got %v", err)
	}
}

func TestCaseNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		if seen[c.Name] {
			t.Errorf("case %s twice", c.Name)
		}
		seen[c.Name] = true
		if c.Runs < 1 || c.Items < 1 || c.About == "" || c.Setup == nil {
			t.Errorf("case %s is incomplete: %+v", c.Name, c)
		}
	}
}

func TestPeer(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "peer.sh")
	body := `case $1 in
good) echo noise; echo '{"case": "good", "median_ms": 12.5}';;
silent) ;;
missing) echo "KeyError: missing" >&2; exit 1;;
*) echo "ImportError: no torch" >&2; exit 1;;
esac`
	if err := os.WriteFile(script, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
	p := Peer{Python: "/bin/sh", Script: script}
	ctx := context.Background()
	if ms, err := p.Run(ctx, "good"); err != nil || ms != 12.5 {
		t.Errorf("good: %v, %v", ms, err)
	}
	if _, err := p.Run(ctx, "silent"); err == nil {
		t.Error("a peer that prints nothing must be an error")
	}
	if _, err := p.Run(ctx, "missing"); !errors.Is(err, ErrNoPeerCase) {
		t.Errorf("missing: %v", err)
	}
	if _, err := p.Run(ctx, "other"); err == nil || !strings.Contains(err.Error(), "no torch") {
		t.Errorf("other: %v", err)
	}
}
