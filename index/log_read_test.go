package index

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// frameOf is a frame of a log with a number.
func frameOf(number uint64, content string) []byte {
	b := make([]byte, frameHeader, frameHeader+len(content))
	copy(b, frameMagic)
	binary.LittleEndian.PutUint64(b[8:], number)
	binary.LittleEndian.PutUint32(b[16:], uint32(len(content)))
	b = append(b, content...)
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli()))
	return b
}

// A whole frame is found wherever it is, if its number is above those that are known, and
// nothing else is: neither what is cut off, nor what only begins like one.
func TestLaterFrame(t *testing.T) {
	noise := []byte("noise " + frameMagic + " more noise, which begins like a frame and is none, and goes on")
	whole := frameOf(5, "the content")
	damaged := slices.Clone(whole)
	damaged[len(damaged)-1] ^= 1
	far := make([]byte, 1<<20-7) // over the end of what is read at a time
	for name, c := range map[string]struct {
		parts  [][]byte
		frames uint64
		want   int64
	}{
		"at the start": {[][]byte{whole}, 4, 0}, "after others": {[][]byte{noise, whole, noise}, 4, int64(len(noise))},
		"of a much larger number": {[][]byte{noise, frameOf(900, "x")}, 4, int64(len(noise))},
		"far on":                  {[][]byte{far, whole, noise}, 4, int64(len(far))},
		"known":                   {[][]byte{noise, whole}, 5, -1}, "none": {[][]byte{noise}, 0, -1},
		"beyond any log": {[][]byte{frameOf(5+1<<33, "x")}, 4, -1}, "damaged": {[][]byte{noise, damaged}, 4, -1},
		"cut off": {[][]byte{noise, whole[:len(whole)-1]}, 4, -1}, "empty": {nil, 0, -1},
	} {
		all := slices.Concat(c.parts...)
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, all, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := findLaterFrame(f, 0, int64(len(all)), c.frames); at != c.want || err != nil {
			t.Errorf("%s: at %d, %v, want %d", name, at, err, c.want)
		}
		f.Close()
	}
}

// A log that ends in its header is refused.
func TestLogWithoutAHeader(t *testing.T) {
	_, path, whole := logOfThree(t)
	m, err := readManifest(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range [][]byte{nil, whole[:markOffset], whole[:logHeader-1]} {
		writeFile(t, path, log)
		_, err := readLog(openFile(t, path), m.Index, m.Dim, func([]operation) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "it ends in its header") {
			t.Errorf("a log of %d bytes: %v", len(log), err)
		}
	}
}
