// Package escape makes text from outside (names of classes, files and columns)
// safe for the place where it is shown: HTML, Markdown, a terminal. JSON and CSV
// have rules of their own and keep it exactly.
package escape

import (
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// HTML makes s safe inside HTML and XML text and quoted attributes. It also
// replaces control characters that XML forbids, characters that change the
// direction of text, and invalid UTF-8.
func HTML(s string) string { return html.EscapeString(Printable(s)) }

// Printable replaces the same characters as HTML but does not escape markup: for
// documents whose texts are escaped already.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if isHidden(r) && r != '\n' && r != '\t' {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// Markdown makes s plain text on one line of Markdown, a cell of a table or not:
// it starts no tag, no link, no code and no further cell.
func Markdown(s string) string { return markdown.Replace(HTML(s)) }

var markdown = strings.NewReplacer(`\`, `\\`, "|", `\|`, "[", `\[`, "]", `\]`, "`", "\\`", "\n", " ", "\t", " ")

// LaTeX makes s plain text on one line of LaTeX. Letters beyond ASCII stay, as LaTeX reads UTF-8.
func LaTeX(s string) string { return latex.Replace(Name(s)) }

var latex = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{",
	`\{`,
	"}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "±", `$\pm$`, "\u2212", `$-$`, "<", `$<$`, ">",
	`$>$`,
	"\u00a0", "~")

// Name makes s plain text on one line of a terminal: characters that would move
// the cursor, change colours or the direction of text, line breaks and invalid
// UTF-8 are written as \n, \x1b or \u202e.
func Name(s string) string { return escapeRunes(s, func(rune) bool { return false }) }

// Text is Name for text of several lines: line breaks and tabs stay.
func Text(s string) string {
	return escapeRunes(s, func(r rune) bool { return r == '\n' || r == '\t' })
}

// escapeRunes replaces characters that a terminal must not see, except those that keep accepts.
func escapeRunes(s string, keep func(rune) bool) string {
	var b strings.Builder
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !isHidden(r) || keep(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// isHidden reports whether r is a control character or turns the direction of text.
func isHidden(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// Writer returns a writer that passes text on to w through Text. A write must
// not split a character.
func Writer(w io.Writer) io.Writer { return textWriter{w} }

type textWriter struct{ w io.Writer }

func (t textWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(t.w, Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
