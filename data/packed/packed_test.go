package packed

import (
	"bytes"
	"errors"
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
			pix, w, h, c, ok := f.Image(i)
			want, ww, wh, wc := sample(i)
			if ok != (want != nil) || !bytes.Equal(pix, want) || w != ww || h != wh || c != wc {
				t.Errorf("image %d: %d x %d x %d, %v", i, w, h, c, ok)
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
		for i := range p.Len() {
			p.Image(i)
		}
		p.Close()
	})
}
