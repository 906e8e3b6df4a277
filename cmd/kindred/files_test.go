package main

import (
	"strings"
	"testing"
)

// TestAbsent: where nothing is at a path, a command says what it may be, and names no call of the system.
func TestAbsent(t *testing.T) {
	t.Chdir(t.TempDir())
	patternedPhotos(t, "photos", 0, 3)
	for _, c := range []struct {
		line string
		want []string
	}{
		{"calibrate none", []string{aRun, anIndex, someVectors}},
		{"calibrate none.npy", []string{aRun, anIndex, someVectors}},
		{"calibrate none --check photos", []string{aRun, anIndex, someVectors}},
		{"diagnose none", []string{aRun, someVectors}},
		{"discover none --out out", []string{aRun, someVectors}},
		{"clean none --out out", []string{aRun, someVectors}},
		{"eval --embeddings none.npy", []string{someVectors}},
		{"map --embeddings none.npy --out map.html", []string{someVectors}},
		{"neighbours --embeddings none.npy --out out", []string{someVectors}},
		{"identify photos --run none --in photos", []string{aRun}},
		{"identify photos --index none", []string{anIndex}},
		{"search photos --run none --in photos", []string{aRun}},
		{"search photos --index none", []string{anIndex}},
		{"embed --run none --data photos --out E.npy", []string{aRun}},
		{"report none", []string{aRun}},
		{"index create none photos --out ix", []string{aRun}},
		{"index check none", []string{anIndex}},
		{"index search none --id x", []string{anIndex}},
		{"serve none", []string{anIndex}},
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
