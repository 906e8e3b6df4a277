package parquet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/columns"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// pictureColumns returns the names of plain columns of image files. A structure with a field bytes may have any
// name.
func pictureColumns() []string { return []string{"image", "img", "jpg", "png", "webp", "jpeg"} }

// pictureLabels returns the names of columns of labels. The first that exists counts.
func pictureLabels() []string {
	return []string{"label", "labels", "fine_label", "class", "category", "species", "cls"}
}

// OpenPictures opens the image sets of Hugging Face. They have a column that is a structure with the field bytes
// (or a binary column image, img, jpg, png or webp), and columns of labels. The metadata "huggingface" may name
// the classes by number. Every page of images is read separately.
func (Format) OpenPictures(r io.ReaderAt, size int64, want []string) (p *embedding.PictureFile, err error) {
	defer func() {
		if v := recover(); v != nil {
			p, err = nil, fmt.Errorf("malformed Parquet: %v", v)
		}
	}()
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	f, err := pq.OpenFile(r, size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	leaf := pictureLeaf(f.Schema())
	if leaf < 0 {
		return nil, nil
	}
	x := &pictureFile{r: r, size: size, f: f, leaf: leaf}
	if err := x.findPages(); err != nil {
		return nil, err
	}
	out := &embedding.PictureFile{Rows: x.rows, Pages: x.parts, Load: x.load}
	if out.Labels, err = x.labels(want); err != nil {
		return nil, err
	}
	return out, nil
}

// pictureLeaf returns the column of image files, or -1 without such a column.
func pictureLeaf(s *pq.Schema) int {
	found := -1
	for i, path := range s.Columns() {
		leaf, ok := s.Lookup(path...)
		if !ok || leaf.MaxRepetitionLevel > 0 || leaf.Node.Type().Kind() != pq.ByteArray {
			continue
		}
		named := slices.Contains(pictureColumns(), path[0])
		plain := len(path) == 1 && named && leaf.Node.Type().LogicalType() == nil
		field := len(path) == 2 && path[1] == "bytes"
		if (plain || field) && (found < 0 || named) {
			if found = i; named {
				return i
			}
		}
	}
	return found
}

// pictureFile is a file of pictures.
type pictureFile struct {
	r     io.ReaderAt
	size  int64
	f     *pq.File
	leaf  int
	rows  int
	pages []picturePage
	parts []embedding.PicturePage
}

// picturePage is the place of a page and of the dictionary of its chunk.
type picturePage struct {
	group             int
	at, length        int64
	dict, dictLength  int64
	values            int64
	unpacked, dictRaw int64
}

// findPages goes through the heads of the pages of images.
func (x *pictureFile) findPages() error {
	for g := range x.f.Metadata().RowGroups {
		group := &x.f.Metadata().RowGroups[g]
		if x.leaf >= len(group.Columns) {
			return fmt.Errorf("row group %d has %d columns", g, len(group.Columns))
		}
		md := &group.Columns[x.leaf].MetaData
		if err := checkChunk(x.r, x.size, md); err != nil {
			return fmt.Errorf("the images of row group %d: %w", g, err)
		}
		before := x.rows
		if err := x.chunk(g, md); err != nil {
			return fmt.Errorf("the images of row group %d: %w", g, err)
		}
		if int64(x.rows-before) != group.NumRows {
			return fmt.Errorf("the pages of row group %d hold %d rows, and the footer says %d", g, x.rows-before,
				group.NumRows)
		}
	}
	return nil
}

// Kinds of pages.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

// chunk adds the pages of a chunk, which checkChunk has checked.
func (x *pictureFile) chunk(g int, md *format.ColumnMetaData) error {
	at := md.DataPageOffset
	if d := md.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	p := picturePage{group: g}
	for end := at + md.TotalCompressedSize; at < end; {
		h, length, err := readPageHead(io.NewSectionReader(x.r, at, end-at))
		if err != nil {
			return err
		}
		length += h.compressed
		switch h.kind {
		case pageDictionary:
			p.dict, p.dictLength, p.dictRaw = at, length, h.unpacked
		case pageData, pageDataV2:
			p.at, p.length, p.values, p.unpacked = at, length, h.values, h.unpacked
			need := budget.Sum(p.length, p.dictLength, budget.Product(2, budget.Sum(p.unpacked, p.dictRaw)))
			if err := budget.Check("a page of images", need); err != nil {
				return err
			}
			x.pages = append(x.pages, p)
			x.parts = append(x.parts, embedding.PicturePage{First: x.rows, Bytes: budget.Sum(p.unpacked, p.dictRaw)})
			x.rows += int(h.values)
		}
		at += length
	}
	return nil
}

// load reads page k as a separate file.
func (x *pictureFile) load(k int) (out [][]byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("malformed Parquet: %v", v)
		}
	}()
	p := x.pages[k]
	small, err := x.singlePageFile(p)
	if err != nil {
		return nil, err
	}
	f, err := pq.OpenFile(small, small.Size(), pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	pages := f.RowGroups()[0].ColumnChunks()[0].Pages()
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := pictureValues(page, &out, budget.Limit()); err != nil {
			return nil, err
		}
	}
	if int64(len(out)) != p.values {
		return nil, fmt.Errorf("a page of %d images holds %d", p.values, len(out))
	}
	return out, nil
}

