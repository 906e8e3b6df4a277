package main

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
)

// TestAbsent: where nothing is at a path, a command says what it may be, and names no call of the system.
func TestAbsent(t *testing.T) {
	t.Chdir(t.TempDir())
	writePatternPhotos(t, "photos", 0, 3)
	for _, c := range []struct {
		line string
		want []string
	}{
		{"calibrate none", []string{inputs.WantRun, inputs.WantIndex, inputs.WantVectors}},
		{"calibrate none.npy", []string{inputs.WantRun, inputs.WantIndex, inputs.WantVectors}},
		{"calibrate none --check photos", []string{inputs.WantRun, inputs.WantIndex, inputs.WantVectors}},
		{"diagnose none", []string{inputs.WantRun, inputs.WantVectors}},
		{"discover none --out out", []string{inputs.WantRun, inputs.WantVectors}},
		{"clean none --out out", []string{inputs.WantRun, inputs.WantVectors}},
		{"eval --embeddings none.npy", []string{inputs.WantVectors}},
		{"map --embeddings none.npy --out map.html", []string{inputs.WantVectors}},
		{"neighbours --embeddings none.npy --out out", []string{inputs.WantVectors}},
		{"identify photos --run none --in photos", []string{inputs.WantRun}},
		{"identify photos --index none", []string{inputs.WantIndex}},
		{"search photos --run none --in photos", []string{inputs.WantRun}},
		{"search photos --index none", []string{inputs.WantIndex}},
		{"embed --run none --data photos --out E.npy", []string{inputs.WantRun}},
		{"report none", []string{inputs.WantRun}},
		{"index create none photos --out ix", []string{inputs.WantRun}},
		{"index check none", []string{inputs.WantIndex}},
		{"index search none --id x", []string{inputs.WantIndex}},
		{"serve none", []string{inputs.WantIndex}},
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
