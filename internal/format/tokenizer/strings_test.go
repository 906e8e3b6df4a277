package tokenizer

import "math/bits"

// stringsOf draws the same strings as testdata/make_reference.mjs.
type stringsOf struct{ state uint64 }

func (g *stringsOf) below(n int) int {
	g.state += 0x9e3779b97f4a7c15
	z := g.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	_, rest := bits.Div64(0, (z^z>>31)>>11, uint64(n))
	return int(rest)
}

func (g *stringsOf) between(lo, hi rune) rune { return lo + rune(g.below(int(hi-lo+1))) }

var (
	specials = []string{
		"<|startoftext|>", "<|endoftext|>", "</s>", "<unk>", "<bos>", "<eos>", "<pad>", "<mask>", "\n\n",
		"<0x41>", "\u2581", "\u2581\u2581", "</w>", "don't", "I'LL", "we've", "x'S", "12345",
		"$9.99", "  ", "\t", "<start>"}
	spaces = []rune{9, 10, 11, 12, 13, 32, 0x85, 0xa0, 0x1680, 0x2000, 0x200a, 0x200b, 0x2028, 0x2029, 0x202f, 0x205f,
		0x3000, 0xfeff, 0, 1, 0x1b, 0x7f, 0x180e}
	someWords = []string{"a", "photo", "of", "The", "red", "boot", "with", "LACES", "dog", "running", "on", "grass",
		"Zürich", "naïve", "straße", "ΣΊΣΥΦΟΣ", "İstanbul", "ﬁne", "①", "½", "Ångström",
		"e\u0301te", "hello,", "world!",
		"(x)", "--"}
)

// pick draws all of the candidates, and then which one it is.
func (g *stringsOf) pick(all ...rune) rune { return all[g.below(len(all))] }

func (g *stringsOf) rune(kind int) rune {
	b := g.between
	for {
		var c rune
		switch kind {
		case 0:
			c = b(32, 126)
		case 1:
			c = rune(g.below(0x110000))
		case 2:
			c = g.pick(b(0x1f300, 0x1faff), 0x200d, 0xfe0f, b(0x1f3fb, 0x1f3ff), b(0x1f1e6, 0x1f1ff),
				b(0x2600, 0x27bf))
		case 3:
			c = g.pick(b(97, 122), b(0x300, 0x36f), b(0xc0, 0x17f), b(65, 90))
		case 4:
			c = g.pick(b(0x4e00, 0x9fff), b(0x3040, 0x30ff), b(0xac00, 0xd7a3), b(0x1100, 0x11ff), b(0xff00, 0xffef))
		case 5:
			c = g.pick(b(0x5d0, 0x5ea), b(0x620, 0x65f), b(0x591, 0x5bd), 0x200e, 0x200f, 0x202e, b(0xfb50, 0xfdff))
		case 6:
			c = spaces[g.below(len(spaces))]
		case 10:
			c = b(0x300, 0x36f)
		default:
			c = g.pick(b(0x370, 0x3ff), b(0x400, 0x4ff), b(0x1e00, 0x1eff), b(0x900, 0x97f), b(0x2000, 0x22ff), 32)
		}
		if c < 0xd800 || c > 0xdfff {
			return c
		}
	}
}

func (g *stringsOf) text(kind, n int) []byte {
	var s []byte
	marks := kind == 3 && g.below(8) == 0
	for range n {
		switch {
		case kind == 8:
			s = append(s, someWords[g.below(len(someWords))]...)
			if g.below(5) != 0 {
				s = append(s, ' ')
			}
		case kind == 9 && g.below(2) == 0:
			s = append(s, specials[g.below(len(specials))]...)
		case kind == 9:
			s = append(s, string(g.rune(g.below(8)))...)
		case marks:
			s = append(s, string(g.rune(10))...)
		default:
			s = append(s, string(g.rune(kind))...)
		}
	}
	return s
}

// stringNumber returns string i of the reference. It need not be UTF-8.
func stringNumber(i int) string {
	g := &stringsOf{uint64(i) * 1000003}
	kind := i % 12
	n := g.below(40)
	if i%601 == 600 {
		n = int(g.between(1000, 6000))
	}
	switch kind {
	case 10:
		b := make([]byte, n)
		for k := range b {
			b[k] = byte(g.below(256))
		}
		return string(b)
	case 11:
		b := g.text(g.below(10), n)
		for k := g.below(4); k > 0 && len(b) > 0; k-- {
			at := g.below(len(b))
			b[at] = byte(g.below(256))
		}
		return string(b)
	}
	return string(g.text(kind, n))
}
