package tree

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
)

// A file that is not there is told.
func TestDigestOfNothing(t *testing.T) {
	if _, _, err := NewFS(fstest.MapFS{}, "mine").Digest("a/1.png", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
