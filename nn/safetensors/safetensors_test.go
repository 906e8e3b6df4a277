package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func file(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func sample() *File {
	return &File{
		Meta: map[string]string{"a": "b"},
		Tensors: []Tensor{
			Float32("w", []int{2, 2},
				[]float32{1, float32(math.NaN()), float32(math.Inf(-1)), float32(math.Copysign(0, -1))}),
			Int64("step", nil, []int64{-3}),
			Float32("empty", []int{0, 7}, nil),
			Float32("\"odd\" name \u00e9", []int{1}, []float32{math.SmallestNonzeroFloat32}),
		},
	}
}

func TestRoundTrip(t *testing.T) {
	var b bytes.Buffer
	f := sample()
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	g, err := Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if n := binary.LittleEndian.Uint64(b.Bytes()); n%8 != 0 {
		t.Errorf("header of %d bytes: data is not aligned", n)
	}
	for i := range f.Tensors {
		a, c := f.Tensors[i], g.Tensor(f.Tensors[i].Name)
		if c == nil || a.DType != c.DType || !bytes.Equal(a.Data, c.Data) ||
			fmt.Sprint(a.Shape) != fmt.Sprint(c.Shape) {
			t.Errorf("wrote %v, read %v", a, c)
		}
	}
	if !cmp.Equal(f.Meta, g.Meta) {
		t.Errorf("wrote %v, read %v", f.Meta, g.Meta)
	}
}

func TestConversions(t *testing.T) {
	raw := func(d DType, n int, b ...byte) *Tensor { return &Tensor{Name: "x", DType: d, Shape: []int{n}, Data: b} }
	cases := []struct {
		t    *Tensor
		want []float32
	}{
		// 1, -2, the largest half, the smallest subnormal half, infinity, -0.
		{raw(F16, 6, 0, 0x3c, 0, 0xc0, 0xff, 0x7b, 1, 0, 0, 0x7c, 0, 0x80),
			[]float32{1, -2, 65504, 1.0 / (1 << 24), float32(math.Inf(1)), float32(math.Copysign(0, -1))}},
		{raw(BF16, 2, 0x80, 0x3f, 0x49, 0x40), []float32{1, 3.140625}},
		{raw(F64, 1, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f), []float32{1.5}},
	}
	for _, c := range cases {
		got, err := c.t.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.want {
			if math.Float32bits(got[i]) != math.Float32bits(c.want[i]) {
				t.Errorf("%s: value %d is %v, want %v", c.t.DType, i, got[i], c.want[i])
			}
		}
	}
	if _, err := raw(I64, 0).Float32s(); err == nil {
		t.Error("integers passed as floating-point values")
	}
	if _, err := raw(F32, 0).Int64s(); err == nil {
		t.Error("floating-point values passed as integers")
	}
}

func TestRejects(t *testing.T) {
	four := []byte{0, 0, 0, 0}
	cases := []struct {
		name, want string
		data       []byte
	}{
		{"empty", "at least 8", nil},
		{"seven bytes", "at least 8", make([]byte, 7)},
		{"huge header", "at most", binary.LittleEndian.AppendUint64(nil, 1<<60)},
		{"truncated header", "truncated", binary.LittleEndian.AppendUint64(nil, 50)},
		{"not JSON", "not a JSON object", file("nonsense")},
		{"array", "not a JSON object", file("[]")},
		{"unclosed", "header", file(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}`, four...)},
		{"trailing JSON", "text after", file(`{}{}`)},
		{"truncated data", "truncated", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, four...)},
		{"data left over", "follow the last", file(`{}`, 1)},
		{"overlap", "overlap",
			file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, four...)},
		{"hole", "overlap", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, append(four, four...)...)},
		{"unknown dtype", `dtype "Q7"`, file(`{"a":{"dtype":"Q7","shape":[1],"data_offsets":[0,4]}}`, four...)},
		{"shape and length", "4 bytes", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, four...)},
		{"odd length", "3 bytes", file(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,3]}}`, 1, 2, 3)},
		{"negative size", "impossible", file(`{"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, four...)},
		{"overflow", "impossible",
			file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,4]}}`, four...)},
		{"backward range", "not a range", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, four...)},
		{"duplicate", "twice",
			file(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`)},
		{"metadata", "metadata", file(`{"__metadata__":{"a":1}}`)},
	}
	for _, c := range cases {
		if _, err := Parse(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	bad := File{Tensors: []Tensor{{Name: "x", DType: F32, Shape: []int{3}, Data: four}}}
	if err := bad.Write(&bytes.Buffer{}); err == nil {
		t.Error("wrote a tensor whose shape and length disagree")
	}
}

func FuzzParse(f *testing.F) {
	var b bytes.Buffer
	if err := sample().Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-1])
	f.Add(file(`{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"__metadata__":{}}`, 1, 2, 3, 4))
	f.Add(binary.LittleEndian.AppendUint64(nil, math.MaxUint64))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			return
		}
		// What parses can be written, and reads back the same.
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		q, err := Parse(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Tensors) != len(q.Tensors) {
			t.Fatalf("%d tensors became %d", len(p.Tensors), len(q.Tensors))
		}
		for i := range p.Tensors {
			// Empty tensors share an offset; their order may differ.
			u := q.Tensor(p.Tensors[i].Name)
			if u == nil || !bytes.Equal(u.Data, p.Tensors[i].Data) || u.DType != p.Tensors[i].DType {
				t.Fatalf("tensor %q became %v", p.Tensors[i].Name, u)
			}
			_, _ = u.Float32s()
		}
	})
}
