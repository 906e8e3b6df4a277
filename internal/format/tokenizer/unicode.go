package tokenizer

import (
	"strings"
	"unicode"
)

// Go's tables are of Unicode 15, those of Hugging Face's library of Unicode 16 and 17. These are the letters, digits
// and capitals that Go's lack.
const (
	newLetters = `\x{1c89}-\x{1c8a}\x{a7cb}-\x{a7cd}\x{a7da}-\x{a7dc}\x{105c0}-\x{105f3}\x{10d4a}-\x{10d65}` +
		`\x{10d6f}-\x{10d85}\x{10ec2}-\x{10ec4}\x{11380}-\x{11389}\x{1138b}\x{1138e}\x{11390}-\x{113b5}\x{113b7}` +
		`\x{113d1}\x{113d3}\x{11bc0}-\x{11be0}\x{13460}-\x{143fa}\x{16100}-\x{1611d}\x{16d40}-\x{16d6c}\x{18cff}` +
		`\x{1e5d0}-\x{1e5ed}\x{1e5f0}\x{2ebf0}-\x{2ee5d}`
	newDigits = `\x{10d40}-\x{10d49}\x{116d0}-\x{116e3}\x{11bf0}-\x{11bf9}\x{16130}-\x{16139}\x{16d70}-\x{16d79}` +
		`\x{1ccf0}-\x{1ccf9}\x{1e5f1}-\x{1e5fa}`
)

var newCapitals = map[rune]rune{0x1c89: 0x1c8a, 0xa7cb: 0x264, 0xa7cc: 0xa7cd, 0xa7ce: 0xa7cf, 0xa7d2: 0xa7d3,
	0xa7d4: 0xa7d5, 0xa7da: 0xa7db, 0xa7dc: 0x19b}

func lowerRune(r rune) rune {
	switch to, ok := newCapitals[r]; {
	case ok:
		return to
	case r >= 0x10d50 && r <= 0x10d65: // Garay
		return r + 0x20
	case r >= 0x16ea0 && r <= 0x16eb8: // Beria Erfe
		return r + 27
	}
	return unicode.ToLower(r)
}

// lower maps each character by itself: a sigma at the end of a word is no other letter.
func lower(text string) string {
	return strings.Map(lowerRune, strings.ReplaceAll(text, "İ", "i\u0307"))
}

func isSpace(r rune) bool { return unicode.IsSpace(r) }

// isWord reports what \w matches.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic,
		unicode.Join_Control)
}
