package layout

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"path"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
)

// readCUB reads the layout of CUB-200-2011: images.txt, image_class_labels.txt, classes.txt and
// images/, with optional train_test_split.txt and bounding_boxes.txt. Fields are separated by
// blanks, or in some redistributions by ", ". The official split is the metric-learning one: the
// first half of the classes trains, the second half tests.
func readCUB(_ context.Context, s *Set) error {
	images, err := readPairs(s.tree, "images.txt")
	if err != nil || len(images) == 0 {
		return err
	}
	labels, err1 := readPairMap(s.tree, "image_class_labels.txt")
	names, err2 := readPairMap(s.tree, "classes.txt")
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	classes := make([]string, len(images))
	for i, im := range images {
		class, err := labels[im.key], error(nil)
		switch {
		case class == "":
			err = fmt.Errorf("image %s has no line in image_class_labels.txt", im.key)
		case names[class] == "":
			err = fmt.Errorf("image %s is of class %s, which classes.txt does not name", im.key, class)
		default:
			classes[i] = names[class]
			err = s.addListed(path.Join("images", im.value))
		}
		if err != nil {
			return lineError(s.tree, "images.txt", im.line, err)
		}
	}
	s.setLabels("class", Column{Name: "class", Text: classes}, Column{})
	s.Halves = true
	if s.tree.Has("train_test_split.txt") {
		isTrain, err := readPairMap(s.tree, "train_test_split.txt")
		if err != nil {
			return err
		}
		for _, im := range images {
			r := Test
			if isTrain[im.key] == "1" {
				r = Train
			}
			s.ImageRoles = append(s.ImageRoles, r)
		}
	}
	if s.opt.Crop {
		s.Boxes, err = readCUBBoxes(s.tree, images)
	}
	return err
}

// keyValue is a line "key value".
type keyValue struct {
	line       int
	key, value string
}

func readPairs(t tree.Tree, name string) ([]keyValue, error) {
	var out []keyValue
	seen := make(map[string]int)
	err := eachLine(t, name, func(n int, line string) error {
		key, value, ok := strings.Cut(line, " ")
		key = strings.TrimSuffix(key, ",")
		value = strings.TrimSpace(value)
		if !ok || key == "" || value == "" {
			return fmt.Errorf("expected an id and a value, found %q", line)
		}
		if first, twice := seen[key]; twice {
			return fmt.Errorf("id %s is already on line %d", key, first)
		}
		seen[key] = n
		out = append(out, keyValue{n, key, value})
		return nil
	})
	return out, err
}

func readPairMap(t tree.Tree, name string) (map[string]string, error) {
	pairs, err := readPairs(t, name)
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		m[p.key] = p.value
	}
	return m, err
}

func readCUBBoxes(t tree.Tree, images []keyValue) ([]image.Rectangle, error) {
	const name = "bounding_boxes.txt"
	pairs, err := readPairs(t, name)
	if err != nil {
		return nil, err
	}
	boxes := make(map[string]image.Rectangle, len(pairs))
	for _, p := range pairs {
		var v [4]float64
		parts := strings.Fields(strings.ReplaceAll(p.value, ",", " "))
		if len(parts) != 4 {
			return nil, lineError(t, name, p.line, fmt.Errorf("expected x y width height, found %q", p.value))
		}
		for k, s := range parts {
			if v[k], err = strconv.ParseFloat(s, 64); err != nil || !(v[k] >= 0 && v[k] < 1<<24) {
				return nil, lineError(t, name, p.line, fmt.Errorf("%q is not a coordinate", s))
			}
		}
		boxes[p.key] = image.Rect(int(v[0]), int(v[1]), int(v[0]+v[2]), int(v[1]+v[3]))
	}
	out := make([]image.Rectangle, len(images))
	for i, im := range images {
		out[i] = boxes[im.key]
	}
	return out, nil
}
