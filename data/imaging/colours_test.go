package imaging

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/colourspace"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// chunk returns a chunk of a PNG file.
func chunk(name string, body []byte) []byte {
	b := slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(body))), []byte(name), body)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

func colouredPNG(t testing.TB, chunks ...[]byte) []byte {
	t.Helper()
	b := formatFile(t, "png-rgb.png")
	const head = pngSignature + pngOverhead + 13
	return slices.Concat(b[:head], slices.Concat(chunks...), b[head:])
}

func coloursOf(t testing.TB, b []byte) colourSpace {
	t.Helper()
	p, err := Open(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return p.colours()
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
	taken := budgettest.Allocated(func() { c = coloursOf(t, file) })
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

// The colours that a file declares become those of sRGB that LittleCMS, or the formulas, make of them. Others stay, and
// a remark says why. One decoder reads all files, in any order.
func TestColoursBecomeSRGB(t *testing.T) {
	stay := map[string]string{"pq.png": "PQ (HDR)", "colours-in-grey.png": "greys", "damaged.png": "damaged",
		"cmyk.jpg": "CMYK", "profile.jxl": "JPEG XL"}
	var dec, raw Decoder
	raw.RawColours = true
	var im, stored Image
	for name, want := range references(t, "colours") {
		b, err := os.ReadFile(filepath.Join("testdata", "colours", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(dec.Decode(t.Context(), &im, b), raw.Decode(t.Context(), &stored, b)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if im.W != want.W || im.H != want.H || im.C != want.C {
			t.Errorf("%s: %d x %d x %d", name, im.W, im.H, im.C)
			continue
		}
		if worst := im.differs(want.Pixels); worst > want.Tolerance {
			t.Errorf("%s: differs from the reference by up to %d levels, allowed %d", name, worst, want.Tolerance)
		}
		changed := !slices.Equal(im.Pix, stored.Pix)
		if remark := strings.Join(dec.Remarks(), ";"); stay[name] != "" {
			if changed || !strings.Contains(remark, stay[name]) {
				t.Errorf("%s: changed is %v, remark %q", name, changed, remark)
			}
		} else if strings.Contains(remark, "stored") || changed != (name != "gamma-srgb.png") {
			t.Errorf("%s: changed is %v, remark %q", name, changed, remark)
		}
		if len(raw.Remarks()) > 0 && name != "profile-alpha.png" {
			t.Errorf("%s: raw: %q", name, raw.Remarks())
		}
	}
}

// A file that declares nothing is read as it is after one that does.
func TestColoursOfOneFileOnly(t *testing.T) {
	var dec Decoder
	var im, plain Image
	p3, err := os.ReadFile(filepath.Join("testdata", "colours", "profile.png"))
	if err != nil {
		t.Fatal(err)
	}
	b := formatFile(t, "png-rgb.png")
	if err := errors.Join(new(Decoder).Decode(t.Context(), &plain, b), dec.Decode(t.Context(), &im, p3),
		dec.Decode(t.Context(), &im, b)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(im.Pix, plain.Pix) {
		t.Error("the profile of another file was used")
	}
}

// Premultiplied colours are converted as they are without the alpha.
func TestConvertPremultiplied(t *testing.T) {
	space, err := colourspace.FromH273(12, 13)
	if err != nil {
		t.Fatal(err)
	}
	v := conversion{Converter: colourspace.NewConverter(space)}
	for _, a := range []int{0, 1, 77, 128, 254, 255} {
		plain := []uint8{200, 90, 30, uint8(a), 7, 7, 7, 255}
		multiplied := slices.Clone(plain)
		wide := make([]uint8, 16)
		for i := range 8 {
			x := int(plain[i])
			if i < 3 {
				x = (x*a + 127) / 255
				multiplied[i] = uint8(x)
			}
			wide[2*i], wide[2*i+1] = uint8(x), uint8(x)
		}
		v.applyToRGBA(plain, 1, false)
		v.applyToRGBA(multiplied, 1, true)
		v.applyToRGBA(wide, 2, true)
		for i := range 4 {
			want := int(plain[i])
			if i < 3 {
				want = (want*a + 127) / 255
			}
			for _, got := range []uint8{multiplied[i], wide[2*i]} {
				if d := int(got) - want; max(d, -d) > 2 {
					t.Errorf("alpha %d: value %d is %d, want %d", a, i, got, want)
				}
			}
		}
	}
}

// Files that declare sRGB, or nothing, are as they are without a conversion, whatever else their headers hold: opacity,
// animation, 16 bits.
func TestColoursOfUsualFiles(t *testing.T) {
	var dec, raw Decoder
	raw.RawColours = true
	var im, stored Image
	for name := range references(t) {
		b := formatFile(t, name)
		if err := errors.Join(dec.Decode(t.Context(), &im, b), raw.Decode(t.Context(), &stored, b)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(strings.Join(dec.Remarks(), ";"), "stored") || !slices.Equal(im.Pix, stored.Pix) {
			t.Errorf("%s: %q", name, dec.Remarks())
		}
	}
}
