package store

import (
	"strings"
)

// FilterValue writes a value of a column as filters have it: a text in quotes, a finite number,
// true or false; "" for a missing one.
func FilterValue(v any) string {
	if text, ok := v.(string); ok {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	return FormatValue(v)
}

// FilterName writes the name of a column as filters have it, in backquotes. It returns false if
// no filter can name the column: one without a name, or with a backquote in it.
func FilterName(column string) (string, bool) {
	return "`" + column + "`", column != "" && !strings.Contains(column, "`")
}
