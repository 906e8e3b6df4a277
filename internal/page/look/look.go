// Package look is what all pages have in common to the eye: colours by light and dark, and the type.
package look

import _ "embed"

// Style is the style sheet, to stand before the page's own.
//
//go:embed look.css
var Style string
