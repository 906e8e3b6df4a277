package tarfile

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// made is a tar file in a format, with members of every awkward length.
func made(t testing.TB, format tar.Format) ([]byte, map[string][]byte) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	all := map[string][]byte{}
	put := func(name string, kind byte, content []byte) {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: kind, Size: int64(len(content)), Mode: 0o644,
			Format: format, Linkname: map[bool]string{true: "a/0.jpg"}[kind == tar.TypeSymlink]}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if kind == tar.TypeReg {
			all[name] = content
		}
	}
	put("a/", tar.TypeDir, nil)
	for i, n := range []int{0, 1, 511, 512, 513, 1024, 5000} {
		put("a/"+string(rune('0'+i))+".jpg", tar.TypeReg, bytes.Repeat([]byte{byte(i + 1)}, n))
	}
	put("link", tar.TypeSymlink, nil)
	if format != tar.FormatUSTAR { // a name of more than a header holds
		put(strings.Repeat("long/", 60)+"z.jpg", tar.TypeReg, []byte("z"))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), all
}

// list is Walk over b, whose members it also reads.
func list(b []byte) (map[string][]byte, bool, error) {
	out := map[string][]byte{}
	marked, err := Walk(context.Background(), bytes.NewReader(b), int64(len(b)), func(m Member) error {
		out[m.Name] = b[m.Offset : m.Offset+m.Size]
		return nil
	})
	return out, marked, err
}

func TestWalk(t *testing.T) {
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatPAX, tar.FormatGNU} {
		b, want := made(t, format)
		got, marked, err := list(b)
		if err != nil || !marked || len(got) != len(want) {
			t.Fatalf("%v: %d of %d members, %v, %v", format, len(got), len(want), marked, err)
		}
		for name, content := range want {
			if !bytes.Equal(got[name], content) {
				t.Errorf("%v: %q differs", format, name)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Walk(ctx, bytes.NewReader(nil), 0, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestCut: every cut is an error that names a member, or says that the mark is missing; no
// part of a member is taken for the whole.
func TestCut(t *testing.T) {
	b, want := made(t, tar.FormatPAX)
	whole := len(want)
	for n := 0; n < len(b); n += 64 {
		got, marked, err := list(b[:n])
		for name, content := range got {
			if !bytes.Equal(content, want[name]) {
				t.Fatalf("cut at %d: %q differs", n, name)
			}
		}
		switch {
		case err == nil && !marked, err == nil && len(got) == whole:
		case err == nil:
			t.Errorf("cut at %d: %d of %d members, and nobody says so", n, len(got), whole)
		case !strings.Contains(err.Error(), "truncated: ") && !strings.Contains(err.Error(), "damaged "):
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if _, _, err := list(b[:len(b)-1024-512-5000]); err == nil {
		t.Error("a member without its end is accepted")
	}
}

func TestDamaged(t *testing.T) {
	b, _ := made(t, tar.FormatUSTAR)
	second := bytes.Index(b, []byte("a/3.jpg"))
	c := bytes.Clone(b)
	c[second] = 'b' // which the header's checksum tells
	_, _, err := list(c)
	if err == nil || !strings.Contains(err.Error(), `damaged after the member "a/2.jpg", from byte`) ||
		!errors.Is(err, tar.ErrHeader) {
		t.Errorf("%v", err)
	}
	if _, _, err := list(bytes.Repeat([]byte("no tar file "), 100)); err == nil ||
		!strings.Contains(err.Error(), "first member") {
		t.Errorf("%v", err)
	}
	own := errors.New("enough")
	if _, err := Walk(t.Context(), bytes.NewReader(b), int64(len(b)), func(Member) error { return own }); err != own {
		t.Errorf("%v", err)
	}
	if _, err := Walk(t.Context(), failing{}, 4096, nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

// TestSparse: what does not stand in one piece is refused, however it is marked.
func TestSparse(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "s.jpg", Typeflag: tar.TypeReg, Size: 0, Format: tar.FormatPAX,
		PAXRecords: map[string]string{"OUR.sparse.major": "1", "OUR.sparse.minor": "0"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The writer refuses these records: they are renamed behind its back, at the same length.
	c := bytes.ReplaceAll(b.Bytes(), []byte("OUR.sparse"), []byte("GNU.sparse"))
	if bytes.Equal(c, b.Bytes()) {
		t.Fatal("nothing was renamed")
	}
	if _, _, err := list(c); err == nil {
		t.Error("accepted")
	}
}

// FuzzWalk reads any bytes: members lie within the file, one behind the other.
func FuzzWalk(f *testing.F) {
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatPAX, tar.FormatGNU} {
		b, _ := made(f, format)
		f.Add(b)
		f.Add(b[:len(b)-1500])
		rng := rand.New(rand.NewPCG(1, 2))
		for range 3 {
			c := bytes.Clone(b)
			c[rng.IntN(len(c))] ^= 1 << rng.IntN(8)
			f.Add(c)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		at := int64(0)
		_, err := Walk(t.Context(), bytes.NewReader(b), int64(len(b)), func(m Member) error {
			if m.Size < 0 || m.Offset < at+Block || m.Offset%Block != 0 || m.Offset+m.Size > int64(len(b)) {
				t.Fatalf("%+v behind %d in a file of %d bytes", m, at, len(b))
			}
			at = m.Offset + m.Size
			return nil
		})
		if err != nil && err.Error() == "" {
			t.Fatal("an error without words")
		}
	})
}
