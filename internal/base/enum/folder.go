package enum

import "strings"

// FolderName turns a name into one that is valid for a folder on any system: small
// letters, digits and hyphens. Different names may give the same folder.
func FolderName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
}
