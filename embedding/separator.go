package embedding

import "bytes"

// Separator returns the separator of the columns of a CSV file that begins like this:
// a comma, or a semicolon, as spreadsheets write where decimals have commas. The first
// line that is not blank decides.
func Separator(begin []byte) rune {
	line, _, _ := bytes.Cut(bytes.TrimLeft(begin, "\r\n"), []byte("\n"))
	if bytes.Count(line, []byte(";")) > bytes.Count(line, []byte(",")) {
		return ';'
	}
	return ','
}
