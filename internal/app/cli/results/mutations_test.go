package results

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/mutations"
)

// TestMutations changes the note of what commands have made.
func TestMutations(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Record("kindred clean RUN", filepath.Join(dir, "a.csv")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, NoteName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mutations.Try(t, mutations.Reader{Name: "note of results",
		Valid: []string{string(text)}, Read: func(text []byte) error {
			if err := os.WriteFile(path, text, 0o666); err != nil {
				t.Fatal(err)
			}
			FindProtected(dir, []string{"a.csv"}, "kindred clean OTHER")
			return Check(dir)
		}})
}
