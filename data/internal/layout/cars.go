package layout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/format/matfile"
)

// carsFile is one annotated image of Cars-196.
type carsFile struct {
	name  string
	class int64 // 1 to 196
	box   image.Rectangle
	split Role
}

// readCars reads Cars-196 in one of its forms: the single cars_annos.mat with car_ims/, the
// devkit's two .mat files with cars_train/ and cars_test/, or one of the two sets of CSV files in
// circulation (anno_train.csv, anno_test.csv and names.csv without headers; cardatasettrain.csv
// and cardatasettest.csv with headers). The official split is the metric-learning one: classes
// 1-98 train, 99-196 test. If the classes have names, a second column has the make of each car.
func readCars(_ context.Context, s *Set) error {
	read := map[string]func(r *carsReader) error{
		"cars_annos.mat": (*carsReader).readSingle, "cars_train_annos.mat": (*carsReader).readDevkit,
		"anno_train.csv": (*carsReader).readPlainCSV, "cardatasettrain.csv": (*carsReader).readHeaderCSV,
	}
	dir, form := path.Split(s.marks[0])
	r := &carsReader{tree: s.tree, dir: dir, found: map[Role]string{}}
	if err := read[form](r); err != nil {
		return err
	}
	column := Column{Name: "class", Names: numberNames(1, r.classes)}
	makes := Column{Name: "make"}
	for i, c := range r.cars {
		if err := s.addListed(r.find(c)); err != nil {
			return fmt.Errorf("%s: annotation %d: %w", s.path(s.marks[0]), i+1, err)
		}
		column.Numbers = append(column.Numbers, c.class)
		makes.Text = append(makes.Text, carMake(cmp.Or(column.Names[c.class], strconv.FormatInt(c.class, 10))))
		s.ImageRoles = append(s.ImageRoles, c.split)
		if s.opt.Crop {
			s.Boxes = append(s.Boxes, c.box)
		}
	}
	s.setLabels("class", column, Column{})
	if s.Halves = true; len(r.classes) > 0 {
		s.Columns = append(s.Columns, makes)
	}
	return nil
}

// carsReader reads the annotations.
type carsReader struct {
	tree    tree.Tree
	dir     string // of the file that the layout was recognised by
	cars    []carsFile
	classes []string        // their names, if they are known
	found   map[Role]string // the folder of the images of a side
}

// carMake returns the make in the name of a class such as "Aston Martin V8 Vantage Coupe 2012":
// the first word, or two words for some makes.
func carMake(class string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(class), " ")
	second, _, _ := strings.Cut(rest, " ")
	switch both := first + " " + second; both {
	case "AM General", "Aston Martin", "Land Rover":
		return both
	}
	return first
}

// find returns the path of the image of c: the name itself, or a file in one of the folders that redistributions put
// the images into, possibly below a folder named after the class. If there is no such file, it returns the name, and
// reading the image gives the error.
func (r *carsReader) find(c carsFile) string {
	side := "train"
	if c.split != Train {
		side = "test"
	}
	class := ""
	if 1 <= c.class && c.class <= int64(len(r.classes)) {
		class = strings.ReplaceAll(r.classes[c.class-1], "/", "-")
	}
	dirs := []string{"", "cars_" + side, "cars_" + side + "/cars_" + side, side, "car_data/" + side,
		"car_data/car_data/" + side, "car_ims"}
	if known, ok := r.found[c.split]; ok {
		dirs = slices.Insert(dirs, 0, known)
	}
	for _, dir := range dirs {
		for _, p := range []string{path.Join(dir, c.name), path.Join(dir, class, c.name)} {
			if r.tree.Has(p) {
				r.found[c.split] = dir
				return p
			}
		}
	}
	return c.name
}

// roleOf returns the role of an annotation, of which number returns the number in a field.
type roleOf func(number func(field string) (float64, error)) (Role, error)

// readMat reads a .mat file: class names, if it has them, and with field the annotations with the name of an image in
// that field.
func (r *carsReader) readMat(name, field string, role roleOf) error {
	b, err := r.tree.Read(name, nil)
	if err != nil {
		return err
	}
	arrays, err := matfile.Read(b)
	if err == nil && field != "" {
		err = r.addAnnotations(arrays["annotations"], field, role)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(r.tree.Location(), name), err)
	}
	if names := arrays["class_names"]; names != nil && r.classes == nil {
		for _, c := range names.Cells {
			r.classes = append(r.classes, c.Text)
		}
	}
	return nil
}

// readSingle reads cars_annos.mat: annotations with relative_im_path,
// bbox_x1..bbox_y2, class and test, and class_names.
func (r *carsReader) readSingle() error {
	return r.readMat("cars_annos.mat", "relative_im_path", func(number func(string) (float64, error)) (Role, error) {
		test, err := number("test")
		if test != 0 {
			return Test, err
		}
		return Train, err
	})
}

