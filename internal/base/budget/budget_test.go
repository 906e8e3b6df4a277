package budget

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"
)

// limit sets the runtime's limit for one test.
func limit(t *testing.T, bytes int64) {
	t.Helper()
	old := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
}

func TestLimitIsTheRuntimesElseHalfTheMachine(t *testing.T) {
	limit(t, math.MaxInt64)
	if got := Limit(); got != machineMemory()/2 || got < 1<<26 {
		t.Errorf("without a limit: %d, the machine has %d", got, machineMemory())
	}
	limit(t, 3<<20)
	if got := Limit(); got != 3<<20 {
		t.Errorf("Limit() = %d with a soft limit of 3 MiB", got)
	}
}

func TestCheck(t *testing.T) {
	limit(t, 64<<20)
	if err := Check("a", 64<<20); err != nil {
		t.Errorf("all of the limit: %v", err)
	}
	err := Check("labels.npy", 64<<20+1<<19)
	var e *Error
	if !errors.As(err, &e) || e.Need != 64<<20+1<<19 || e.Limit != 64<<20 {
		t.Fatalf("error %#v", err)
	}
	const want = "labels.npy: needs 64.5 MiB, the limit is 64 MiB: raise --memory (or GOMEMLIMIT)"
	if err.Error() != want {
		t.Errorf("says %q, want %q", err, want)
	}
	if err := Check("x", math.MaxInt64); err == nil ||
		err.Error() != "x: needs more than 8 EiB, the limit is 64 MiB: raise --memory (or GOMEMLIMIT)" {
		t.Errorf("an overflowing size: %v", err)
	}
}

func TestProductAndSum(t *testing.T) {
	const most = math.MaxInt64
	for _, c := range []struct {
		of           []int64
		product, sum int64
	}{
		{nil, 1, 0},
		{[]int64{7}, 7, 7},
		{[]int64{2, 3, 4}, 24, 9},
		{[]int64{0, most, most}, 0, most},
		{[]int64{most, 0}, 0, most},
		{[]int64{-1, 0}, most, most},
		{[]int64{0, -1}, most, most},
		{[]int64{most, 1}, most, most},
		{[]int64{most - 1, 1}, most - 1, most},
		{[]int64{most - 2, 1}, most - 2, most - 1},
		{[]int64{1 << 31, 1 << 31}, 1 << 62, 1 << 32},
		{[]int64{1 << 32, 1 << 31}, most, 1<<32 + 1<<31},
		{[]int64{most/2 + 1, 2}, most, most/2 + 3},
		{[]int64{most / 2, 2}, most - 1, most/2 + 2},
		{[]int64{1 << 62, 1 << 62, 1 << 62}, most, most},
	} {
		if got := Product(c.of...); got != c.product {
			t.Errorf("Product(%d) = %d, want %d", c.of, got, c.product)
		}
		if got := Sum(c.of...); got != c.sum {
			t.Errorf("Sum(%d) = %d, want %d", c.of, got, c.sum)
		}
	}
}

func TestFormat(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 10240: "10 KiB", 9*1024 + 1023: "10 KiB",
		99 << 10: "99 KiB", 100<<10 + 512: "100 KiB", 1023 << 10: "1023 KiB", 1<<20 - 1: "1 MiB", 4 << 30: "4 GiB",
		7838315315: "7.3 GiB", 5 << 40: "5 TiB", 1 << 50: "1 PiB", math.MaxInt64: "8 EiB", 55<<20 + 300<<10: "55.3 MiB",
		1024 * 1023.5: "1 MiB", 1000 << 20: "1000 MiB", 1290: "1.26 KiB",
	} {
		if got := Format(n); got != want {
			t.Errorf("Format(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "4GiB": 4 << 30, "4 gib": 4 << 30, "4G": 4 << 30, "4gb": 4 << 30, "1.5KiB": 1536, "512m": 512 << 20,
		" 2TiB ": 2 << 40, "10B": 10, "1K": 1024, "7EiB": 7 << 60, ".5K": 512,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "-1", "+1", "0", "0GiB", "0.5", "4XiB", "4GiBs", "1e3", "inf", "nan",
		"8EiB", "1.2.3M", "0x10", "4 4G", "i4", "4iB"} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), "4GiB") {
			t.Errorf("Parse(%q) = %d, %v, want an error that shows how", text, got, err)
		}
	}
	for _, n := range []int64{1, 1023, 1 << 20, 3 << 30} {
		if got, err := Parse(Format(n)); err != nil || got != n {
			t.Errorf("Parse(Format(%d)) = %d, %v", n, got, err)
		}
	}
}

