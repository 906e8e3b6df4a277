package plaintext

import "bytes"

// Separator returns the separator of the columns of a table that begins like this: a comma, a
// semicolon or a tab, of which the first line that is not blank has most.
func Separator(begin []byte) rune {
	line, _, _ := bytes.Cut(bytes.TrimLeft(begin, "\r\n"), []byte("\n"))
	separator, most := ',', bytes.Count(line, []byte(","))
	for _, s := range ";\t" {
		if n := bytes.Count(line, []byte(string(s))); n > most {
			separator, most = s, n
		}
	}
	return separator
}
