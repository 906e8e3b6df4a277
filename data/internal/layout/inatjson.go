package layout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// inatImage, inatAnnotation and inatCategory are the used parts of COCO-style annotations.
type (
	inatImage struct {
		ID   int64  `json:"id"`
		File string `json:"file_name"`
	}
	inatAnnotation struct {
		Image    int64 `json:"image_id"`
		Category int64 `json:"category_id"`
	}
	inatCategory struct {
		ID    int64  `json:"id"`
		Name  string `json:"name"`
		Super string `json:"supercategory"`
	}
)

// inatJSON is a file of annotations.
type inatJSON struct {
	Images      []inatImage
	Annotations []inatAnnotation
	Categories  []inatCategory
}

// inatEntry is the approximate memory of an entry of a list: its struct in a growing slice, and its
// place in a map.
const inatEntry = 128

// parseINat reads annotations one entry at a time, and compares their memory with the limit of
// package budget, because an entry of two characters takes many times its length in memory. file is
// the name for errors.
func parseINat(file string, text []byte) (*inatJSON, error) {
	p := inatParser{dec: json.NewDecoder(bytes.NewReader(text)), file: file, taken: int64(len(text))}
	j := new(inatJSON)
	if err := p.document(j); err != nil {
		if _, over := err.(*budget.Error); over {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", file, strictjson.PlainError(err, text, int(p.dec.InputOffset())))
	}
	return j, nil
}

// inatParser counts the memory of the entries.
type inatParser struct {
	dec   *json.Decoder
	file  string
	taken int64
}

func (p *inatParser) document(j *inatJSON) error {
	if err := p.delim('{'); err != nil {
		return err
	}
	for p.dec.More() {
		key, err := p.dec.Token()
		if err != nil {
			return err
		}
		switch key {
		case "images":
			err = readList(p, &j.Images, func(e *inatImage) int { return len(e.File) })
		case "annotations":
			err = readList(p, &j.Annotations, func(*inatAnnotation) int { return 0 })
		case "categories":
			err = readList(p, &j.Categories, func(e *inatCategory) int { return len(e.Name) + len(e.Super) })
		default:
			err = p.skip()
		}
		if err != nil {
			return err
		}
	}
	if err := p.delim('}'); err != nil {
		return err
	}
	if _, err := p.dec.Token(); err != io.EOF {
		return fmt.Errorf("the file goes on after the annotations at byte %d", p.dec.InputOffset())
	}
	return nil
}

// delim reads a brace or bracket.
func (p *inatParser) delim(want json.Delim) error {
	t, err := p.dec.Token()
	if err == nil && t != want {
		err = fmt.Errorf("want %v at byte %d", want, p.dec.InputOffset())
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// readList reads a list, and counts its memory. length returns the length of an entry's texts.
func readList[E any](p *inatParser, to *[]E, length func(*E) int) error {
	if err := p.delim('['); err != nil {
		return err
	}
	for p.dec.More() {
		var e E
		if err := p.dec.Decode(&e); err != nil {
			return err
		}
		*to = append(*to, e)
		p.taken += inatEntry + int64(length(&e))
		if err := budget.Check(p.file, p.taken); err != nil {
			return err
		}
	}
	return p.delim(']')
}

// skip reads past a value.
func (p *inatParser) skip() error {
	for depth := 0; ; {
		t, err := p.dec.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
