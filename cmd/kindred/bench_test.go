package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/bench"
)

// writePeer writes a peer in shell that needs ms for every case but one, in which it fails.
func writePeer(t *testing.T, name, ms string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the peers of this test are shell scripts")
	}
	path := filepath.Join(t.TempDir(), name)
	text := `#!/bin/sh
case "$1 $2" in
"--tune ") echo '{"env": {}, "threads": 2, "versions": {"` + name + `": "4.5.6"}}';;
"--serve ms-n128-d128") echo 'out of memory' >&2; exit 1;;
*) echo '{"tool": "` + name + `", "variants": ["'$2'"]}'; while read line; do echo '{"ms": ` + ms + `}'; done;;
esac
`
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBenchKeepsOtherCases times one case, then another beside two peers: the record has both, and of
// each how it was timed.
func TestBenchKeepsOtherCases(t *testing.T) {
	quick, slow := writePeer(t, "Quick", "0.5"), writePeer(t, "Slow", "900")
	record := filepath.Join(t.TempDir(), "new", "record.json")
	runProgram(t, "bench triplet-n128-d128 --processor Toy --record "+record+" --peer "+slow)
	out, _ := runProgram(t, "bench margin-n128-d128 --record "+record+" --peer "+slow+" --peer "+quick)
	if !strings.Contains(out, "Quick 4.5") || strings.Contains(out, "Slow 4.5") {
		t.Errorf("the table does not name the fastest peer:\n%s", out)
	}
	r, err := bench.ReadRecord(record)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 1 || r.Results[0].Case != "margin-n128-d128" || len(r.Results[0].Variants) != 2 ||
		r.Results[0].Peer.Tool != "Quick 4.5" || len(r.Peers) != 2 || r.Processor != "Toy" {
		t.Errorf("the later run: %+v", r)
	}
	if strings.Contains(out, "triplet") {
		t.Errorf("the table has a case that was not timed:\n%s", out)
	}
	if len(r.Earlier) != 1 || len(r.Earlier[0].Results) != 1 || r.Earlier[0].Results[0].Case != "triplet-n128-d128" ||
		r.Earlier[0].Results[0].Peer.Tool != "Slow 4.5" || len(r.Earlier[0].Peers) != 1 {
		t.Errorf("the earlier run: %+v", r.Earlier)
	}
	// Timed once more in the same way, a case replaces what was there, and joins the other.
	runProgram(t, "bench triplet-n128-d128 margin-n128-d128 --record "+record+" --peer "+quick)
	runProgram(t, "bench triplet-n128-d128 --record "+record+" --peer "+quick)
	if r, err = bench.ReadRecord(record); err != nil {
		t.Fatal(err)
	}
	if len(r.Earlier) != 0 || len(r.Results) != 2 || r.Results[0].Case == r.Results[1].Case {
		t.Errorf("two runs of a day: %+v, earlier %+v", r.Results, r.Earlier)
	}
}

// TestBenchGoesOnWithoutFailures leaves out the case in which a peer fails, and no other.
func TestBenchGoesOnWithoutFailures(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record.json")
	code, _, stderr := runArgs(t, "bench", "ms-n128-d128", "triplet-n128-d128", "--record", record,
		"--peer", writePeer(t, "Peer", "2"))
	if code == 0 || !strings.Contains(stderr, "out of memory") ||
		!strings.Contains(stderr, "ms-n128-d128 is left out") {
		t.Errorf("exit status %d:\n%s", code, stderr)
	}
	r, err := bench.ReadRecord(record)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 1 || r.Results[0].Case != "triplet-n128-d128" {
		t.Errorf("results %+v, want the case after the one that failed", r.Results)
	}
}

// TestBenchRefuses names what is wrong before it times anything, and leaves the file as it was.
func TestBenchRefuses(t *testing.T) {
	peer := writePeer(t, "Peer", "2")
	record := filepath.Join(t.TempDir(), "record.json")
	other := `{"processor": "P", "model": "another one", "cores": 1, "level": "go", "taken": "t", "method": "m"}`
	for _, tc := range []struct {
		record, args, want string
		code               int
	}{
		{"", "--python /bin/sh", "--python applies to a --peer that ends in .py", 2},
		{"", "--python /bin/sh --peer " + peer, "--python applies to a --peer that ends in .py", 2},
		{"", "--processor Toy", "--processor applies to --record", 2},
		{"", "--peer " + peer + ".absent", ".absent", 1},
		{"{}", "--record " + record, record, 1},
		{"no", "--record " + record, record, 1},
		{other, "--record " + record, "has the figures of another processor, another one", 1},
	} {
		if err := os.WriteFile(record, []byte(tc.record), 0o666); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := runArgs(t, append([]string{"bench", "triplet-n128-d128"}, strings.Fields(tc.args)...)...)
		if code != tc.code || !strings.Contains(stderr, tc.want) || strings.Contains(stderr, "triplet-n128-d128 ...") {
			t.Errorf("%s: exit status %d, want %d and %q:\n%s", tc.args, code, tc.code, tc.want, stderr)
		}
		if got, err := os.ReadFile(record); err != nil || string(got) != tc.record {
			t.Errorf("%s: the record is now %q; %v", tc.args, got, err)
		}
	}
}
