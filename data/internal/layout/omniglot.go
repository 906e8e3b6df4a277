package layout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/internal/tree"
)

// omniglotHalves are the two official halves: 30 alphabets to train, 20 to test.
func omniglotHalves() []string { return []string{"images_background", "images_evaluation"} }

// officialZip reports whether the set is a folder with the official archive of a half.
func officialZip(t *listing, half string) (f tree.Folder, ok bool) {
	f, ok = t.Tree.(tree.Folder)
	return f.Sub(half + ".zip"), ok && t.Has(half+".zip")
}

// omniglotTree finds a half as the official zip archive or as a folder of t. It returns nil if there
// is neither.
func omniglotTree(ctx context.Context, t *listing, half string) (tree.Tree, error) {
	if zip, ok := officialZip(t, half); ok {
		z, err := zip.OpenZip()
		if err != nil {
			return nil, err
		}
		return tree.NewSub(z, half), nil
	}
	if s := tree.NewSub(t.Tree, half); !isEmpty(ctx, s) {
		return s, nil
	}
	return nil, nil
}

// isEmpty reports whether t has no file.
func isEmpty(ctx context.Context, t tree.Tree) bool {
	found := false
	err := t.Walk(ctx, func(_, why string) error {
		if why != "" {
			return nil
		}
		found = true
		return tree.ErrStop
	})
	return !found && !errors.Is(err, fs.ErrPermission)
}

func isOmniglot(ctx context.Context, t *listing) bool {
	return slices.ContainsFunc(omniglotHalves(), func(half string) bool {
		_, zipped := officialZip(t, half)
		return zipped || !isEmpty(ctx, tree.NewSub(t.Tree, half))
	})
}

// readOmniglot reads ALPHABET/characterNN/FILE.png of both halves. The coarse label is the alphabet,
// which the papers train on. The fine label is the letter.
func readOmniglot(ctx context.Context, s *Set) (err error) {
	defer func() {
		if err != nil {
			s.Files.Close()
		}
	}()
	alphabets, letters := Column{Name: "alphabet"}, Column{Name: "letter"}
	for i, half := range omniglotHalves() {
		t, err := omniglotTree(ctx, s.tree, half)
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		before := len(s.Names)
		err = t.Walk(ctx, func(file, why string) error {
			if why = cmp.Or(why, tree.NotSampleReason(t, file)); why != "" {
				s.leave(why, path.Join(half, file))
				return nil
			}
			parts := strings.Split(file, "/")
			if len(parts) != 3 {
				return fmt.Errorf("%s: the path of image %s is not ALPHABET/CHARACTER/FILE", t.Location(), file)
			}
			s.add(t, file)
			alphabets.Text = append(alphabets.Text, parts[0])
			letters.Text = append(letters.Text, parts[0]+"/"+parts[1])
			s.Roles = append(s.Roles, trainTest(i))
			return nil
		})
		if err != nil || len(s.Names) == before {
			tree.Close(t)
		}
		if err != nil {
			return err
		}
	}
	if len(s.Names) == 0 {
		return fmt.Errorf("%s: no image in images_background or images_evaluation", s.tree.Location())
	}
	s.Columns = []Column{alphabets, letters}
	s.Coarse, s.Fine, s.Train = "alphabet", "letter", "alphabet"
	s.Disjoint = true
	var first imaging.Image
	if err := s.Files.Read(ctx, 0, &first, new(imaging.Decoder)); err == nil {
		s.Files.SetShape(first.W, first.H, 1)
	}
	return nil
}
