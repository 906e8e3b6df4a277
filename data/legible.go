package data

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// illegible says what keeps s from being written into lists, tables and JSON
// and read back as it was, "" if nothing does.
func illegible(s string) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Sprintf("has the control character %q", r)
		}
	}
	return ""
}

// unnamable is why a file of an illegible name is left out.
func unnamable(name string) string { return "the name " + illegible(name) + " (rename it)" }

// legible refuses names of samples and classes that a run could not write into
// its files and get back.
func (d *Dataset) legible() error {
	for _, name := range d.Names {
		if why := illegible(name); why != "" {
			return fmt.Errorf("data set %s: the name %q %s: rename it", d.Name, name, why)
		}
	}
	for i := range d.Columns {
		c := &d.Columns[i]
		for id, class := range c.Classes {
			if why := illegible(class); why != "" {
				return fmt.Errorf("data set %s: class %q of column %s (%s) %s: rename it", d.Name, class, c.Name,
					d.firstOf(c, id), why)
			}
		}
	}
	return nil
}

// firstOf names the first sample of a class.
func (d *Dataset) firstOf(c *Column, class int) string {
	for i, id := range c.IDs {
		if id == int64(class) {
			return d.Names[i]
		}
	}
	return "no sample"
}
