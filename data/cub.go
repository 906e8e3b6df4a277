package data

import (
	"context"
	"fmt"
	"image"
	"path"
	"slices"
	"strconv"
	"strings"
)

func isCUB(_ context.Context, t tree) bool {
	return t.has("images.txt") && t.has("image_class_labels.txt")
}

// openCUB reads the layout of CUB-200-2011: images.txt, image_class_labels.txt, classes.txt and
// images/, with optional train_test_split.txt and bounding_boxes.txt. Fields are separated by
// blanks, or in some redistributions by ", ". The official split is the metric-learning one: the
// first half of the classes trains, the second half tests.
func openCUB(_ context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	images, err := readPairs(t, "images.txt")
	if err != nil {
		return nil, err
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("%s: lists no image", path.Join(t.location(), "images.txt"))
	}
	labels, err := readPairMap(t, "image_class_labels.txt")
	if err != nil {
		return nil, err
	}
	classNames, err := readPairMap(t, "classes.txt")
	if err != nil {
		return nil, err
	}
	b := newBuilder("cub", name, opt)
	classes := make([]string, len(images))
	for i, im := range images {
		class, ok := labels[im.key]
		if !ok {
			return nil, lineError(t, "images.txt", im.line, "image %s has no line in image_class_labels.txt", im.key)
		}
		if classes[i], ok = classNames[class]; !ok {
			return nil, lineError(t, "images.txt", im.line,
				"image %s is of class %s, which classes.txt does not name", im.key,
				class)
		}
		if err := b.addListed(t, path.Join("images", im.value)); err != nil {
			return nil, lineError(t, "images.txt", im.line, "%w", err)
		}
	}
	d := b.d
	d.Columns = []Column{NewColumn("class", classes)}
	d.Fine, d.Train = "class", "class"
	d.Splits, d.Disjoint = splitClassesInHalf(&d.Columns[0]), true
	if t.has("train_test_split.txt") {
		isTrain, err := readPairMap(t, "train_test_split.txt")
		if err != nil {
			return nil, err
		}
		for _, im := range images {
			role := Test
			if isTrain[im.key] == "1" {
				role = Train
			}
			d.ImageSplits = append(d.ImageSplits, role)
		}
	}
	if opt.Crop {
		if d.Boxes, err = readCUBBoxes(t, images); err != nil {
			return nil, err
		}
	}
	return d.mustBeConsistent(), nil
}

// splitClassesInHalf returns the papers' class-disjoint split: the first half of the classes (rounded down)
// trains, and the rest tests.
func splitClassesInHalf(c *Column) []Split {
	out := make([]Split, len(c.IDs))
	for i, id := range c.IDs {
		out[i] = Test
		if int(id) < len(c.Classes)/2 {
			out[i] = Train
		}
	}
	return out
}

// keyValue is a line "key value".
type keyValue struct {
	line       int
	key, value string
}

func readPairs(t tree, name string) ([]keyValue, error) {
	text, err := readText(t, name)
	if err != nil {
		return nil, err
	}
	var out []keyValue
	seen := make(map[string]int)
	for n, line := range textLines(text) {
		key, value, ok := strings.Cut(line, " ")
		key = strings.TrimSuffix(key, ",")
		value = strings.TrimSpace(value)
		if !ok || key == "" || value == "" {
			return nil, lineError(t, name, n, "expected an id and a value, found %q", line)
		}
		if first, twice := seen[key]; twice {
			return nil, lineError(t, name, n, "id %s is already on line %d", key, first)
		}
		seen[key] = n
		out = append(out, keyValue{n, key, value})
	}
	return out, nil
}

func readPairMap(t tree, name string) (map[string]string, error) {
	pairs, err := readPairs(t, name)
	if err != nil {
		return nil, err
	}
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		m[p.key] = p.value
	}
	return m, nil
}

func readCUBBoxes(t tree, images []keyValue) ([]image.Rectangle, error) {
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
			return nil, lineError(t, name, p.line, "expected x y width height, found %q", p.value)
		}
		for k, s := range parts {
			if v[k], err = strconv.ParseFloat(s, 64); err != nil || !(v[k] >= 0 && v[k] < 1<<24) {
				return nil, lineError(t, name, p.line, "%q is not a coordinate", s)
			}
		}
		boxes[p.key] = image.Rect(int(v[0]), int(v[1]), int(v[0]+v[2]), int(v[1]+v[3]))
	}
	out := make([]image.Rectangle, len(images))
	for i, im := range images {
		out[i] = boxes[im.key]
	}
	return slices.Clip(out), nil
}
