package data

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/classname"
	"golang.org/x/text/unicode/norm"
)

// checkNames returns an error for names of samples and classes that cannot be written to files and read
// back.
func (d *Dataset) checkNames() error {
	for _, name := range d.Names {
		if why := tree.UnwritableReason(name); why != "" {
			return fmt.Errorf("data set %s: the name %q %s: rename it", d.Name, name, why)
		}
	}
	for i := range d.Columns {
		c := &d.Columns[i]
		for id, class := range c.Classes {
			if why := tree.UnwritableReason(class); why != "" {
				return fmt.Errorf("data set %s: class %q of column %s (%s) %s: rename it", d.Name, class, c.Name,
					d.firstSample(c, id), why)
			}
		}
	}
	return nil
}

// firstSample returns the name of the first sample of a class.
func (d *Dataset) firstSample(c *Column, class int) string {
	for i, id := range c.IDs {
		if id == int64(class) {
			return d.Names[i]
		}
	}
	return "no sample"
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
			return fmt.Sprintf("classes %+q and %+q of column %s are two, but differ only in capitals, spaces or the "+
				"form of a number: give both the same name, unless they are meant to be two", other, name, column)
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

// splitSharedFineClasses makes a fine class that occurs in several coarse classes as many classes, named
// COARSE/FINE as in folders: in a set with both labels, both identify a fine class. A note names the first one.
func (d *Dataset) splitSharedFineClasses() {
	if d.Coarse == "" || d.Fine == "" || d.Coarse == d.Fine {
		return
	}
	coarse, err1 := d.Column(d.Coarse)
	fine, err2 := d.Column(d.Fine)
	if err1 != nil || err2 != nil {
		return
	}
	of := make([]int64, len(fine.Classes)) // one more than the coarse class
	several := make([]bool, len(fine.Classes))
	first, n := "", 0
	for i, f := range fine.IDs {
		c := coarse.IDs[i] + 1
		if of[f] == 0 {
			of[f] = c
		}
		if of[f] != c && !several[f] {
			several[f] = true
			if n++; n == 1 {
				first = fmt.Sprintf("%q in %q and %q", fine.Classes[f], coarse.Classes[of[f]-1], coarse.Classes[c-1])
			}
		}
	}
	if n == 0 {
		return
	}
	names := make([]string, len(fine.IDs))
	for i, f := range fine.IDs {
		if names[i] = fine.Classes[f]; several[f] {
			names[i] = classname.Qualify(coarse.Classes[coarse.IDs[i]], names[i])
		}
	}
	*fine = NewColumn(fine.Name, names)
	d.setDisjoint()
	d.Notes = append(d.Notes, fmt.Sprintf("column %s has classes of one name in several classes of column %s "+
		"(%s%s): they are different classes, called %s/%s", fine.Name, coarse.Name, first, moreSuffix(n-1), coarse.Name,
		fine.Name))
}

// moreSuffix says how many more there are, for a message.
func moreSuffix(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}