// pictureValues appends the values of a page. An entry of a dictionary may occur any number of times.
func pictureValues(page pq.Page, out *[][]byte, limit int64) error {
	used := int64(0)
	defer pq.Release(page)
	values := page.Values()
	buf := make([]pq.Value, 64)
	for {
		n, err := values.ReadValues(buf)
		for _, v := range buf[:n] {
			if v.IsNull() {
				*out = append(*out, nil)
				continue
			}
			if used += int64(len(v.ByteArray())); used > limit {
				return &budget.Error{What: "a page of images", Limit: limit}
			}
			*out = append(*out, slices.Clone(v.ByteArray()))
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case n == 0:
			return errors.New("no progress in a page of images")
		}
	}
}

// labels reads the columns of labels.
func (x *pictureFile) labels(want []string) ([]embedding.PictureLabel, error) {
	var out []embedding.PictureLabel
	first := ""
	names := x.f.Schema().Columns()
	has := func(name string) int {
		return slices.IndexFunc(names, func(path []string) bool { return len(path) == 1 && path[0] == name })
	}
	for _, n := range pictureLabels() {
		if first == "" && has(n) >= 0 {
			first = n
		}
	}
	classes := x.classNames()
	for _, n := range append([]string{first}, want...) {
		i := has(n)
		seen := slices.ContainsFunc(out, func(l embedding.PictureLabel) bool { return l.Name == n })
		if n == "" || i < 0 || i == x.leaf || seen {
			continue
		}
		text, err := x.column(i, classes[n])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", n, err)
		}
		out = append(out, embedding.PictureLabel{Name: n, Text: text})
	}
	return out, nil
}

// classNames returns the names of classes by column, from the metadata of Hugging Face's datasets.
func (x *pictureFile) classNames() map[string][]string {
	text, _ := x.f.Lookup("huggingface")
	var meta struct {
		Info struct {
			Features map[string]json.RawMessage
		}
	}
	out := map[string][]string{}
	if strictjson.UnmarshalLoose([]byte(text), &meta) != nil {
		return out // another program's, or none
	}
	for name, raw := range meta.Info.Features {
		var feature struct{ Names []string }
		if strictjson.UnmarshalLoose(raw, &feature) == nil && feature.Names != nil {
			out[name] = feature.Names
		}
	}
	return out
}

// column reads a column of labels. classes has the names of its numbers; -1 means no label.
func (x *pictureFile) column(i int, classes []string) ([]string, error) {
	leaf, _ := x.f.Schema().Lookup(x.f.Schema().Columns()[i]...)
	elements := leafElements(x.f.Metadata().Schema)
	if leaf.MaxRepetitionLevel > 0 {
		return nil, errors.New("it holds lists: labels are one value each")
	}
	if i >= len(elements) {
		return nil, errors.New("malformed Parquet: the schema has no such leaf")
	}
	t := leaf.Node.Type()
	write, err := chooseTextFunc(elements[i], t)
	if err != nil {
		return nil, fmt.Errorf("it is %w: labels are integers, text, dates or true and false", err)
	}
	limit, used := budget.Limit(), int64(0)
	var out []string
	for g, group := range x.f.RowGroups() {
		if err := checkChunk(x.r, x.size, &x.f.Metadata().RowGroups[g].Columns[i].MetaData); err != nil {
			return nil, err
		}
		r := pq.NewColumnChunkValueReader(group.ColumnChunks()[i])
		buf := make([]pq.Value, 256)
		for {
			n, err := r.ReadValues(buf)
			for _, v := range buf[:n] {
				text, err := className(v, classes, write)
				if err != nil {
					return nil, fmt.Errorf("row %d: %w", len(out), err)
				}
				if used += columns.TextSize(len(text)); used > limit {
					return nil, &budget.Error{What: "the labels", Limit: limit}
				}
				out = append(out, text)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil && n == 0 {
				err = errors.New("no progress")
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if len(out) != x.rows {
		return nil, fmt.Errorf("%d values for %d images", len(out), x.rows)
	}
	if isTime(elements[i], t) {
		shortenFractions(out)
	}
	return out, nil
}

// className returns the text of a label: the name of its class, or else the text of write.
func className(v pq.Value, classes []string, write textFunc) (string, error) {
	if v.IsNull() {
		return "", nil
	}
	kind := v.Kind()
	if classes == nil || kind != pq.Int64 && kind != pq.Int32 {
		return write(v)
	}
	n := v.Int64()
	if kind == pq.Int32 {
		n = int64(v.Int32())
	}
	switch {
	case n == -1: // what Hugging Face's datasets writes for a missing label
		return "", nil
	case n < 0 || n >= int64(len(classes)):
		return "", fmt.Errorf("class %s of %d", strconv.FormatInt(n, 10), len(classes))
	}
	return classes[n], nil
}
