package embedded

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/internal/testing/mutations"
)

// TestMutations changes the file that says where a folder's queue is served.
func TestMutations(t *testing.T) {
	dir := t.TempDir()
	mutations.Try(t, mutations.Reader{Name: "address of a queue", Valid: []string{`{"port": 4222, "token": "0123456789abcdef"}`},
		Read: func(text []byte) error {
			if err := os.WriteFile(filepath.Join(dir, addressFile), text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := readAddress(dir)
			return err
		}})
}
