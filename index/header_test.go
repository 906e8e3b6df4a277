package index

import (
	"path/filepath"
	"strings"
	"testing"
)

// A log that ends in its header is refused.
func TestLogWithoutAHeader(t *testing.T) {
	_, path, whole := logOfThree(t)
	m, err := readManifest(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range [][]byte{nil, whole[:markAt], whole[:logHeader-1]} {
		writeFile(t, path, log)
		_, err := readLog(openFile(t, path), m.Index, m.Dim, func([]operation) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "it ends in its header") {
			t.Errorf("a log of %d bytes: %v", len(log), err)
		}
	}
}
