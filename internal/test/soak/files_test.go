package soak

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// memory is the limit for readers. taken is how much they may allocate in all, including
// memory that was freed.
const (
	memoryLimit     = 256 << 20
	allocationLimit = 4 * memoryLimit
)

// TestSoak gives every reader damaged files of its format. The reader must accept them, or
// return an error of a few lines, without a panic and without too much memory.
func TestSoak(t *testing.T) {
	budgettest.Limit(t, memoryLimit)
	all := newReaders(t)
	for i := range all {
		r := &all[i]
		dir := t.TempDir()
		r.valid(t, dir)
		r.keep(t, dir)
		if problem := r.try(t, nil); problem != "" {
			t.Fatalf("%s refuses a valid file: %s", r.name, problem)
		}
	}
	Run(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 13))
		for i := range all {
			r := &all[i]
			for range r.often {
				if problem := r.try(t, rng); problem != "" && strings.HasPrefix(problem, "!") {
					t.Errorf("%s: %s", r.name, problem[1:])
				}
			}
		}
	})
}

// reader reads the files of a folder. path is the first of them by name.
type reader struct {
	name  string
	often int // a seed
	// valid writes files that belong together; with alone, each file is complete by itself.
	valid func(t *testing.T, dir string)
	alone bool
	read  func(dir, path string) error

	names []string
	files [][]byte
}

// keep notes the files that will be damaged.
func (r *reader) keep(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		name, e2 := filepath.Rel(dir, path)
		if err == nil {
			err = e2
		}
		if len(b) > 0 {
			r.names, r.files = append(r.names, name), append(r.files, b)
		}
		return err
	})
	if err != nil || len(r.files) == 0 {
		t.Fatalf("%s: %d files: %v", r.name, len(r.files), err)
	}
}

// try reads the files, with one of them damaged if rng is set, and returns their error. A
// text that begins with "!" is a fault of the reader.
func (r *reader) try(t *testing.T, rng *rand.Rand) (problem string) {
	dir := t.TempDir()
	which, n := 0, 0
	if rng != nil {
		which = rng.IntN(len(r.files))
	}
	for i, name := range r.names {
		if r.alone && i != which {
			continue
		}
		b := r.files[i]
		if rng != nil && i == which {
			b = damageFile(rng, b, r.files)
		}
		n += len(b)
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		if v := recover(); v != nil {
			problem = "!" + r.names[which] + " makes it panic: " + formatJSON(v) + "\n" + string(debug.Stack())
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := r.read(dir, filepath.Join(dir, r.names[which]))
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > allocationLimit+4096*uint64(n) {
		problem = "!" + r.names[which] + " of so many bytes makes it allocate more than a limit allows: " +
			formatJSON(n) + ", " + formatJSON(got)
		return problem
	}
	if err == nil {
		return ""
	}
	text := err.Error()
	if len(text) > 8000 { // quoted text is escaped when it is printed
		return "!" + r.names[which] + ": a message of " + formatJSON(len(text)) + " bytes: " + text[:8000]
	}
	return text
}

// damageFile damages a file; others are files of the same format.
func damageFile(rng *rand.Rand, b []byte, others [][]byte) []byte {
	b = bytes.Clone(b)
	for range 1 + rng.IntN(4) {
		if len(b) == 0 {
			return b
		}
		at := rng.IntN(len(b))
		if rng.IntN(3) == 0 { // where headers are, or footers
			at = min(rng.IntN(64), len(b)-1)
			if rng.IntN(2) == 0 {
				at = len(b) - 1 - at
			}
		}
		n := min(1+rng.IntN(1<<rng.IntN(10)), len(b)-at)
		switch rng.IntN(10) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = byte(rng.Uint32())
		case 2:
			writeNumber(rng, b[at:])
		case 3:
			b = append(b[:at], b[at+n:]...)
		case 4:
			b = bytes.Join([][]byte{b[:at+n], b[at:]}, nil)
		case 5:
			b = b[:at]
		case 6:
			clear(b[at : at+n])
		case 7:
			other := others[rng.IntN(len(others))]
			from := rng.IntN(len(other))
			b = bytes.Join([][]byte{b[:at], other[from:min(len(other), from+n)], b[at:]}, nil)
		case 8:
			if b[at] >= '0' && b[at] <= '9' {
				long := [][]byte{[]byte("-1"), []byte("9223372036854775807"), []byte("1e999"), []byte("0.5"),
					[]byte("4294967296"), []byte("null")}
				b = bytes.Join([][]byte{b[:at], long[rng.IntN(len(long))], b[at+1:]}, nil)
			}
		default:
			for i := range b[at : at+n] {
				b[at+i] = byte(rng.Uint32())
			}
		}
	}
	return b
}

// writeNumber writes a number of two, four or eight bytes that readers multiply and add.
func writeNumber(rng *rand.Rand, b []byte) {
	values := []uint64{0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 1 << 24, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<62 - 1,
		1<<63 - 1, 1 << 63, 1<<64 - 1}
	v := values[rng.IntN(len(values))]
	n := 2 << rng.IntN(3)
	for i := range min(n, len(b)) {
		shift := 8 * i
		if rng.IntN(8) == 0 || n == 8 && len(b)%2 == 0 { // the other order of bytes
			shift = 8 * (n - 1 - i)
		}
		b[i] = byte(v >> shift)
	}
}
