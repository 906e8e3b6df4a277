package imaging

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"
)

// TestDepth: values of fewer bits than 16 are scaled where the file says so and has bits that scaled values would not
// have. Other files of few bits are left as they are, with a remark.
func TestDepth(t *testing.T) {
	ramp := func(most, step int) (v []int) {
		for i := 0; i <= most; i += step {
			v = append(v, i)
		}
		return v
	}
	for name, c := range map[string]struct {
		values      []int
		significant byte
		remark      string
		last        uint8
	}{
		"12 bits":                      {ramp(4095, 1), 0, "use 12 of 16 bits", 15},
		"12 bits, declared":            {ramp(4095, 1), 12, "", 255},
		"14 bits, declared":            {ramp(16383, 3), 14, "", 255},
		"10 bits":                      {ramp(1023, 1), 0, "use 10 of 16 bits", 3},
		"10 bits as 12, declared":      {ramp(1023, 1), 12, "", 64},
		"dark, declared and scaled":    {ramp(4080, 16), 12, "use 12 of 16 bits", 15},
		"scaled to 16 bits":            {append(ramp(4080, 16), 65535), 12, "", 255},
		"16 bits":                      {ramp(65535, 13), 0, "", 255},
		"15 bits":                      {ramp(32767, 7), 0, "", 127},
		"black":                        {[]int{0, 0}, 0, "", 0},
		"more than declared":           {ramp(65535, 13), 12, "", 255},
		"declared as of too many bits": {ramp(4095, 1), 17, "use 12 of 16 bits", 15},
	} {
		for _, coloured := range []bool{false, true} {
			var im interface {
				image.Image
				Set(x, y int, c color.Color)
			} = image.NewGray16(image.Rect(0, 0, len(c.values), 1))
			if coloured {
				im = image.NewRGBA64(im.Bounds())
			}
			for x, v := range c.values {
				im.Set(x, 0, color.Gray16{uint16(v)})
			}
			var b bytes.Buffer
			if err := png.Encode(&b, im); err != nil {
				t.Fatal(err)
			}
			file := b.Bytes()
			if c.significant > 0 {
				const head = pngSignature + pngOverhead + 13
				file = slices.Concat(file[:head], chunk("sBIT", bytes.Repeat([]byte{c.significant}, 3)), file[head:])
			}
			var d Decoder
			var out Image
			if err := d.Decode(t.Context(), &out, file); err != nil {
				t.Fatal(name, err)
			}
			remarks := strings.Join(d.Remarks(), "; ")
			if last := out.Pix[len(out.Pix)-1]; (remarks == "") != (c.remark == "") ||
				!strings.Contains(remarks, c.remark) || last < c.last-min(c.last, 1) || last > c.last {
				t.Errorf("%s, coloured %v: %q, last %d, want %q, %d", name, coloured, remarks, last, c.remark, c.last)
			}
			if err := d.Decode(t.Context(), &out, formatFile(t, "png-grey16.png")); err != nil || len(d.Remarks()) > 0 {
				t.Errorf("the next picture: %v, %v", d.Remarks(), err)
			}
		}
	}
}
