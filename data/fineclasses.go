package data

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/classname"
)

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
