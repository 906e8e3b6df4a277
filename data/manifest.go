package data

import (
	"errors"
	"fmt"
	"image"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// manifestName is the manifest that Open looks for in a folder.
const manifestName = "manifest.csv"

// openManifest reads a CSV manifest with a header. Columns:
//
//	path                 relative to the manifest; see OpenOptions.Outside
//	label                the class: any text; by default the first of labels
//	labels               all labels of an image, as in red|round; optional
//	split                train, test, query, gallery or val; optional
//	coarse               the coarser class; optional
//	is_query, is_gallery 0 or 1: refine the role of test rows; optional
//	x_1,y_1,x_2,y_2      the part of the image to use, in pixels; optional
//
// Other columns are left alone. Errors name the line.
func openManifest(t tree, file, name string, opt OpenOptions) (*Dataset, error) {
	b := newBuilder("manifest", name, opt)
	d := b.d
	var labels, coarse []string
	var several [][]string
	var boxes []image.Rectangle
	err := csvRows(t, file, true, func(_ int, head, row []string) error {
		get := func(column string) (string, bool) {
			i := slices.Index(head, column)
			if i < 0 {
				return "", false
			}
			return strings.Trim(row[i], " "), true
		}
		p, ok1 := get("path")
		label, ok2 := get("label")
		var all []string
		if list, ok := get("labels"); ok {
			all = splitLabels(list)
			several = append(several, all)
			if !ok2 && len(all) > 0 {
				label = all[0]
			}
			ok2 = true
		}
		if !ok1 || !ok2 {
			return fmt.Errorf("the header has columns %q; path and label, or labels, are needed",
				strings.Join(head, ","))
		}
		for _, s := range append([]string{p, label}, all...) {
			if why := illegible(s); why != "" {
				return fmt.Errorf("%q %s", s, why)
			}
		}
		if p == "" || label == "" {
			return errors.New("path or label is empty")
		}
		if err := b.listed(t, p); err != nil {
			return err
		}
		labels = append(labels, label)
		if c, ok := get("coarse"); ok {
			if c == "" {
				return errors.New("coarse is empty")
			}
			coarse = append(coarse, c)
		}
		role, has, err := manifestRole(get)
		if err != nil {
			return err
		}
		if has {
			d.Splits = append(d.Splits, role)
		}
		box, has, err := manifestBox(get)
		if err != nil {
			return err
		}
		if has {
			boxes = append(boxes, box)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(labels) == 0 {
		return nil, fmt.Errorf("%s: no rows below the header", filepath.Join(t.where(), file))
	}
	d.Boxes = boxes
	if several != nil {
		d.Several = severalOf(several)
	}
	fine := columnOfValues("label", labels)
	d.Columns, d.Fine, d.Train = []Column{fine}, "label", "label"
	if coarse != nil {
		d.Columns = append(d.Columns, columnOfValues("coarse", coarse))
		d.Coarse, d.Train = "coarse", "coarse"
	}
	return d.disjoint().check(), nil
}

// columnOfValues is columnOfNumbers where all values are whole numbers as a
// program would write them, and columnOfNames otherwise.
func columnOfValues(name string, values []string) Column {
	numbers := make([]int64, len(values))
	for i, s := range values {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != s {
			return columnOfNames(name, values)
		}
		numbers[i] = n
	}
	return columnOfNumbers(name, numbers)
}

func manifestRole(get func(string) (string, bool)) (role Split, has bool, err error) {
	split, has := get("split")
	if has {
		var ok bool
		if role, ok = splitFolder(split); !ok {
			return 0, false, fmt.Errorf("unknown split %q; known: train, test, query, gallery, val", split)
		}
	}
	for _, c := range []struct {
		column string
		role   Split
	}{{"is_query", Query}, {"is_gallery", Gallery}} {
		s, ok := get(c.column)
		if !ok || s == "" || has && role&(Train|Test) != role&Test {
			continue
		}
		yes, err := parseFlag(s)
		if err != nil {
			return 0, false, fmt.Errorf("%s: %w", c.column, err)
		}
		if !has {
			// Without a split column these two say all that is known.
			if yes {
				role |= c.role
			}
			continue
		}
		if yes {
			role |= c.role
		} else {
			role &^= c.role
		}
	}
	_, q := get("is_query")
	_, g := get("is_gallery")
	if !has && (q || g) {
		if role == 0 {
			role = Train
		}
		has = true
	}
	return role, has, nil
}

func parseFlag(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "true", "yes", "1.0":
		return true, nil
	case "0", "false", "no", "0.0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither 0 nor 1", s)
}

func manifestBox(get func(string) (string, bool)) (box image.Rectangle, has bool, err error) {
	var v [4]int
	empty := 0
	for i, column := range []string{"x_1", "y_1", "x_2", "y_2"} {
		s, ok := get(column)
		if !ok {
			return box, false, nil
		}
		if s == "" {
			empty++
			continue
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f < 1<<24) {
			return box, false, fmt.Errorf("%s: %q is not a coordinate", column, s)
		}
		v[i] = int(f)
	}
	if empty == 4 {
		return box, true, nil
	}
	if empty > 0 || v[0] >= v[2] || v[1] >= v[3] {
		return box, false, fmt.Errorf("box %d,%d,%d,%d has no area", v[0], v[1], v[2], v[3])
	}
	return image.Rect(v[0], v[1], v[2], v[3]), true, nil
}
