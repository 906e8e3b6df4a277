package report

import (
	"html"
	"strings"
)

// escape makes s safe inside HTML and XML text and quoted attributes: control
// characters that XML forbids and broken UTF-8 are replaced.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd")))
}
