package imagepack

import (
	"bytes"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample(i int) (pix []uint8, w, h, c int) {
	if i == 2 {
		return nil, 0, 0, 0
	}
	w, h, c = 3+i, 2*i+1, 1+2*(i%2)
	pix = make([]uint8, w*h*c)
	for k := range pix {
		pix[k] = uint8(k*7 + i)
	}
	return pix, w, h, c
}

func create(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "images.pack")
	err := Create(path, Key{1, 2, 3}, func(w *Writer) error {
		for i := range n {
			if err := w.Add(sample(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 7} {
		f, err := Open(create(t, n))
		if err != nil {
			t.Fatal(err)
		}
		if f.Len() != n || f.Key != (Key{1, 2, 3}) {
			t.Errorf("%d images, key %v", f.Len(), f.Key)
		}
		for i := range n {
			w, h, c := f.Shape(i)
			want, ww, wh, wc := sample(i)
			if w != ww || h != wh || c != wc {
				t.Fatalf("image %d: %d x %d x %d", i, w, h, c)
			}
			pix := make([]uint8, w*h*c)
			if err := f.Read(i, pix); err != nil || !bytes.Equal(pix, want) {
				t.Errorf("image %d: %v, %v", i, pix, err)
			}
		}
		if err := f.Check(); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCreateLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	failure := errors.New("disk full")
	err := Create(filepath.Join(dir, "x"), Key{}, func(w *Writer) error {
		w.Add(sample(1))
		return failure
	})
	if left, _ := os.ReadDir(dir); !errors.Is(err, failure) || len(left) != 0 {
		t.Errorf("%v, left %v", err, left)
	}
}

// Every byte of the file matters: a change is found by Open or by Check.
func TestDamage(t *testing.T) {
	good, err := os.ReadFile(create(t, 4))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bad")
	try := func(b []byte) error {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Check()
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x10
		if err := try(b); err == nil || !strings.Contains(err.Error(), path) {
			t.Fatalf("byte %d of %d changed: %v", i, len(good), err)
		}
	}
	for n := range good {
		if try(good[:n]) == nil {
			t.Fatalf("cut to %d of %d bytes: no error", n, len(good))
		}
	}
}

// A file cut off or changed while it is open is an error, not the end of the
// process.
func TestDamageWhileOpen(t *testing.T) {
	const side = 100 // several pages an image
	path := filepath.Join(t.TempDir(), "x.pack")
	err := Create(path, Key{}, func(w *Writer) error {
		for i := range 3 {
			if err := w.Add(bytes.Repeat([]byte{byte(i + 1)}, side*side), side, side, 1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	pix := make([]byte, side*side)
	read := func(i int) error { return f.Read(i, pix) }
	if err := os.Truncate(path, side*side); err != nil {
		t.Fatal(err)
	}
	if err := read(0); err != nil || pix[0] != 1 {
		t.Errorf("what is left: %v", err)
	}
	if err := read(2); err == nil || !strings.Contains(err.Error(), path+": image 2: the file was cut off") {
		t.Errorf("what is gone: %v", err)
	}
	if err := os.WriteFile(path, make([]byte, 4*side*side), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := read(1); err == nil || !strings.Contains(err.Error(), path+": image 1 is damaged") {
		t.Errorf("what was overwritten: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := read(1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// What a killed build left is removed by the next.
func TestCreateRemovesWhatKilledBuildsLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".kindred-0123456789abcdef.tmp"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Create(filepath.Join(dir, "new.pack"), Key{}, func(*Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "new.pack" {
		t.Errorf("%v %v", left, err)
	}
}

func FuzzOpen(f *testing.F) {
	good, err := os.ReadFile(create(f, 3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	path := filepath.Join(f.TempDir(), "x")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := Open(path)
		if err != nil {
			return
		}
		p.Check()
		p.Close()
	})
}

// BenchmarkRead reads images of 128 x 128 x 3, with the share of it that the
// checksum takes.
func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.pack")
	pix := make([]uint8, 128*128*3)
	for i := range pix {
		pix[i] = uint8(i * i >> 3)
	}
	err := Create(path, Key{}, func(w *Writer) error {
		for range 1000 {
			if err := w.Add(pix, 128, 128, 3); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.Run("read", func(b *testing.B) {
		for i := range b.N {
			if err := f.Read(i*37%f.Len(), pix); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("checksum", func(b *testing.B) {
		for b.Loop() {
			crc32.Checksum(pix, crcTable())
		}
	})
}
