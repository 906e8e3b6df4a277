package idx

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// encode writes the format from its definition.
func encode(dims []int, data []byte) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, uint32(d))
	}
	return append(out, data...)
}

func zip(b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Write(b)
	w.Close()
	return buf.Bytes()
}

func TestRead(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	plain := encode([]int{2, 3, 2}, data)
	for name, file := range map[string][]byte{"plain": plain, "gzip": zip(plain)} {
		got, err := Read(bytes.NewReader(file))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(got.Dims, []int{2, 3, 2}) || !bytes.Equal(got.Data, data) {
			t.Errorf("%s: %v %v", name, got.Dims, got.Data)
		}
	}
	empty, err := Read(bytes.NewReader(encode([]int{0, 28, 28}, nil)))
	if err != nil || len(empty.Data) != 0 {
		t.Errorf("no images: %v %v", empty, err)
	}
}

func TestReadErrors(t *testing.T) {
	good := encode([]int{2, 2}, []byte{1, 2, 3, 4})
	zipped := zip(good)
	badSum := slices.Clone(zipped)
	badSum[len(badSum)-8] ^= 1
	cases := map[string]struct {
		file []byte
		want string
	}{
		"empty":         {nil, "shorter than 4 bytes"},
		"three bytes":   {good[:3], "shorter than 4 bytes"},
		"text":          {[]byte("label,path\n"), "starts with 0x6c 0x61"},
		"png":           {[]byte("\x89PNG\r\n\x1a\n"), "not an idx file"},
		"float":         {encodeType(0x0d), "element type 0x0d"},
		"no dims":       {[]byte{0, 0, 8, 0}, "0 dimensions"},
		"many dims":     {[]byte{0, 0, 8, 200}, "200 dimensions"},
		"cut header":    {good[:7], "cut off within its dimensions"},
		"cut data":      {good[:len(good)-1], "dimensions [2 2] need 4 bytes of data, the file has 3"},
		"extra":         {append(slices.Clone(good), 0), "left over after the 4"},
		"huge":          {encode([]int{1 << 31, 1 << 31}, nil), "needs 4 EiB, the limit is"},
		"huge claim":    {encode([]int{1 << 30}, []byte{1}), "need 1073741824 bytes of data, the file has 1"},
		"gzip cut":      {zipped[:len(zipped)-4], "gzip data end early"},
		"gzip cut data": {zipped[:len(zipped)-16], "need 4 bytes"},
		"gzip header":   {[]byte{0x1f, 0x8b, 0}, "gzip header"},
		"gzip checksum": {badSum, "gzip data"},
	}
	for name, c := range cases {
		_, err := Read(bytes.NewReader(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

func encodeType(kind byte) []byte {
	b := encode([]int{1}, []byte{0})
	b[2] = kind
	return b
}

func TestReadFileNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train-labels-idx1-ubyte")
	if err := os.WriteFile(path, []byte{0, 0, 8, 1, 0, 0, 0, 9, 1}, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.HasPrefix(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if _, err := ReadFile(path + "x"); err == nil || !strings.Contains(err.Error(), path+"x") {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(encode([]int{2, 2}, []byte{1, 2, 3, 4}))
	f.Add(zip(encode([]int{3}, []byte{1, 2, 3})))
	f.Add(encode([]int{1 << 30, 4}, []byte{1}))
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		n := 1
		for _, d := range got.Dims {
			n *= d
		}
		if len(got.Data) != n {
			t.Fatalf("%d values for %v", len(got.Data), got.Dims)
		}
	})
}
