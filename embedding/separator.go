package embedding

import "github.com/kindred-ml/kindred/internal/format/plaintext"

// Separator returns the separator of the columns of a CSV file that begins like this:
// a comma, a semicolon, as spreadsheets write where decimals have commas, or a tab. The most
// frequent of them in the first line that is not blank decides.
func Separator(begin []byte) rune { return plaintext.Separator(begin) }
