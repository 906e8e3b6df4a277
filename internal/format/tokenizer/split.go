package tokenizer

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// splitter divides a text into pieces. first says that it is the beginning of the whole text. Empty pieces do not
// count.
type splitter func(e *workLimit, text string, first bool) []string

// pattern finds parts of a text; see compile.
type pattern struct {
	re    *regexp.Regexp
	steps int    // that re is compiled to
	text  string // instead of re
	// ahead: white space before other text ends one character early, as by \s+(?!\S)|\s+, which re has as \s+.
	ahead bool
}

// The bounds on a pattern: its bytes and, as bounds on time, the steps that it is compiled to.
const (
	maxPattern = 1000
	maxSteps   = 500
)

// space is \s of Unicode, inside of a class.
const space = `\t-\r\x{85}\p{Z}`

// lookahead is the only one that occurs in published tokenizers, always at the end.
const lookahead = `\s+(?!\S)|\s+`

// compile compiles a pattern of Oniguruma's language as far as it has the same meaning in Go's. Others are an error.
func compile(of string) (*pattern, error) {
	if len(of) > maxPattern {
		return nil, fmt.Errorf("a pattern of %d bytes: at most %d are allowed", len(of), maxPattern)
	}
	p := &pattern{}
	head, ahead := strings.CutSuffix(of, lookahead)
	if ahead {
		of, p.ahead = head+`\s+`, true
	}
	of, err := translate(of)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(of, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the pattern %.60q is not supported: %w", of, err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxSteps {
		return nil, fmt.Errorf("the pattern %.60q has %d steps: at most %d are allowed", of, len(prog.Inst), maxSteps)
	}
	p.steps = len(prog.Inst)
	if p.re, err = regexp.Compile(of); err == nil && p.re.MatchString("") {
		err = fmt.Errorf("the pattern %.60q matches the empty text", of)
	}
	return p, err
}

