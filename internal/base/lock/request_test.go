package lock

import (
	"errors"
	"os"
	"testing"
)

// TestAsk: a folder is asked for by one at a time, whether it is locked or not, until that one has it or dies.
func TestAsk(t *testing.T) {
	dir := t.TempDir()
	if IsReleaseRequested(dir) {
		t.Error("nobody asks")
	}
	a, err := RequestRelease(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !IsReleaseRequested(dir) {
		t.Error("nobody asks")
	}
	var held *HeldError
	if _, err := RequestRelease(dir); !errors.As(err, &held) {
		t.Errorf("a second one: %v", err)
	}
	h, err := Folder(dir)
	if err != nil {
		t.Fatalf("to ask is not to have: %v", err)
	}
	if err := errors.Join(a.Release(), h.Release()); err != nil || IsReleaseRequested(dir) {
		t.Errorf("it is still asked for, or %v", err)
	}
	// A process that was killed leaves the file, without its lock.
	if err := os.WriteFile(dir+"/"+requestName, []byte("{}"), 0o666); err != nil || IsReleaseRequested(dir) {
		t.Errorf("a dead process asks, or %v", err)
	}
}
