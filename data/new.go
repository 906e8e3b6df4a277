package data

import (
	"errors"
	"fmt"
)

// New makes your own data set. Sample i has the name names[i], the class labels[i], and pixels from
// source. Samples with the same name count as the same picture.
//
// More columns (NewColumn), splits and boxes can be set before the set is used.
func New(name string, names, labels []string, source Source) (*Dataset, error) {
	d := &Dataset{Name: name, Layout: "own", Names: names, Source: source, Fine: "class", Train: "class",
		Columns: []Column{NewColumn("class", labels)}}
	if len(names) == 0 {
		return nil, fmt.Errorf("data set %s has no samples", name)
	}
	if err := errors.Join(d.CheckLengths(), d.checkNames()); err != nil {
		return nil, err
	}
	return d, nil
}

// CheckLengths returns an error if parts of d differ in the number of samples.
func (d *Dataset) CheckLengths() error {
	n := len(d.Names)
	length := map[string]int{}
	if d.Splits != nil {
		length["Splits"] = len(d.Splits)
	}
	if d.ImageSplits != nil {
		length["ImageSplits"] = len(d.ImageSplits)
	}
	if d.Boxes != nil {
		length["Boxes"] = len(d.Boxes)
	}
	if d.MultiLabel != nil {
		length["Several.Sets"] = len(d.MultiLabel.Sets)
	}
	if d.Group != nil {
		length["values in column "+d.Group.Name] = len(d.Group.IDs)
	}
	if d.Features != nil {
		length["rows of Features"] = d.Features.Rows
	}
	for i := range d.Columns {
		c := &d.Columns[i]
		length["labels in column "+c.Name] = len(c.IDs)
		for sample, id := range c.IDs {
			if id < 0 || id >= int64(len(c.Classes)) {
				return fmt.Errorf("data set %s, column %s: sample %d is of class %d of %d", d.Name, c.Name, sample, id,
					len(c.Classes))
			}
		}
		if c.Numbers != nil && len(c.Numbers) != len(c.Classes) {
			return fmt.Errorf("data set %s, column %s: %d numbers for %d classes", d.Name, c.Name, len(c.Numbers),
				len(c.Classes))
		}
	}
	for what, k := range length {
		if k != n {
			return fmt.Errorf("data set %s: %d names of samples and %d %s", d.Name, n, k, what)
		}
	}
	if (d.Source == nil) == (d.Features == nil) {
		return fmt.Errorf("data set %s: set either Source or Features, not both", d.Name)
	}
	return nil
}
