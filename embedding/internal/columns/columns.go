// Package columns knows what the columns of a table of embeddings are called,
// in every format whose files name their columns.
package columns

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/plaintext"
)

// Prefix begins the name of a column of coordinates; the number of the
// coordinate follows.
const Prefix = "embedding_"

// ID is the name of the column that identifies the rows, File what the names of
// the items are written under.
const (
	ID   = "id"
	File = "path"
)

// Coordinate returns the number of the coordinate that a column of that name
// holds, and whether it holds one.
func Coordinate(name string) (k int, ok bool) {
	rest, ok := strings.CutPrefix(name, Prefix)
	if !ok {
		return 0, false
	}
	k, err := strconv.Atoi(rest)
	return k, err == nil && k >= 0
}

// IsFile reports whether a column of that name holds the names of the items.
func IsFile(name string) bool { return slices.Contains([]string{"filename", "file", File}, name) }

// Few lists names for a message, the first few of many.
func Few(names []string) string {
	const few = 20
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// MaxText bounds the bytes of a label and of the name of an item.
const MaxText = plaintext.MaxField

// TextSize is about what a string of n bytes takes in memory, in a list that grows.
func TextSize(n int) int64 { return int64(n) + 48 }

// LabelSize is about what a label of n bytes takes: a string, and where labels are numbered a name of
// a class, as all may differ.
func LabelSize(n int) int64 { return TextSize(n) + 96 }

// CheckText returns an error for the first text that is longer than any label is.
func CheckText(column string, texts []string) error {
	for i, s := range texts {
		if len(s) > MaxText {
			return fmt.Errorf("column %s, row %d: a text of %d bytes; it may have at most %d", column, i+1, len(s),
				MaxText)
		}
	}
	return nil
}
