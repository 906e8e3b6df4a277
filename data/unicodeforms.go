package data

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// noteConfusableNames adds a note on two classes of a column whose names look the same.
func (d *Dataset) noteConfusableNames() {
	for i := range d.Columns {
		if note := ConfusableNames(d.Columns[i].Name, d.Columns[i].Classes); note != "" {
			d.Notes = append(d.Notes, note)
		}
	}
}

// ConfusableNames returns a remark on two classes of a column whose names look the same or nearly so: they
// differ in Unicode's forms, spaces, capitals, or the way a number is written. It returns "" if there
// are none.
func ConfusableNames(column string, classes []string) string {
	seen := make(map[string]string, len(classes))
	for _, name := range classes {
		form := confusableForm(name)
		other, ok := seen[form]
		switch {
		case other == name: // as in rows of a table
		case ok && norm.NFC.String(other) == norm.NFC.String(name):
			return fmt.Sprintf("classes %+q and %+q of column %s look the same but are two: Unicode writes one name "+
				"composed (NFC) and the other decomposed (NFD); give both the same name, unless they are meant to be "+
				"two", other, name, column)
		case ok:
			return fmt.Sprintf("classes %+q and %+q of column %s are two, but differ only in capitals, spaces or "+
				"the form "+
				"of a number: give both the same name, unless they are meant to be two", other, name, column)
		}
		seen[form] = name
	}
	return ""
}

// confusableForm returns the same text for names that look the same or nearly so. A single letter keeps its
// case, because letters may be classes, and then a and A differ.
func confusableForm(name string) string {
	look := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) { // joiners, direction marks, spaces without width
			return -1
		}
		return r
	}, norm.NFC.String(name))
	look = strings.Join(strings.Fields(look), " ")
	if utf8.RuneCountInString(look) > 1 {
		look = strings.ToLower(look)
	}
	if whole, part, ok := strings.Cut(look, "."); ok && whole != "" && part != "" && strings.Trim(part, "0") == "" {
		if _, err := strconv.ParseInt(whole, 10, 64); err == nil {
			return whole
		}
	}
	return look
}
