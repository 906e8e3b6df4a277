package imaging

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/test/budgettest"
)

// chunk returns a chunk of a PNG file.
func chunk(name string, body []byte) []byte {
	b := slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(body))), []byte(name), body)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

func colouredPNG(t testing.TB, chunks ...[]byte) []byte {
	t.Helper()
	b := formatFile(t, "png-rgb.png")
	const head = pngSignature + pngAround + 13
	return slices.Concat(b[:head], slices.Concat(chunks...), b[head:])
}

func coloursOf(t testing.TB, b []byte) colourSpace {
	t.Helper()
	p, err := Open(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return p.format.colours(b)
}

func deflated(b []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func TestColoursPNG(t *testing.T) {
	profile := bytes.Repeat([]byte("profile "), 100)
	named := append([]byte("name\x00\x00"), deflated(profile)...)
	c := coloursOf(t, colouredPNG(t, chunk("cICP", []byte{9, 16, 0, 1}), chunk("iCCP", named), chunk("sRGB", []byte{0}),
		chunk("gAMA", []byte{0, 0, 0xb1, 0x8f}), chunk("cHRM", bytes.Repeat([]byte{0, 0, 0x7a, 0x12}, 8))))
	if c.cicp.primaries != 9 || c.cicp.transfer != 16 || !bytes.Equal(c.icc, profile) || !c.srgb ||
		c.gamma != 0.45455 ||
		c.chromaticities[7] != 0.3125 {
		t.Errorf("%+v", c)
	}
	bomb := append([]byte("name\x00\x00"), deflated(make([]byte, 64<<20))...)
	file := colouredPNG(t, chunk("iCCP", bomb))
	taken := budgettest.Taken(func() { c = coloursOf(t, file) })
	if c.icc != nil || taken > 32<<20 {
		t.Errorf("a profile of %d bytes, %d taken", len(c.icc), taken)
	}
	for _, damaged := range [][]byte{nil, {0}, []byte("name"), []byte("name\x00"), []byte("name\x00\x01abc"),
		[]byte("name\x00\x00abc"), named[:14]} {
		if c := coloursOf(t, colouredPNG(t, chunk("iCCP", damaged), chunk("cICP", nil), chunk("gAMA", []byte{1}),
			chunk("cHRM", []byte{1}))); c.icc != nil || c.gamma != 0 {
			t.Errorf("%q: a profile of %d bytes, gamma %v", damaged, len(c.icc), c.gamma)
		}
	}
}

func TestColoursJPEG(t *testing.T) {
	b := formatFile(t, "jpeg-444.jpg")
	piece := func(number, of byte, body string) []byte {
		s := append([]byte("ICC_PROFILE\x00"), number, of)
		s = append(s, body...)
		return append([]byte{0xff, 0xe2, byte((len(s) + 2) >> 8), byte(len(s) + 2)}, s...)
	}
	for _, tc := range []struct {
		pieces [][]byte
		want   string
	}{
		{nil, ""}, {[][]byte{piece(1, 1, "abc")}, "abc"}, {[][]byte{piece(2, 2, "def"), piece(1, 2, "abc")}, "abcdef"},
		{[][]byte{piece(1, 2, "abc")}, ""}, {[][]byte{piece(2, 2, "abc")}, ""},
		{[][]byte{piece(1, 1, "abc"), piece(1, 1, "def")}, "abc"}, {[][]byte{piece(255, 255, "x")}, ""},
		{[][]byte{piece(0, 0, "abc")}, "abc"}, // a mistake that is seen
	} {
		if c := coloursOf(t, slices.Concat(b[:2], slices.Concat(tc.pieces...), b[2:])); string(c.icc) != tc.want {
			t.Errorf("%q: %q", tc.pieces, c.icc)
		}
	}
	var all [][]byte
	for i := range 255 {
		all = append(all, piece(byte(i+1), 255, string(make([]byte, 65_000))))
	}
	if c := coloursOf(t, slices.Concat(b[:2], slices.Concat(all...), b[2:])); c.icc != nil {
		t.Errorf("a profile of %d bytes", len(c.icc))
	}
}

func TestColoursWebP(t *testing.T) {
	b := formatFile(t, "webp.webp")
	file := append(slices.Clone(b), "ICCP\x03\x00\x00\x00abc\x00"...)
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	if c := coloursOf(t, file); string(c.icc) != "abc" {
		t.Errorf("%+v", c)
	}
}

func TestColoursAVIF(t *testing.T) {
	c := coloursOf(t, formatFile(t, "avif.avif"))
	if c.cicp.primaries == 0 || c.cicp.transfer == 0 {
		t.Errorf("%+v", c)
	}
}
