package colourspace

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

type goldenCase struct {
	Name, Pixels, SRGB string
	Profile            []byte
	Grey               bool
}

func goldens(t testing.TB) (all []goldenCase) {
	b, err := os.ReadFile("testdata/golden.json")
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func unhex(t testing.TB, s string) []uint8 {
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// LittleCMS converts the same colours with the same profiles. It works in 8 bits with tables of its own.
func TestReadICC(t *testing.T) {
	for _, c := range goldens(t) {
		s, err := ReadICC(c.Profile)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if s.Grey != c.Grey {
			t.Errorf("%s: grey is %v", c.Name, s.Grey)
		}
		k := NewConverter(s)
		if k == nil {
			t.Errorf("%s: taken for sRGB", c.Name)
			continue
		}
		step := 3
		if c.Grey {
			step = 1
		}
		is, want := unhex(t, c.Pixels), unhex(t, c.SRGB)
		wide := make([]uint8, 0, 2*len(is))
		for _, v := range is {
			wide = append(wide, v, v) // times 257
		}
		k.Convert8(is, step)
		k.Convert16(wide, step)
		worst, deep := 0, 0
		for i := range want {
			worst = max(worst, abs(int(is[i])-int(want[i])))
			deep = max(deep, abs(int(wide[2*i])-int(want[i])))
		}
		if worst > 1 || deep > 2 { // 16 bits are cut, not rounded
			t.Errorf("%s: differs from LittleCMS by %d, with 16 bits by %d", c.Name, worst, deep)
		}
	}
}

func abs(v int) int { return max(v, -v) }

// Whatever is cut off or changed, a profile is read within its bytes, or refused.
func TestReadICCOfDamagedProfiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range goldens(t) {
		for n := 0; n < len(c.Profile); n += 1 + n/64 {
			read(c.Profile[:n])
		}
		for range 300 {
			b := slices.Clone(c.Profile)
			for range 1 + r.IntN(3) {
				b[r.IntN(len(b))] = [...]byte{0, 0xff, 0x7f, 0x80, byte(r.Uint32())}[r.IntN(5)]
			}
			read(b)
		}
	}
}

// read reads a profile and converts by it.
func read(b []byte) {
	s, err := ReadICC(b)
	if err != nil {
		return
	}
	if c := NewConverter(s); c != nil {
		c.Convert8([]uint8{0, 127, 255, 9}, 4)
		c.Convert16([]uint8{0, 0, 127, 1, 255, 255}, 3)
	}
}

func TestReadICCUnsupported(t *testing.T) {
	sound := goldens(t)[0].Profile
	for _, c := range []struct {
		name   string
		change func(b []byte)
	}{
		{"CMYK", func(b []byte) { copy(b[16:], "CMYK") }},
		{"letters", func(b []byte) { copy(b[16:], "\x00\x1b[2") }},
		{"Lab", func(b []byte) { copy(b[20:], "Lab ") }},
	} {
		b := slices.Clone(sound)
		c.change(b)
		var u Unsupported
		if _, err := ReadICC(b); !errors.As(err, &u) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := ReadICC(nil); err == nil {
		t.Error("nothing is a profile")
	}
}
