package tokenizer

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/unicode/norm"
)

// normalText is a text that normalizers have changed. head is how many of its first characters stand for the first
// character of the text before all normalizers: 0 if that was removed.
type normalText struct {
	text string
	head int
}

// normalizer changes a text.
type normalizer func(e *workLimit, t normalText) normalText

// perCharacter is a normalizer that changes characters by themselves, or together with those behind them.
func perCharacter(change func(text string) string) normalizer {
	return func(_ *workLimit, t normalText) normalText {
		t.text = change(t.text)
		if t.head = min(t.head, 1); t.text == "" {
			t.head = 0
		}
		return t
	}
}

// strip removes white space at the ends.
func strip(left, right bool) normalizer {
	return func(_ *workLimit, t normalText) normalText {
		if left {
			text := strings.TrimLeftFunc(t.text, isSpace)
			t.head = max(t.head-utf8.RuneCountInString(t.text[:len(t.text)-len(text)]), 0)
			t.text = text
		}
		if right {
			t.text = strings.TrimRightFunc(t.text, isSpace)
		}
		return t
	}
}

// prepend puts a prefix before a text. It counts as part of the first character.
func prepend(prefix string) normalizer {
	return func(_ *workLimit, t normalText) normalText {
		if t.text == "" {
			return t
		}
		if t.head > 0 {
			t.head += utf8.RuneCountInString(prefix)
		}
		return normalText{prefix + t.text, t.head}
	}
}

func endsWithWord(text string) bool {
	r, n := utf8.DecodeLastRuneInString(text)
	return n > 0 && isWord(r)
}

func startsWithWord(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n > 0 && isWord(r)
}

// maxMarks is the longest run of combining marks that package norm keeps as it is.
const maxMarks = 30

// compose is NFC without the limit of package norm on combining marks, which it breaks up by U+034F.
func compose(text string) string {
	if !hasLongRun(text) {
		return norm.NFC.String(text)
	}
	return recompose(text)
}

// hasLongRun reports whether many combining marks follow each other, also those inside of composed characters.
func hasLongRun(text string) bool {
	run := 0
	for _, r := range text {
		p := norm.NFC.PropertiesString(string(r))
		if len(p.Decomposition()) == 0 && p.CCC() == 0 {
			run = 0
		} else if run += 1 + utf8.RuneCount(p.Decomposition()); run >= maxMarks {
			return true
		}
	}
	return false
}

// recompose is the algorithm of Unicode, chapter 3.11.
func recompose(text string) string {
	var all []rune
	for _, r := range text {
		all = append(all, []rune(norm.NFD.String(string(r)))...)
	}
	class := func(r rune) uint8 { return norm.NFC.PropertiesString(string(r)).CCC() }
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && class(all[j]) != 0 {
			j++
		}
		slices.SortStableFunc(all[i:j], func(a, b rune) int { return int(class(a)) - int(class(b)) })
		i = j + 1
	}
	var out []rune
	starter, last := -1, -1 // the place of the last starter; the class of what stands after it, -1 for nothing
	for _, r := range all {
		c := int(class(r))
		if starter >= 0 && last < c {
			if one := []rune(norm.NFC.String(string(out[starter]) + string(r))); len(one) == 1 {
				out[starter] = one[0]
				continue
			}
		}
		out = append(out, r)
		if last = c; c == 0 {
			starter, last = len(out)-1, -1
		}
	}
	return string(out)
}

// charsmap is the table by which SentencePiece normalizes: a double array over the bytes of its keys.
type charsmap struct {
	units []uint32
	texts string
}

// parseCharsmap returns false for a table that is cut off.
func parseCharsmap(b []byte) (*charsmap, bool) {
	if len(b) < 4 {
		return nil, false
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n%4 != 0 || n == 0 || n > int64(len(b)) {
		return nil, false
	}
	m := &charsmap{units: make([]uint32, n/4), texts: string(b[n:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return m, true
}

// find returns what the shortest key that s begins with becomes.
func (m *charsmap) find(s string) (string, bool) {
	offset := func(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }
	at := offset(m.units[0])
	for i := range len(s) {
		if s[i] == 0 {
			return "", false
		}
		if at ^= uint32(s[i]); int64(at) >= int64(len(m.units)) {
			return "", false
		}
		u := m.units[at]
		if u&(1<<31|0xff) != uint32(s[i]) {
			return "", false
		}
		if at ^= offset(u); u>>8&1 == 0 {
			continue
		}
		if int64(at) >= int64(len(m.units)) {
			return "", false
		}
		from := int64(m.units[at] & (1<<31 - 1))
		if from > int64(len(m.texts)) {
			return "", false
		}
		to, _, _ := strings.Cut(m.texts[from:], "\x00")
		return to, true
	}
	return "", false
}

// shortCluster is the length below which SentencePiece's table is asked for a whole cluster of characters.
const shortCluster = 6

func (m *charsmap) normalize(text string) string {
	var b strings.Builder
	for rest, state := text, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(cluster) < shortCluster {
			if to, ok := m.find(cluster); ok {
				b.WriteString(to)
				continue
			}
		}
		for _, r := range cluster {
			if to, ok := m.find(string(r)); ok {
				b.WriteString(to)
			} else {
				b.WriteRune(r)
			}
		}
		if b.Len() > maxNormal {
			break // Encode refuses it
		}
	}
	return b.String()
}
