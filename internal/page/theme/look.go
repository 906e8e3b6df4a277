// Package theme holds what all pages share: the colours of the light and the dark scheme, the type, and the
// security policy of pages that are files.
package theme

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Style is the shared style sheet. It comes before the page's own.
//
//go:embed look.css
var Style string

// Policy returns the element of the head that restricts a page that is a file. The page runs only these
// scripts, each exactly as it is between its tags. It loads only its own pictures and pictures of this
// machine, and sends nothing. Style attributes and the page's style sheet are allowed.
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
