package data

import (
	"fmt"
)

// checkNames returns an error for names of samples and classes that cannot be written to files and read
// back.
func (d *Dataset) checkNames() error {
	for _, name := range d.Names {
		if why := unwritableReason(name); why != "" {
			return fmt.Errorf("data set %s: the name %q %s: rename it", d.Name, name, why)
		}
	}
	for i := range d.Columns {
		c := &d.Columns[i]
		for id, class := range c.Classes {
			if why := unwritableReason(class); why != "" {
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
