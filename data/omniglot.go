package data

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
)

// omniglotHalves are the two official halves: 30 alphabets to train, 20 to test.
func omniglotHalves() [2]string { return [2]string{"images_background", "images_evaluation"} }

// omniglotTree finds one half as a folder of t or, beside other files on disk,
// as the official zip archive. It returns nil where there is neither.
func omniglotTree(t tree, half string) (tree, error) {
	if f, ok := t.(folder); ok && t.has(half+".zip") {
		z, err := openZip(filepath.Join(string(f), half+".zip"))
		if err != nil {
			return nil, err
		}
		return subtree{z, half}, nil
	}
	s := subtree{t, half}
	found := false
	err := s.walk(func(string) error { found = true; return errStop })
	if err != nil && !found {
		return nil, nil
	}
	if !found {
		return nil, nil
	}
	return s, nil
}

func isOmniglot(t tree) bool {
	for _, half := range omniglotHalves() {
		if s, err := omniglotTree(t, half); s != nil || err != nil {
			return true
		}
	}
	return false
}

// openOmniglot reads ALPHABET/characterNN/FILE.png of both halves. Coarse is the
// alphabet, which the papers train on, fine the letter.
func openOmniglot(t tree, name string, _ OpenOptions) (*Dataset, error) {
	b := newBuilder("omniglot", name)
	var alphabets, letters []string
	for i, half := range omniglotHalves() {
		s, err := omniglotTree(t, half)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		err = s.walk(func(file string) error {
			if !isImageName(file) {
				return nil
			}
			parts := strings.Split(file, "/")
			if len(parts) != 3 {
				return fmt.Errorf("%s: image %s is not at ALPHABET/CHARACTER/FILE", s.where(), file)
			}
			b.add(s, file)
			alphabets = append(alphabets, parts[0])
			letters = append(letters, parts[0]+"/"+parts[1])
			b.d.Splits = append(b.d.Splits, []Split{Train, Test}[i])
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(letters) == 0 {
		return nil, fmt.Errorf("%s: no image in images_background or images_evaluation", t.where())
	}
	d := b.d
	d.Columns = []Column{columnOfNames("alphabet", alphabets), columnOfNames("letter", letters)}
	d.Coarse, d.Fine, d.Train = "alphabet", "letter", "alphabet"
	d.Disjoint = true
	var first imaging.Image
	if err := b.files.Read(0, &first, new(imaging.Decoder)); err == nil {
		b.files.w, b.files.h, b.files.c = first.W, first.H, 1
	}
	return d.check(), nil
}
