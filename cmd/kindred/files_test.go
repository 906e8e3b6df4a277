package main

import (
	"strings"
	"testing"
)

// TestAbsent: where nothing is at a path, a command says what it may be, and names no call of the system.
func TestAbsent(t *testing.T) {
	t.Chdir(t.TempDir())
	writePatternPhotos(t, "photos", 0, 3)
	for _, c := range []struct {
		line string
		want []string
	}{
		{"calibrate none", []string{wantRun, wantIndex, wantVectors}},
		{"calibrate none.npy", []string{wantRun, wantIndex, wantVectors}},
		{"calibrate none --check photos", []string{wantRun, wantIndex, wantVectors}},
		{"diagnose none", []string{wantRun, wantVectors}},
		{"discover none --out out", []string{wantRun, wantVectors}},
		{"clean none --out out", []string{wantRun, wantVectors}},
		{"eval --embeddings none.npy", []string{wantVectors}},
		{"map --embeddings none.npy --out map.html", []string{wantVectors}},
		{"neighbours --embeddings none.npy --out out", []string{wantVectors}},
		{"identify photos --run none --in photos", []string{wantRun}},
		{"identify photos --index none", []string{wantIndex}},
		{"search photos --run none --in photos", []string{wantRun}},
		{"search photos --index none", []string{wantIndex}},
		{"embed --run none --data photos --out E.npy", []string{wantRun}},
		{"report none", []string{wantRun}},
		{"index create none photos --out ix", []string{wantRun}},
		{"index check none", []string{wantIndex}},
		{"index search none --id x", []string{wantIndex}},
		{"serve none", []string{wantIndex}},
	} {
		code, _, stderr := runArgs(t, strings.Fields(c.line)...)
		if code == exitOK || strings.Contains(stderr, "stat ") ||
			!strings.Contains(stderr, "no such file or folder: give") {
			t.Errorf("%s: status %d, %s", c.line, code, stderr)
		}
		for _, w := range c.want {
			if !strings.Contains(stderr, w) {
				t.Errorf("%s: %s: %q is missing", c.line, stderr, w)
			}
		}
	}
}
