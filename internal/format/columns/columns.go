// Package columns has the names of the columns of a table of embeddings, for all formats whose files name
// their columns.
package columns

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/plaintext"
)

// Prefix begins the name of a column of coordinates. The number of the coordinate follows.
const Prefix = "embedding_"

// ID is the name of the column that identifies the rows. File is the name under which the names of the items
// are written.
const (
	ID   = "id"
	File = "path"
	// Region and Digest say which part of a picture a row is, and which content.
	Region = "region"
	Digest = "digest"
)

// Coordinate returns the number of the coordinate that a column with this name holds, and whether it holds a
// coordinate.
func Coordinate(name string) (k int, ok bool) {
	rest, ok := strings.CutPrefix(name, Prefix)
	if !ok {
		return 0, false
	}
	k, err := strconv.Atoi(rest)
	return k, err == nil && k >= 0
}

// IsFile reports whether a column with this name holds the names of the items.
func IsFile(name string) bool { return slices.Contains([]string{"filename", "file", File}, name) }

// Few lists names for a message. Of many names it lists the first few.
func Few(names []string) string {
	const few = 20
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// MaxText bounds the bytes of a label and of the name of an item.
const MaxText = plaintext.MaxField

// TextSize returns the approximate memory of a string of n bytes in a growing list.
func TextSize(n int) int64 { return int64(n) + 48 }

// LabelSize returns the approximate memory of a label of n bytes: a string and, because all labels may differ,
// the name of a class.
func LabelSize(n int) int64 { return TextSize(n) + 96 }

// CheckText returns an error for the first text that is too long for a label.
func CheckText(column string, texts []string) error {
	for i, s := range texts {
		if len(s) > MaxText {
			return fmt.Errorf("column %s, row %d: a text of %d bytes: at most %d are allowed", column, i+1, len(s),
				MaxText)
		}
	}
	return nil
}
