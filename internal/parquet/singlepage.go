package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// singlePageFile makes a Parquet file of one page of images and the dictionary of its chunk. The library finds a row by
// going through all earlier pages. With a separate file it decodes only the page, in any encoding.
func (x *pictureFile) singlePageFile(p picturePage) (*bytes.Reader, error) {
	meta := x.f.Metadata()
	md := meta.RowGroups[p.group].Columns[x.leaf].MetaData
	schema, err := pruneSchema(meta.Schema, md.PathInSchema)
	if err != nil {
		return nil, err
	}
	body, err := budget.ReadN("a page of images", io.NewSectionReader(x.r, p.dict, p.dictLength), p.dictLength)
	if err != nil && p.dictLength > 0 {
		return nil, err
	}
	page, err := budget.ReadN("a page of images", io.NewSectionReader(x.r, p.at, p.length), p.length)
	if err != nil {
		return nil, err
	}
	const magic = "PAR1"
	chunk := format.ColumnMetaData{Type: md.Type, Encoding: md.Encoding, PathInSchema: md.PathInSchema,
		Codec: md.Codec, NumValues: p.values, TotalUncompressedSize: p.unpacked + p.dictRaw,
		TotalCompressedSize: p.dictLength + p.length,
		DataPageOffset:      int64(len(magic)) + p.dictLength}
	if p.dictLength > 0 {
		chunk.DictionaryPageOffset = int64(len(magic))
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), format.FileMetaData{Version: meta.Version,
		Schema: schema, NumRows: p.values, RowGroups: []format.RowGroup{{
			Columns: []format.ColumnChunk{{MetaData: chunk}}, TotalByteSize: chunk.TotalUncompressedSize,
			NumRows: p.values}}})
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(body)+len(page)+len(footer)+3*len(magic))
	out = append(append(append(append(out, magic...), body...), page...), footer...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(footer)))
	return bytes.NewReader(append(out, magic...)), nil
}

// pruneSchema returns a schema with only the column at a path.
func pruneSchema(all []format.SchemaElement, path []string) ([]format.SchemaElement, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("malformed Parquet: no schema")
	}
	one := thrift.New(int32(1))
	root := all[0]
	root.NumChildren = one
	out := []format.SchemaElement{root}
	at, children := 1, all[0].NumChildren.V
	for depth, name := range path {
		for ; ; children-- {
			if children <= 0 || at >= len(all) {
				return nil, fmt.Errorf("malformed Parquet: the schema has no column %q", path)
			}
			if all[at].Name == name {
				break
			}
			at = nextSibling(all, at)
		}
		e := all[at]
		children = e.NumChildren.V
		if depth < len(path)-1 {
			e.NumChildren = one
		}
		out = append(out, e)
		at++
	}
	return out, nil
}

// nextSibling returns the index of the element after the one at i and everything in it.
func nextSibling(all []format.SchemaElement, i int) int {
	for left := int32(1); left > 0 && i < len(all); i++ {
		left += max(0, all[i].NumChildren.V) - 1
	}
	return i
}
