package embedding

import "bytes"

// Separator is what stands between the columns of a CSV file with that beginning, of
// which the first line that is not blank counts: a semicolon, where spreadsheets write
// decimals with commas, or a comma.
func Separator(begin []byte) rune {
	line, _, _ := bytes.Cut(bytes.TrimLeft(begin, "\r\n"), []byte("\n"))
	if bytes.Count(line, []byte(";")) > bytes.Count(line, []byte(",")) {
		return ';'
	}
	return ','
}
