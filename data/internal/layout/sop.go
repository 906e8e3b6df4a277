package layout

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// readSOP reads Stanford Online Products: Ebay_train.txt and Ebay_test.txt, each with a header and rows
// "image_id class_id super_class_id path". The fine label is the product, which the papers train on.
// The coarse label is the type of product.
func readSOP(_ context.Context, s *Set) error {
	var products []int64
	var kinds []string
	for i, file := range s.marks {
		first := true
		err := eachLine(s.tree, file, func(_ int, line string) error {
			f := strings.Fields(line)
			header := first && f[0] == "image_id"
			first = false
			if header {
				return nil
			}
			if len(f) != 4 {
				return fmt.Errorf("expected image_id class_id super_class_id path, found %q", line)
			}
			product, err := parseID(f[1])
			if err != nil {
				return fmt.Errorf("class_id: %w", err)
			}
			products = append(products, product)
			kinds = append(kinds, strings.TrimSuffix(path.Dir(f[3]), "_final"))
			s.Roles = append(s.Roles, trainTest(i))
			return s.addListed(f[3])
		})
		if err != nil {
			return err
		}
	}
	s.setLabels("product", Column{Name: "product", Numbers: products}, Column{Name: "kind", Text: kinds})
	return nil
}
