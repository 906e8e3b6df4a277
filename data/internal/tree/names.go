package tree

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// UnwritableReason returns the reason why s cannot be written to lists, tables and JSON and read back, or "".
func UnwritableReason(s string) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Sprintf("has the control character %q", r)
		}
	}
	return ""
}

// UnwritableNameReason is the reason for leaving out a file with an illegible name.
func UnwritableNameReason(name string) string {
	return "the name " + UnwritableReason(name) + " (rename it)"
}

// FindName returns the name in t of a file that a list names. Unicode writes é in two ways, composed (NFC)
// and decomposed (NFD), and a list may come from another system than its files. The name is unchanged
// if there is such a file, or no file in another form.
func FindName(t Tree, name string) string {
	if norm.NFC.String(name) == norm.NFD.String(name) || t.Has(name) {
		return name
	}
	const most = 1 << 10 // forms of one name, whose folders may have different ones
	forms := []string{""}
	for part := range strings.SplitAfterSeq(name, "/") {
		var longer []string
		for _, before := range forms {
			longer = append(longer, before+norm.NFC.String(part))
			if form := norm.NFD.String(part); form != norm.NFC.String(part) {
				longer = append(longer, before+form)
			}
		}
		if forms = longer; len(forms) > most {
			return name
		}
	}
	if i := slices.IndexFunc(forms, t.Has); i >= 0 {
		return forms[i]
	}
	return name
}
