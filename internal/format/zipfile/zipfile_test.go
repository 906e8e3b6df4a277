package zipfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// archiveOf makes an archive of n empty files with names of the given length.
func archiveOf(t *testing.T, n, length int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range n {
		if _, err := z.Create(fmt.Sprintf("%0*d", length, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sparse is a file of which only the end is there, as a server may claim one.
type sparse struct {
	size int64
	tail []byte
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		p[i] = 0
		if at := off + int64(i) - (s.size - int64(len(s.tail))); at >= int64(len(s.tail)) {
			return i, io.EOF
		} else if at >= 0 {
			p[i] = s.tail[at]
		}
	}
	return len(p), nil
}

func TestListWithinTheLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(8 << 20))
	small := archiveOf(t, 3000, 30)
	z, err := NewReader(bytes.NewReader(small), int64(len(small)))
	if err != nil || len(z.File) != 3000 {
		t.Fatalf("an archive of 3000 files: %v", err)
	}
	if z, err := NewReader(bytes.NewReader(archiveOf(t, 0, 1)), 22); err != nil || len(z.File) != 0 {
		t.Errorf("an empty archive: %v", err)
	}
	// Once it is open, what is read is content.
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "marks", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("PK\x01\x02", 4<<20)
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if z, err = NewReader(bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil {
		t.Fatal(err)
	}
	r, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != text {
		t.Errorf("%d bytes of content, %v", len(got), err)
	}
}

func TestListBeyondTheLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(8 << 20))
	many := archiveOf(t, 20000, 6)
	// The number at the end is compared without what is beyond 16 bits: 0 stands for 65536 too.
	lies := archiveOf(t, 1<<16, 6)
	lies = append(lies[:bytes.LastIndex(lies, []byte("PK\x06\x06"))], lies[len(lies)-22:]...)
	end := lies[len(lies)-22:]
	clear(end[8:12])
	first := bytes.Index(lies, headerMark)
	binary.LittleEndian.PutUint32(end[12:], uint32(len(lies)-22-first))
	binary.LittleEndian.PutUint32(end[16:], uint32(first))
	// The ends of archives that claim to be of 2^60 bytes and hold 2^50 files.
	huge := make([]byte, 56+20+22)
	const size = 1 << 60
	copy(huge, "PK\x06\x06")
	binary.LittleEndian.PutUint64(huge[24:], 1<<50)
	binary.LittleEndian.PutUint64(huge[32:], 1<<50)
	binary.LittleEndian.PutUint64(huge[40:], 1<<50)
	copy(huge[56:], "PK\x06\x07")
	binary.LittleEndian.PutUint64(huge[64:], size-uint64(len(huge)))
	binary.LittleEndian.PutUint32(huge[72:], 1)
	copy(huge[76:], "PK\x05\x06")
	for at := 84; at < 96; at++ {
		huge[at] = 0xff
	}
	for name, a := range map[string]struct {
		r    io.ReaderAt
		size int64
	}{
		"many files":      {bytes.NewReader(many), int64(len(many))},
		"more than said":  {bytes.NewReader(lies), int64(len(lies))},
		"long names":      {bytes.NewReader(archiveOf(t, 60, 60000)), int64(len(archiveOf(t, 60, 60000)))},
		"a claim of size": {sparse{size, huge}, size},
	} {
		var over *budget.Error
		if _, err := NewReader(a.r, a.size); !errors.As(err, &over) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
