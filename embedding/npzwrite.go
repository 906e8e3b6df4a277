package embedding

import (
	"archive/zip"
	"errors"
	"io"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/format/columns"
)

// writeNPYTable writes the embeddings of t, or its only column of labels.
func writeNPYTable(w io.Writer, t *Table) error {
	switch {
	case t.X != nil:
		return WriteNPY(w, t.X)
	case len(t.Columns) > 1:
		return errors.New("several columns of labels: a .npy file holds one array")
	}
	return writeColumn(w, &t.Columns[0])
}

func writeColumn(w io.Writer, c *Column) error {
	if c.Text != nil {
		return writeTextNPY(w, c.Text)
	}
	return WriteLabelsNPY(w, c.IDs)
}

// writeNPZ writes the arrays embeddings, id, path, and one for each column of labels, as float32, int64 or
// strings that numpy.load reads, and the network. It compresses all arrays except the embeddings, which would not get
// smaller.
func writeNPZ(w io.Writer, t *Table) error {
	z := zip.NewWriter(w)
	put := func(name string, method uint16, write func(io.Writer) error) error {
		m, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			return err
		}
		return write(m)
	}
	if t.X != nil {
		err := put(embeddingNames[0]+".npy", zip.Store, func(w io.Writer) error { return WriteNPY(w, t.X) })
		if err != nil {
			return err
		}
	}
	if t.Files != nil {
		err := put(columns.File+".npy", zip.Deflate, func(w io.Writer) error { return writeTextNPY(w, t.Files) })
		if err != nil {
			return err
		}
	}
	for _, c := range t.labelColumns() {
		if err := put(c.Name+".npy", zip.Deflate, func(w io.Writer) error { return writeColumn(w, c) }); err != nil {
			return err
		}
	}
	if t.Network.Fingerprint != "" {
		text, err := t.Network.JSON()
		if err != nil {
			return err
		}
		err = put(networkEntry, zip.Deflate, atomic.Bytes(text))
		if err != nil {
			return err
		}
	}
	return z.Close()
}
