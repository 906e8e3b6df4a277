package embedding

import "github.com/kindred-ml/kindred/internal/format/plaintext"

// Separator returns the separator of the columns of a CSV file with the given beginning. It is the most frequent
// of comma, semicolon and tab in the first line that is not blank. Spreadsheets write semicolons if decimals have
// commas.
func Separator(begin []byte) rune { return plaintext.Separator(begin) }
