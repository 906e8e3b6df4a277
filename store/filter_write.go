package store

import (
	"strings"
)

// FilterValue writes a value of a column in the form of filters: a text in quotes, a finite number, true or
// false; "" for a missing one.
func FilterValue(v any) string {
	if text, ok := v.(string); ok {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	return FormatValue(v)
}

// FilterName writes the name of a column in the form of filters, in backquotes. It returns false if a filter
// cannot name the column, because its name is empty or has a backquote.
func FilterName(column string) (string, bool) {
	return "`" + column + "`", column != "" && !strings.Contains(column, "`")
}
