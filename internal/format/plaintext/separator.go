package plaintext

import (
	"bytes"
	"strings"
)

// Separator returns the separator of the columns of a table that begins like this. It is a comma, a
// semicolon or a tab, whichever occurs most in the first line that is not blank.
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

// NamesSeparator reports whether the first record of a table is the line, such as sep=;, by which Excel
// says what stands between the columns.
func NamesSeparator(record []string) bool {
	return len(record) > 0 && len(record) <= 2 && strings.HasPrefix(strings.ToLower(record[0]), "sep=")
}
