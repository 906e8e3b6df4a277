package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

func limit(t *testing.T, bytes int64) {
	t.Helper()
	old := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
}

// A file larger than the limit, here one with a hole, is refused by its size.
func TestReadKeepsToTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	var b bytes.Buffer
	if err := (&File{Tensors: []Tensor{Float32("x", []int{2}, []float32{1, 2})}}).Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := Read(path); err != nil || f.Tensor("x") == nil {
		t.Fatalf("%v, %v", f, err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip(err)
	}
	limit(t, 64<<20)
	_, err := Read(path)
	var e *budget.Error
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), path+": needs 1 TiB, the limit is 64 MiB") {
		t.Errorf("error %v", err)
	}
	if _, err := Read(filepath.Dir(path)); err == nil {
		t.Error("a folder was read")
	}
}

// The header's descriptions take more than its text.
func TestHeadersKeepToTheLimit(t *testing.T) {
	limit(t, 8<<20)
	file := func(n int) []byte {
		text := "{" + strings.Repeat(" ", n-2) + "}"
		return append(binary.LittleEndian.AppendUint64(nil, uint64(n)), text...)
	}
	if _, err := Parse(file(8 << 20 / headerGrowth)); err != nil {
		t.Errorf("all of the limit: %v", err)
	}
	var e *budget.Error
	if _, err := Parse(file(8<<20/headerGrowth + 1)); !errors.As(err, &e) ||
		!strings.Contains(err.Error(), "safetensors: the header: needs 8 MiB") {
		t.Errorf("error %v", err)
	}
}

// What Parse refuses is not written.
func TestLongHeadersAreNotWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 400 MB")
	}
	var b bytes.Buffer
	f := File{Meta: map[string]string{"names": strings.Repeat("x", maxHeader)}}
	if err := f.Write(&b); err == nil || !strings.Contains(err.Error(), "at most 104857600") || b.Len() > 0 {
		t.Errorf("%d bytes written: %v", b.Len(), err)
	}
}