// translate writes \s, \S and \d as classes, since Go's know ASCII alone, and \p{L} and \p{N} with newer characters.
func translate(of string) (string, error) {
	var b strings.Builder
	class := false
	for i := 0; i < len(of); i++ {
		c := of[i]
		if c != '\\' || i+1 == len(of) {
			switch {
			case class && c == '[' || class && strings.HasPrefix(of[i:], "&&"):
				return "", fmt.Errorf("the pattern %.60q has a class within a class, which is not supported", of)
			case c == '[':
				class = true
				b.WriteByte(c)
				for _, first := range []string{"^", "]"} {
					if strings.HasPrefix(of[i+1:], first) {
						b.WriteString(first)
						i++
					}
				}
				continue
			case c == ']':
				class = false
			}
			b.WriteByte(c)
			continue
		}
		i++
		if more := newCharacters(of[i:]); more != "" {
			more = `\` + of[i:i+len("p{L}")] + more
			if i += len("{L}"); !class {
				more = "[" + more + "]"
			}
			b.WriteString(more)
			continue
		}
		switch d := of[i]; {
		case d == 's' && class:
			b.WriteString(space)
		case d == 's':
			b.WriteString("[" + space + "]")
		case d == 'S' && !class:
			b.WriteString("[^" + space + "]")
		case d == 'd' && !class:
			b.WriteString(`[\p{Nd}` + newDigits + `]`)
		case strings.IndexByte("SDdwWbBhHRXGKkzZAP", d) >= 0:
			return "", fmt.Errorf("the pattern %.60q has \\%c, which is not supported", of, d)
		default:
			b.WriteByte('\\')
			b.WriteByte(d)
		}
	}
	return b.String(), nil
}

// newCharacters returns the characters that Go's classes lack, of the class that a text begins with.
func newCharacters(text string) string {
	switch {
	case strings.HasPrefix(text, "p{L}"):
		return newLetters
	case strings.HasPrefix(text, "p{N}"):
		return newDigits
	}
	return ""
}

// find returns where the next match begins and ends, from a byte on; false without one.
func (p *pattern) find(e *workLimit, text string, from int) (start, end int, ok bool) {
	if p.re == nil {
		i := strings.Index(text[from:], p.text)
		return from + i, from + i + len(p.text), i >= 0
	}
	at := p.re.FindReaderIndex(&reader{text[from:], p.steps, e})
	if at == nil {
		return 0, 0, false
	}
	start, end = from+at[0], from+at[1]
	if p.ahead && end < len(text) && strings.TrimLeftFunc(text[start:end], isSpace) == "" {
		if next, _ := utf8.DecodeRuneInString(text[end:]); !isSpace(next) {
			if _, n := utf8.DecodeLastRuneInString(text[start:end]); end-n > start {
				end -= n
			}
		}
	}
	return start, end, true
}

// span is a match, or what is between two.
type span struct {
	text  string
	match bool
}

// spans divides a text.
func (p *pattern) spans(e *workLimit, text string) []span {
	var all []span
	at := 0
	for at < len(text) {
		start, end, ok := p.find(e, text, at)
		if !ok {
			break
		}
		if start > at {
			all = append(all, span{text[at:start], false})
		}
		all = append(all, span{text[start:end], true})
		at = end
	}
	if at < len(text) {
		all = append(all, span{text[at:], false})
	}
	return all
}

// replacer returns a normalizer that puts a text for each match. The text stands for the last character of the match,
// as in Hugging Face's library.
func (p *pattern) replacer(by string) normalizer {
	return func(e *workLimit, t normalText) normalText {
		var b strings.Builder
		for i, s := range p.spans(e, t.text) {
			n := utf8.RuneCountInString(s.text)
			switch {
			case i == 0 && !s.match:
				t.head = min(t.head, n)
			case i == 0 && by == "":
				t.head = max(t.head-n, 0)
			case i == 0 && n <= t.head:
				t.head = utf8.RuneCountInString(by)
			case i == 0:
				t.head = 0
			}
			if s.match {
				s.text = by
			}
			b.WriteString(s.text)
			if b.Len() > maxNormal {
				break // Encode refuses it
			}
		}
		t.text = b.String()
		return t
	}
}

// behaviors say what becomes of the matches of a split.
var behaviors = map[string]func(all []span) []string{
	"Removed": func(all []span) (out []string) {
		for i, s := range all {
			if !s.match {
				out = append(out, s.text)
			} else if i == 0 {
				out = append(out, "")
			}
		}
		return out
	},
	"Isolated": func(all []span) (out []string) {
		for _, s := range all {
			out = append(out, s.text)
		}
		return out
	},
	"Contiguous": func(all []span) (out []string) {
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n].match == all[0].match {
				n++
			}
			var b strings.Builder
			for _, s := range all[:n] {
				b.WriteString(s.text)
			}
			out, all = append(out, b.String()), all[n:]
		}
		return out
	},
	"MergedWithPrevious": func(all []span) (out []string) {
		for i, s := range all {
			if s.match && i > 0 && !all[i-1].match {
				out[len(out)-1] += s.text
			} else {
				out = append(out, s.text)
			}
		}
		return out
	},
	"MergedWithNext": func(all []span) (out []string) {
		for i := 0; i < len(all); i++ {
			s := all[i].text
			if all[i].match && i+1 < len(all) && !all[i+1].match {
				i++
				s += all[i].text
			}
			out = append(out, s)
		}
		return out
	},
}

// splitBy divides a text at the matches of a pattern, or of what it does not match.
func splitBy(p *pattern, invert bool, behave func([]span) []string) splitter {
	return func(e *workLimit, text string, _ bool) []string {
		all := p.spans(e, text)
		if invert {
			for i := range all {
				all[i].match = !all[i].match
			}
		}
		return behave(all)
	}
}

// byteRunes has the character that stands for each byte in the vocabularies of byte-level models.
var byteRunes = func() (all [256]rune) {
	next := rune(256)
	for b := range all {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			all[b] = rune(b)
		} else {
			all[b] = next
			next++
		}
	}
	return all
}()

// byteWords is how GPT-2 divides a text.
const byteWords = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|` + lookahead

// byteLevel writes bytes as characters. p is nil if the text stays whole.
func byteLevel(p *pattern, prefix bool) splitter {
	return func(e *workLimit, text string, _ bool) []string {
		if prefix && !strings.HasPrefix(text, " ") {
			text = " " + text
		}
		spans := []span{{text: text}}
		if p != nil {
			spans = p.spans(e, text)
		}
		var out []string
		for _, s := range spans {
			var b strings.Builder
			for i := range len(s.text) {
				b.WriteRune(byteRunes[s.text[i]])
			}
			out = append(out, b.String())
		}
		return out
	}
}

// metaspace writes spaces as another character, and begins a piece at each.
func metaspace(as, scheme string, split bool) splitter {
	p := &pattern{text: as}
	return func(e *workLimit, text string, first bool) []string {
		text = strings.ReplaceAll(text, " ", as)
		if (scheme == "always" || scheme == "first" && first) && text != "" && !strings.HasPrefix(text, as) {
			text = as + text
		}
		if !split {
			return []string{text}
		}
		return behaviors["MergedWithNext"](p.spans(e, text))
	}
}
