package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
)

// omniglotHalves are the two official halves: 30 alphabets to train, 20 to test.
func omniglotHalves() []string { return []string{"images_background", "images_evaluation"} }

// officialZip reports whether the folder t holds the official archive of a half.
func officialZip(t tree, half string) (f folder, name string, ok bool) {
	f, ok = t.(folder)
	name = half + ".zip"
	return f, name, ok && t.has(name)
}

// omniglotTree finds a half as the official zip archive or as a folder of t. It returns nil if there
// is neither.
func omniglotTree(ctx context.Context, t tree, half string) (tree, error) {
	if f, name, ok := officialZip(t, half); ok {
		z, err := openZip(f.in, f.path(name))
		if err != nil {
			return nil, err
		}
		return subtree{z, half}, nil
	}
	if s := (subtree{t, half}); !isEmpty(ctx, s) {
		return s, nil
	}
	return nil, nil
}

// isEmpty reports whether t is nil or has no file.
func isEmpty(ctx context.Context, t tree) bool {
	found := false
	err := t.walk(ctx, func(_, why string) error {
		if why != "" {
			return nil
		}
		found = true
		return errStop
	})
	return !found && !errors.Is(err, fs.ErrPermission)
}

func isOmniglot(ctx context.Context, t tree) bool {
	return slices.ContainsFunc(omniglotHalves(), func(half string) bool {
		_, _, zipped := officialZip(t, half)
		return zipped || !isEmpty(ctx, subtree{t, half})
	})
}

// openOmniglot reads ALPHABET/characterNN/FILE.png of both halves. The coarse label is the alphabet,
// which the papers train on. The fine label is the letter.
func openOmniglot(ctx context.Context, t tree, name string, opt OpenOptions) (*Dataset, error) {
	b := newBuilder("omniglot", name, opt)
	ok := false
	defer func() {
		if !ok {
			b.files.Close()
		}
	}()
	var alphabets, letters []string
	for i, half := range omniglotHalves() {
		s, err := omniglotTree(ctx, t, half)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		before := len(letters)
		err = s.walk(ctx, func(file, why string) error {
			if why == "" && !isImageName(file) {
				why = notImageReason(file)
			}
			if why == "" && unwritableReason(file) != "" {
				why = unwritableNameReason(file)
			}
			if why != "" {
				b.d.LeftOut = countLeftOut(b.d.LeftOut, why, path.Join(half, file))
				return nil
			}
			parts := strings.Split(file, "/")
			if len(parts) != 3 {
				return fmt.Errorf("%s: the path of image %s is not ALPHABET/CHARACTER/FILE", s.location(), file)
			}
			b.add(s, file)
			alphabets = append(alphabets, parts[0])
			letters = append(letters, parts[0]+"/"+parts[1])
			b.d.Splits = append(b.d.Splits, []Split{Train, Test}[i])
			return nil
		})
		if err != nil || len(letters) == before {
			closeTree(s)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(letters) == 0 {
		return nil, fmt.Errorf("%s: no image in images_background or images_evaluation", t.location())
	}
	d := b.d
	d.Columns = []Column{NewColumn("alphabet", alphabets), NewColumn("letter", letters)}
	d.Coarse, d.Fine, d.Train = "alphabet", "letter", "alphabet"
	d.Disjoint = true
	var first imaging.Image
	if err := b.files.Read(ctx, 0, &first, new(imaging.Decoder)); err == nil {
		b.files.w, b.files.h, b.files.c = first.W, first.H, 1
	}
	ok = true
	return d.mustBeConsistent(), nil
}
