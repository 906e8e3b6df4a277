package data

import (
	"context"
	"fmt"
	"path"
	"strings"
)

func isSOP(_ context.Context, t tree) bool { return t.has("Ebay_train.txt") && t.has("Ebay_test.txt") }

// openSOP reads Stanford Online Products: Ebay_train.txt and Ebay_test.txt, each with a header and rows
// "image_id class_id super_class_id path". The fine label is the product, which the papers train on.
// The coarse label is the type of product.
func openSOP(_ context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	b := newBuilder("sop", name, opt)
	d := b.d
	var products []int64
	var kinds []string
	for i, file := range []string{"Ebay_train.txt", "Ebay_test.txt"} {
		text, err := readText(t, file)
		if err != nil {
			return nil, err
		}
		first := true
		for n, line := range textLines(text) {
			f := strings.Fields(line)
			header := first && f[0] == "image_id"
			first = false
			if header {
				continue
			}
			if len(f) != 4 {
				return nil, lineError(t, file, n, "expected image_id class_id super_class_id path, found %q", line)
			}
			product, err := parseID(f[1])
			if err != nil {
				return nil, lineError(t, file, n, "class_id: %w", err)
			}
			if err := b.addListed(t, f[3]); err != nil {
				return nil, lineError(t, file, n, "%w", err)
			}
			products = append(products, product)
			kinds = append(kinds, strings.TrimSuffix(path.Dir(f[3]), "_final"))
			d.Splits = append(d.Splits, []Split{Train, Test}[i])
		}
	}
	if len(products) == 0 {
		return nil, fmt.Errorf("%s: lists no image", path.Join(t.location(), "Ebay_train.txt"))
	}
	d.Columns = []Column{newNumberColumn("product", products), NewColumn("kind", kinds)}
	d.Fine, d.Coarse, d.Train = "product", "kind", "product"
	return d.setDisjoint().mustBeConsistent(), nil
}
