package folder

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/storetest"
	"github.com/kindred-ml/kindred/store"
)

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x, err := index.Create(dir, index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	storetest.Check(t, New(x, false))

	ro, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	s := New(ro, true)
	if _, err := s.Delete(t.Context(), []string{"ä"}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("removed from a read-only index: %v", err)
	}
	if err := ro.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Info(t.Context()); err == nil {
		t.Error("a closed index still answers")
	}
}
