// Package classname has the rule by which all readers tell classes apart: a class is text, exact to the byte, without
// spaces at its ends.
package classname

import (
	"slices"
	"strings"
)

// Columns returns the names of columns that hold classes. The first two are those that kindred writes for the classes
// of a set.
func Columns() []string { return []string{"label", "coarse", "fine", "labels"} }

// IsColumn reports whether a column with this name holds classes.
func IsColumn(name string) bool { return slices.Contains(Columns(), name) }

// Find returns the name of the column that a user calls name. The fine labels are called label in files and fine in
// data sets: each is the other where that does not exist, as has reports.
func Find(name string, has func(name string) bool) string {
	other := map[string]string{"fine": "label", "label": "fine"}[name]
	if other != "" && !has(name) && has(other) {
		return other
	}
	return name
}

// Clean returns the name of a class as it is read from a file or a folder: without spaces and no-break spaces at its
// ends, which text from web pages and spreadsheets has. Nothing else changes: capitals, Unicode's forms and the ways to
// write a number make different classes.
func Clean(text string) string { return strings.Trim(text, " \u00a0") }

// Qualify returns the name of a fine class whose own name occurs in several coarse classes. Folders of fine classes in
// folders of coarse classes have the same name.
func Qualify(coarse, fine string) string { return coarse + "/" + fine }
