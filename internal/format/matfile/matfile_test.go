package matfile

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// elements is the number of elements of an array.
func elements(a *Array) int {
	n := 1
	for _, d := range a.Dims {
		n *= d
	}
	return n
}

// The files come from testdata/make.py.
func TestReadSciPy(t *testing.T) {
	for _, name := range []string{"plain.mat", "compressed.mat"} {
		m, err := Read(load(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if g := m["grid"]; !slices.Equal(g.Dims, []int{2, 3}) ||
			!slices.Equal(g.Numbers, []float64{1.5, 4, -2, 5, 3, 6}) {
			t.Errorf("%s: grid %+v", name, g)
		}
		if i := m["ints"]; !slices.Equal(i.Numbers, []float64{-7, 70000}) {
			t.Errorf("%s: ints %+v", name, i)
		}
		if v, err := m["single"].Number(); err != nil || v != 0.25 {
			t.Errorf("%s: single %v", name, v)
		}
		if m["word"].Text != "hello" || elements(m["empty"]) != 0 {
			t.Errorf("%s: word %q, empty %+v", name, m["word"].Text, m["empty"])
		}
		c := m["class_names"]
		if len(c.Cells) != 3 || c.Cells[1].Text != "Acura Integra Type R 2001" || c.Cells[2].Text != "Citroën" {
			t.Errorf("%s: class_names %+v", name, c)
		}
		a := m["annotations"]
		if elements(a) != 2 || len(a.Fields) != 4 {
			t.Fatalf("%s: annotations %+v", name, a)
		}
		x, _ := a.Fields["bbox_x1"][1].Number()
		test, _ := a.Fields["test"][1].Number()
		if a.Fields["fname"][0].Text != "00001.jpg" || x != 300 || test != 1 {
			t.Errorf("%s: %q %v %v", name, a.Fields["fname"][0].Text, x, test)
		}
	}
}

func header() []byte {
	h := append(bytes.Repeat([]byte(" "), 124), 0, 1, 'I', 'M')
	return h
}

func tag(kind, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, kind), n)
}

func TestReadErrors(t *testing.T) {
	v73 := slices.Clone(load(t, "plain.mat"))
	copy(v73, "MATLAB 7.3 MAT-file")
	copy(v73[126:], "xx")
	for want, b := range map[string][]byte{
		"shorter than its header":          []byte("MATLAB"),
		"no byte order mark":               bytes.Repeat([]byte("x"), 200),
		"HDF5":                             v73,
		"version 0x0200":                   slices.Concat(bytes.Repeat([]byte(" "), 124), []byte{0, 2, 'I', 'M'}),
		"at byte 128: element tag is cut":  append(header(), 1, 2, 3),
		"element of 999 bytes where 0 are": append(header(), tag(miMatrix, 999)...),
		"array without flags":              slices.Concat(header(), tag(miMatrix, 8), tag(miInt8, 0)),
		"compressed element":               slices.Concat(header(), tag(miCompressed, 4), []byte("text")),
	} {
		if _, err := Read(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	plain := load(t, "plain.mat")
	for _, n := range []int{129, 200, 500, len(plain) - 9} {
		if _, err := Read(plain[:n]); err == nil {
			t.Errorf("read %d of %d bytes without an error", n, len(plain))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(load(f, "plain.mat"))
	f.Add(load(f, "compressed.mat"))
	f.Add(append(header(), tag(miMatrix, 0)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Read(b)
		if err != nil {
			return
		}
		for name, a := range m {
			if a.Name != name {
				t.Fatalf("%q under %q", a.Name, name)
			}
		}
	})
}
