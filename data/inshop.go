package data

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// inshopLists returns the possible places of the list of images.
func inshopLists() []string {
	return []string{"list_eval_partition.txt", "Eval/list_eval_partition.txt"}
}

func isInShop(_ context.Context, t tree) bool { return slices.ContainsFunc(inshopLists(), t.has) }

// openInShop reads DeepFashion's In-Shop retrieval: list_eval_partition.txt has the number of
// images, a header, and rows "image item train|query|gallery". The fine label is the item, which the
// papers train on. The coarse label is the type of clothes, two folders of the image's path.
func openInShop(_ context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	list := inshopLists()[slices.IndexFunc(inshopLists(), t.has)]
	text, err := readText(t, list)
	if err != nil {
		return nil, err
	}
	b := newBuilder("inshop", name, opt)
	d := b.d
	var items, kinds []string
	prefix, announced := "", int64(-1)
	for n, line := range textLines(text) {
		f := strings.Fields(line)
		if len(f) == 1 && announced < 0 && len(items) == 0 {
			if announced, err = parseID(f[0]); err != nil {
				return nil, lineError(t, list, n, "number of images: %w", err)
			}
			continue
		}
		if len(f) != 3 {
			return nil, lineError(t, list, n, "expected image_name item_id evaluation_status, found %q", line)
		}
		if f[0] == "image_name" {
			continue
		}
		role, ok := splitByName(f[2])
		if !ok || role == validation || role == Test {
			return nil, lineError(t, list, n, "unknown status %q: must be train, query or gallery", f[2])
		}
		if len(items) == 0 && !t.has(f[0]) && t.has("Img/"+f[0]) {
			prefix = "Img"
		}
		if err := b.addListed(t, path.Join(prefix, f[0])); err != nil {
			return nil, lineError(t, list, n, "%w", err)
		}
		items = append(items, f[1])
		kinds = append(kinds, inshopKind(f[0]))
		d.Splits = append(d.Splits, role)
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%s: lists no image", path.Join(t.location(), list))
	}
	if announced >= 0 && announced != int64(len(items)) {
		return nil, fmt.Errorf("%s: announces %d images and lists %d", path.Join(t.location(), list), announced,
			len(items))
	}
	d.Columns = []Column{NewColumn("item", items), NewColumn("kind", kinds)}
	d.Fine, d.Coarse, d.Train = "item", "kind", "item"
	return d.setDisjoint().mustBeConsistent(), nil
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
