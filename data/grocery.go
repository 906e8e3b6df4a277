package data

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

func isGrocery(_ context.Context, t tree) bool {
	return t.has("classes.csv") && t.has("train.txt") && t.has("test.txt")
}

// openGrocery reads the Grocery Store data set: classes.csv, and train.txt, val.txt and test.txt
// with rows "path, fine, coarse". The coarse class is the training label. The images of val.txt
// are neither for training nor for the test.
func openGrocery(_ context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	fineNames, coarseNames := map[int64]string{}, map[int64]string{}
	err := csvRows(t, "classes.csv", true, func(_ int, head, row []string) error {
		for _, level := range []struct {
			prefix string
			names  map[int64]string
		}{{"class", fineNames}, {"coarse class", coarseNames}} {
			nameAt := slices.Index(head, level.prefix+" name (str)")
			idAt := slices.Index(head, level.prefix+" id (int)")
			if nameAt < 0 || idAt < 0 {
				return fmt.Errorf("the header lacks %q or %q", level.prefix+" name (str)", level.prefix+" id (int)")
			}
			id, err := parseID(strings.TrimSpace(row[idAt]))
			if err != nil {
				return err
			}
			level.names[id] = strings.TrimSpace(row[nameAt])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b := newBuilder("grocery", name, opt)
	d := b.d
	var fine, coarse []int64
	for _, side := range []struct {
		file string
		role Split
	}{{"train.txt", Train}, {"val.txt", 0}, {"test.txt", Test}} {
		if side.role == 0 && !t.has(side.file) {
			continue
		}
		err := csvRows(t, side.file, false, func(_ int, _, row []string) error {
			if len(row) != 3 {
				return fmt.Errorf("%d columns; expected path, class, coarse class", len(row))
			}
			f, err1 := parseID(strings.TrimSpace(row[1]))
			c, err2 := parseID(strings.TrimSpace(row[2]))
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			if fineNames[f] == "" || coarseNames[c] == "" {
				return fmt.Errorf("class %d or coarse class %d is not in classes.csv", f, c)
			}
			if err := b.addListed(t, strings.TrimSpace(row[0])); err != nil {
				return err
			}
			fine, coarse = append(fine, f), append(coarse, c)
			d.Splits = append(d.Splits, side.role)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(fine) == 0 {
		return nil, fmt.Errorf("%s: train.txt and test.txt list no image", t.location())
	}
	d.Columns = []Column{newNumberColumn("coarse", coarse), newNumberColumn("fine", fine)}
	for i, names := range []map[int64]string{coarseNames, fineNames} {
		c := &d.Columns[i]
		for id, n := range c.Numbers {
			c.Classes[id] = names[n]
		}
	}
	d.Coarse, d.Fine, d.Train = "coarse", "fine", "coarse"
	return d.setDisjoint().mustBeConsistent(), nil
}
