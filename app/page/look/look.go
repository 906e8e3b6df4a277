// Package look is what all pages have in common: colours by light and dark and the type for the eye, and
// for the browser what a page that is a file may do.
package look

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Style is the style sheet, to stand before the page's own.
//
//go:embed look.css
var Style string

// Policy is the element of the head that lets a page that is a file run these scripts alone, each as it
// stands between its tags, load nothing but pictures of its own and of this machine, and send nothing
// anywhere. Widths in style attributes and the page's style sheet are its own.
func Policy(scripts ...string) g.Node {
	allowed := make([]string, len(scripts))
	for i, s := range scripts {
		sum := sha256.Sum256([]byte(s))
		allowed[i] = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	if len(scripts) == 0 {
		allowed = []string{"'none'"}
	}
	return h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content("default-src 'none'; script-src "+
		strings.Join(allowed, " ")+"; style-src 'unsafe-inline'; img-src 'self' file: data: blob:; "+
		"base-uri 'none'; form-action 'none'"))
}
