package data

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// findInTree returns the name in t of a file that a list names. Unicode writes é in two ways, composed (NFC)
// and decomposed (NFD), and a list may come from another system than its files. The name is unchanged
// if there is such a file, or no file in another form.
func findInTree(t tree, name string) string {
	if norm.NFC.String(name) == norm.NFD.String(name) || t.has(name) {
		return name
	}
	const most = 1 << 10 // forms of one name, whose folders may have different ones
	forms := []string{""}
	for part := range strings.SplitAfterSeq(name, "/") {
		var longer []string
		for _, before := range forms {
			longer = append(longer, before+norm.NFC.String(part))
			if form := norm.NFD.String(part); form != norm.NFC.String(part) {
				longer = append(longer, before+form)
			}
		}
		if forms = longer; len(forms) > most {
			return name
		}
	}
	if i := slices.IndexFunc(forms, t.has); i >= 0 {
		return forms[i]
	}
	return name
}

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
