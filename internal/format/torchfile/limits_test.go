package torchfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

func limit(t *testing.T, bytes int64) {
	t.Helper()
	old := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
}

// withPickle is an archive that holds a pickle only.
func withPickle(t *testing.T, program []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "x/data.pkl", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(program); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The objects of a pickle take many times its bytes: empty lists, one a byte.
func TestPicklesKeepToTheLimit(t *testing.T) {
	lists := append([]byte{0x80, 2, '('}, append(bytes.Repeat([]byte{']'}, 1<<20), 't', '.')...)
	data := withPickle(t, lists)
	limit(t, 16<<20)
	var e *budget.Error
	_, err := Parse(bytes.NewReader(data), int64(len(data)))
	if !errors.As(err, &e) ||
		!strings.Contains(err.Error(), "torch file: its pickle: needs 64 MiB, the limit is 16 MiB") {
		t.Errorf("a bomb: error %v", err)
	}
	long := withPickle(t, make([]byte, maxPickle+1))
	if _, err := Parse(bytes.NewReader(long), int64(len(long))); err == nil ||
		!strings.Contains(err.Error(), "a pickle of 67108865 bytes; at most 67108864") {
		t.Errorf("a long pickle: error %v", err)
	}
}

// What tensors take, read and in their own order, is compared with the limit.
func TestTensorsKeepToTheLimit(t *testing.T) {
	a := &archive{loaded: 5 << 20, expanded: 3 << 20}
	limit(t, 8<<20)
	if err := a.check(); err != nil {
		t.Errorf("all of the limit: %v", err)
	}
	a.expanded++
	var e *budget.Error
	if err := a.check(); !errors.As(err, &e) || e.Need != 8<<20+1 {
		t.Errorf("beyond it: %v", err)
	}
}

// A value that was changed does not fit its checksum.
func TestDamagedEntriesAreRefused(t *testing.T) {
	good, err := os.ReadFile(filepath.Join("testdata", "state.pth"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, f := range z.File {
		if f.CRC32 == 0 || f.UncompressedSize64 == 0 || !strings.Contains(f.Name, "/data") {
			continue
		}
		at, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		bad := slices.Clone(good)
		bad[at+int64(f.UncompressedSize64)-1] ^= 1
		if _, err := Parse(bytes.NewReader(bad), int64(len(bad))); err == nil {
			t.Errorf("%s: a changed byte was read", f.Name)
		}
		tried++
	}
	if tried < 3 {
		t.Errorf("%d entries tried", tried)
	}
}