// zeros gives zeros without end.
type zeros struct{ read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

func TestReader(t *testing.T) {
	limit(t, 1<<20)
	for _, n := range []int{0, 1, 1<<20 - 1, 1 << 20} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader,
			"with the end": iotest.DataErrReader,
		} {
			b, err := io.ReadAll(Reader("x", wrap(bytes.NewReader(make([]byte, n)))))
			if err != nil || len(b) != n {
				t.Errorf("%s: %d of %d bytes, %v", name, len(b), n, err)
			}
		}
	}
	var z zeros
	n, err := io.Copy(io.Discard, Reader("labels.csv.gz", &z))
	var e *Error
	if !errors.As(err, &e) || n != 1<<20 || z.read != 1<<20+1 {
		t.Fatalf("%d bytes given of %d read, %v", n, z.read, err)
	}
	const want = "labels.csv.gz: needs more than the limit of 1 MiB: raise --memory (or GOMEMLIMIT)"
	if err.Error() != want {
		t.Errorf("says %q, want %q", err, want)
	}
	if _, err := io.ReadAll(Reader("x", iotest.ErrReader(fs.ErrInvalid))); err != fs.ErrInvalid {
		t.Errorf("the reader's own error became %v", err)
	}
}

func TestReadAllAndWithin(t *testing.T) {
	limit(t, 1<<20)
	src := bytes.Repeat([]byte("kindred!"), 1<<16) // half the limit
	if b, err := ReadAll("x", iotest.HalfReader(bytes.NewReader(src))); err != nil || !bytes.Equal(b, src) {
		t.Errorf("half the limit: %d bytes, %v", len(b), err)
	}
	var e *Error
	if _, err := ReadAll("x", io.MultiReader(bytes.NewReader(src), strings.NewReader("y"))); !errors.As(err, &e) {
		t.Errorf("more than half the limit: %v", err)
	}
	if _, err := ReadAll("x", iotest.ErrReader(fs.ErrInvalid)); err != fs.ErrInvalid {
		t.Errorf("the reader's own error became %v", err)
	}
	if b, err := ReadAtMost("a list", strings.NewReader("four"), 4); err != nil || string(b) != "four" {
		t.Errorf("%q, %v", b, err)
	}
	var z zeros
	_, err := ReadAtMost("a list", &z, 4<<10)
	if err == nil || z.read > 16<<10 ||
		err.Error() != "a list has at most 4 KiB, and this is more: it is damaged or something else" {
		t.Errorf("%d bytes read: %v", z.read, err)
	}
}

func TestReadN(t *testing.T) {
	limit(t, 8<<20)
	src := make([]byte, 5<<20)
	for i := range src {
		src[i] = byte(i * 7)
	}
	for _, n := range []int64{0, 1, 1 << 20, 1<<20 + 1, 3<<20 + 17, 5 << 20} {
		if b, err := ReadN("x", bytes.NewReader(src), n); err != nil || !bytes.Equal(b, src[:n]) {
			t.Errorf("%d: %d bytes, %v", n, len(b), err)
		}
	}
	for _, have := range []int{1, 1 << 20, 1<<20 + 5, 2 << 20} {
		b, err := ReadN("x", bytes.NewReader(src[:have]), 4<<20)
		if err != io.ErrUnexpectedEOF || !bytes.Equal(b, src[:have]) {
			t.Errorf("%d of 4 MiB: %d bytes, %v", have, len(b), err)
		}
		if cap(b) > 8*have+firstPiece {
			t.Errorf("%d bytes came, memory for %d was taken", have, cap(b))
		}
	}
	if _, err := ReadN("x", bytes.NewReader(nil), 1); err != io.EOF {
		t.Errorf("nothing came: %v", err)
	}
	var e *Error
	if _, err := ReadN("x", &zeros{}, 8<<20+1); !errors.As(err, &e) || e.Need != 8<<20+1 {
		t.Errorf("more than the limit: %v", err)
	}
	if _, err := ReadN("x", &zeros{}, math.MaxInt64); !errors.As(err, &e) {
		t.Errorf("an absurd size: %v", err)
	}
}