// readDevkit reads the devkit, which has a file of annotations with fname for each side. The
// classes of the test side are in cars_test_annos_withlabels.mat.
func (r *carsReader) readDevkit() error {
	if meta := r.dir + "cars_meta.mat"; r.tree.Has(meta) {
		if err := r.readMat(meta, "", nil); err != nil {
			return err
		}
	}
	const test = "cars_test_annos_withlabels.mat"
	tests := []string{test, "devkit/" + test, r.dir + test}
	at := slices.IndexFunc(tests, r.tree.Has)
	if at < 0 {
		return fmt.Errorf("%s: the classes of the test images are missing: add %s", r.tree.Location(), test)
	}
	for half, name := range []string{r.dir + "cars_train_annos.mat", tests[at]} {
		role := func(func(string) (float64, error)) (Role, error) { return trainTest(half), nil }
		if err := r.readMat(name, "fname", role); err != nil {
			return err
		}
	}
	return nil
}

// addAnnotations adds the cars of a struct array of annotations.
func (r *carsReader) addAnnotations(a *matfile.Array, nameField string, role roleOf) error {
	if a == nil || a.Fields == nil {
		return errors.New("there is no struct array called annotations")
	}
	names := a.Fields[nameField]
	if len(names) == 0 {
		return fmt.Errorf("annotations without field %s", nameField)
	}
	for i, n := range names {
		if n.Text == "" {
			return fmt.Errorf("annotation %d has no %s", i+1, nameField)
		}
		field := func(name string) (float64, error) {
			values := a.Fields[name]
			if values == nil {
				return 0, fmt.Errorf("annotations without field %s", name)
			}
			v, err := values[i].Number()
			if err != nil {
				return 0, fmt.Errorf("annotation %d (%s): field %s is not a number: %w", i+1, n.Text, name, err)
			}
			if !(math.Abs(v) <= 1<<24) {
				return 0, fmt.Errorf("annotation %d (%s): field %s is %v", i+1, n.Text, name, v)
			}
			return v, nil
		}
		class, err1 := field("class")
		split, err2 := role(field)
		if err := cmp.Or(err1, err2); err != nil {
			return err
		}
		c := carsFile{name: n.Text, class: int64(class), split: split}
		x1, e1 := field("bbox_x1")
		y1, e2 := field("bbox_y1")
		x2, e3 := field("bbox_x2")
		y2, e4 := field("bbox_y2")
		if errors.Join(e1, e2, e3, e4) == nil { // MATLAB counts pixels from 1
			c.box = image.Rect(int(x1)-1, int(y1)-1, int(x2), int(y2))
		}
		r.cars = append(r.cars, c)
	}
	return nil
}

// readPlainCSV reads rows "file,x1,y1,x2,y2,class" without a header, and
// the class names from names.csv, one on each line.
func (r *carsReader) readPlainCSV() error {
	if r.tree.Has("names.csv") {
		names, err := readLines(r.tree, "names.csv")
		if err != nil {
			return err
		}
		for _, name := range names {
			r.classes = append(r.classes, strings.Trim(name, `"`))
		}
	}
	return r.readCSV(false, "anno_train.csv", "anno_test.csv")
}

// readHeaderCSV reads files with the columns x1,y1,x2,y2,Class,image.
func (r *carsReader) readHeaderCSV() error {
	return r.readCSV(true, "cardatasettrain.csv", "cardatasettest.csv")
}

// readCSV reads the files of both sides.
func (r *carsReader) readCSV(header bool, files ...string) error {
	order := []string{"image", "x1", "y1", "x2", "y2", "class"}
	for half, name := range files {
		err := csvRows(r.tree, name, header, func(_ int, head, row []string) error {
			if !header && len(row) != len(order) {
				return fmt.Errorf("%d columns; expected file,x1,y1,x2,y2,class", len(row))
			}
			var values []string
			for k, column := range order {
				if header {
					if k = slices.Index(head, column); k < 0 {
						return fmt.Errorf("the header has columns %s; %s is missing", strings.Join(head, ","), column)
					}
				}
				values = append(values, row[k])
			}
			c, err := carsRow(values[0], values[5], values[1:5], trainTest(half))
			r.cars = append(r.cars, c)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func carsRow(name, class string, box []string, split Role) (carsFile, error) {
	c := carsFile{name: strings.Trim(name, "' "), split: split}
	var err error
	if c.class, err = parseID(strings.TrimSpace(class)); err != nil {
		return c, fmt.Errorf("class: %w", err)
	}
	var v [4]int
	for k, s := range box {
		if v[k], err = strconv.Atoi(strings.TrimSpace(s)); err != nil || v[k] < 0 || v[k] > 1<<24 {
			return c, fmt.Errorf("%q is not a coordinate", s)
		}
	}
	c.box = image.Rect(v[0]-1, v[1]-1, v[2], v[3])
	if c.name == "" {
		return c, errors.New("no file name")
	}
	return c, nil
}
