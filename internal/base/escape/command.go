package escape

import "strings"

// Command quotes the words of a command for a shell.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" ||
			strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_") != "" {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}
