package layout

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// readInShop reads DeepFashion's In-Shop retrieval: list_eval_partition.txt has the number of
// images, a header, and rows "image item train|query|gallery". The fine label is the item, which the
// papers train on. The coarse label is the type of clothes, two folders of the image's path.
func readInShop(_ context.Context, s *Set) error {
	var items, kinds []string
	prefix, announced := "", int64(-1)
	err := eachLine(s.tree, s.marks[0], func(_ int, line string) (err error) {
		f := strings.Fields(line)
		if len(f) == 1 && announced < 0 && len(items) == 0 {
			if announced, err = parseID(f[0]); err != nil {
				return fmt.Errorf("number of images: %w", err)
			}
			return nil
		}
		if len(f) != 3 {
			return fmt.Errorf("expected image_name item_id evaluation_status, found %q", line)
		}
		if f[0] == "image_name" {
			return nil
		}
		r, ok := roleByName(f[2])
		if !ok || r == validation || r == Test {
			return fmt.Errorf("unknown status %q: must be train, query or gallery", f[2])
		}
		if len(items) == 0 && !s.tree.Has(f[0]) && s.tree.Has("Img/"+f[0]) {
			prefix = "Img"
		}
		items, kinds = append(items, f[1]), append(kinds, inshopKind(f[0]))
		s.Roles = append(s.Roles, r)
		return s.addListed(path.Join(prefix, f[0]))
	})
	if err == nil && len(items) > 0 && announced >= 0 && announced != int64(len(items)) {
		err = fmt.Errorf("%s: announces %d images and lists %d", s.path(s.marks[0]), announced, len(items))
	}
	s.setLabels("item", Column{Name: "item", Text: items}, Column{Name: "kind", Text: kinds})
	return err
}

// inshopKind returns "WOMEN/Blouses_Shirts" of
// "img/WOMEN/Blouses_Shirts/id_00000001/02_1_front.jpg".
func inshopKind(image string) string {
	parts := strings.Split(image, "/")
	if len(parts) < 4 {
		return "other"
	}
	return parts[1] + "/" + parts[2]
}
