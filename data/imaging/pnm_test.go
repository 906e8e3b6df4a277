package imaging

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// TestPNM reads every kind, with blanks and comments wherever the format allows them.
func TestPNM(t *testing.T) {
	for file, want := range map[string][]uint8{
		"P1\n3 2\n101\n0 1 0":                              {0, 255, 0, 255, 0, 255},
		"P1 #\n#3\n 3 2 #\n1 0 1 # a comment\n 0 1 0 rest": {0, 255, 0, 255, 0, 255},
		"P2 3 1 4 0 2 4":                                   {0, 128, 255},
		"P2\t3\r\n1\v4\f0 2 9":                             {0, 128, 255}, // beyond the largest
		"P3 1 2 100 0 50 100 100 0 0":                      {0, 128, 255, 255, 0, 0},
		"P4 3 2\n\xa0\x40":                                 {0, 255, 0, 255, 0, 255},
		"P5 3 1 255\n\x00\x20\n":                           {0, 0x20, 10},
		"P5#x\n3 1 1 \x00\x01\x02":                         {0, 255, 255},
		"P5 2 1 65535\n\x00\x00\xff\xff":                   {0, 255},
		"P5 2 1 4095\n\x08\x00\x0f\xff":                    {128, 255},
		"P6 1 1 255 abc":                                   []byte("abc"),
		"P6 1 1 255\nabcP6 1 1 255\ndef":                   []byte("abc"), // the first picture
	} {
		var im Image
		if err := new(Decoder).Decode(t.Context(), &im, []byte(file)); err != nil || !bytes.Equal(im.Pix, want) {
			t.Errorf("%q: %v, want %v, %v", file, im.Pix, want, err)
		}
	}
}

// TestHostilePNM: a file that announces more than it has is refused without the memory for it.
func TestHostilePNM(t *testing.T) {
	for _, file := range []string{
		"P5", "P5 ", "P5 1", "P5 1 1", "P5 1 1 255", "P5 1 1 255 ", "P5 1 1 0 a", "P5 1 1 65536 ab", "P5 0 1 255 a",
		"P5 -1 1 255 a", "P5 1.5 1 255 a", "P5 9999999999999999999999 1 255 a", "P5 1073741824 1073741824 255 a",
		"P6 20000 20000 255 a", "P4 100000 100000 a", "P1 10000 10000 1", "P2 9000 9000 1 1 1", "P2 2 1 9 1 x",
		"P2 2 1 9 1", "P3 1 1 9 1 2 -3", "P5 #" + strings.Repeat("#", 1<<20), "P5 " + strings.Repeat("#\n", 1<<20),
		"P1 4 1 1 2", "P1 1000 1000 " + strings.Repeat(" ", 1_000_000) + "1", "P7\nWIDTH 1\n", "PF\n1 1\n-1\nabcd",
		"P5 1 1 99999999999 a",
	} {
		var im Image
		var err error
		taken := budgettest.Allocated(func() { err = new(Decoder).Decode(context.Background(), &im, []byte(file)) })
		if err == nil || taken > 8<<20 || len(err.Error()) > 300 {
			t.Errorf("%.40q: %d bytes taken, %v", file, taken, err)
		}
	}
}

// TestPNMContext: decoding ends with its context.
func TestPNMContext(t *testing.T) {
	p, err := Open(t.Context(), append([]byte("P5 1000 1000 255 "), make([]byte, 1_000_000)...))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.source.decode(ctx); err == nil {
		t.Error("decoded")
	}
}

// TestPNMDepths: a text and bytes of the same values are the same picture, for every depth.
func TestPNMDepths(t *testing.T) {
	for _, most := range []int{1, 2, 15, 100, 254, 255, 256, 1023, 4095, 65535} {
		text, raw := fmt.Sprintf("P2 5 1 %d", most), []byte(fmt.Sprintf("P5 5 1 %d\n", most))
		var want []uint8
		for i := range 5 {
			v := most * i / 4
			text += fmt.Sprint(" ", v)
			if most > 255 {
				raw = append(raw, byte(v>>8))
			}
			raw = append(raw, byte(v))
			want = append(want, uint8(float64(v)/float64(most)*255+0.5))
		}
		for _, file := range [][]byte{[]byte(text), raw} {
			var im Image
			if err := new(Decoder).Decode(t.Context(), &im, file); err != nil || !slices.Equal(im.Pix, want) {
				t.Errorf("%d: %v, want %v, %v", most, im.Pix, want, err)
			}
		}
	}
}
