package index

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	files "github.com/kindred-ml/kindred/internal/base/atomic"
)

// The dead file of a segment is of its rows and no others, and every byte of it counts.
func TestDeadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1.dead")
	live := fullBitmap(70)
	live.clear(3)
	live.clear(69)
	if err := writeRemoved(files.Files{}, path, 70, live); err != nil {
		t.Fatal(err)
	}
	got, err := readRemoved(openFile(t, path), 70)
	if err != nil || got.count() != 68 || got.has(3) || got.has(69) || !got.has(68) {
		t.Errorf("%v, %v", got, err)
	}
	text, err := os.ReadFile(path)
	if err != nil || len(text) != 32 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	var damage *DamageError
	for n, want := range map[int]string{71: "it belongs to a segment of 70 rows: must be 71", 129: "its 40 bytes are " +
		"not a list",
		64: "it belongs to a segment of 70 rows: must be 64"} {
		if _, err := readRemoved(openFile(t, path), n); !errors.As(err, &damage) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%d rows: %v, want %s", n, err, want)
		}
	}
	for i := range text {
		bad := append([]byte{}, text...)
		bad[i] ^= 4
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readRemoved(openFile(t, path), 70); !errors.As(err, &damage) {
			t.Errorf("byte %d: %v", i, err)
		}
		if err := os.WriteFile(path, text[:i], 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readRemoved(openFile(t, path), 70); !errors.As(err, &damage) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}
