package layout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// readGrocery reads the Grocery Store data set: classes.csv, and train.txt, val.txt and test.txt
// with rows "path, fine, coarse". The coarse class is the training label. The images of val.txt
// are neither for training nor for the test.
func readGrocery(_ context.Context, s *Set) error {
	fine := Column{Name: "fine", Names: map[int64]string{}}
	coarse := Column{Name: "coarse", Names: map[int64]string{}}
	err := csvRows(s.tree, "classes.csv", true, func(_ int, head, row []string) error {
		for i, prefix := range []string{"class", "coarse class"} {
			names := []map[int64]string{fine.Names, coarse.Names}[i]
			nameAt := slices.Index(head, prefix+" name (str)")
			idAt := slices.Index(head, prefix+" id (int)")
			if nameAt < 0 || idAt < 0 {
				return fmt.Errorf("the header lacks %q or %q", prefix+" name (str)", prefix+" id (int)")
			}
			id, err := parseID(strings.TrimSpace(row[idAt]))
			if err != nil {
				return err
			}
			names[id] = strings.TrimSpace(row[nameAt])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, file := range []string{"train.txt", "val.txt", "test.txt"} {
		if file == "val.txt" && !s.tree.Has(file) {
			continue
		}
		err := csvRows(s.tree, file, false, func(_ int, _, row []string) error {
			if len(row) != 3 {
				return fmt.Errorf("%d columns; expected path, class, coarse class", len(row))
			}
			f, err1 := parseID(strings.TrimSpace(row[1]))
			c, err2 := parseID(strings.TrimSpace(row[2]))
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			if fine.Names[f] == "" || coarse.Names[c] == "" {
				return fmt.Errorf("class %d or coarse class %d is not in classes.csv", f, c)
			}
			fine.Numbers, coarse.Numbers = append(fine.Numbers, f), append(coarse.Numbers, c)
			s.Roles = append(s.Roles, []Role{Train, 0, Test}[i])
			return s.addListed(strings.TrimSpace(row[0]))
		})
		if err != nil {
			return err
		}
	}
	s.Columns = []Column{coarse, fine}
	s.Coarse, s.Fine, s.Train = "coarse", "fine", "coarse"
	return nil
}
