package imagepack

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

const (
	magic      = "kindpack"
	version    = 1
	entrySize  = 24
	footerSize = 64
)

// Key identifies what a file was made from.
type Key [32]byte

// crcTable is the polynomial of CRC-32C.
func crcTable() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Writer appends images to a file.
type Writer struct {
	w     io.Writer
	at    uint64
	index []byte
}

// Add appends an image of w x h pixels with c channels. Without pixels (w = h =
// c = 0) it notes that there is no image.
func (w *Writer) Add(pix []uint8, width, height, channels int) error {
	if len(pix) != width*height*channels {
		panic(fmt.Sprintf("imagepack: %d bytes for an image of %d x %d x %d", len(pix), width, height, channels))
	}
	le := binary.LittleEndian
	w.index = le.AppendUint64(w.index, w.at)
	w.index = le.AppendUint32(w.index, uint32(width))
	w.index = le.AppendUint32(w.index, uint32(height))
	w.index = le.AppendUint32(w.index, uint32(channels))
	w.index = le.AppendUint32(w.index, crc32.Checksum(pix, crcTable()))
	n, err := w.w.Write(pix)
	w.at += uint64(n)
	return err
}

// Create writes the file at path with the images that add gives to the Writer.
// Whatever goes wrong, path has its old content or the whole new one. Temporary
// files that killed processes left in the folder are removed.
func Create(path string, key Key, add func(*Writer) error) error {
	return write(atomic.Files{}, path, key, add)
}

func write(files atomic.Files, path string, key Key, add func(*Writer) error) error {
	if err := files.Clean(filepath.Dir(path)); err != nil {
		return err
	}
	return files.Write(path, func(f io.Writer) error {
		buf := bufio.NewWriterSize(f, 1<<20)
		w := &Writer{w: buf}
		if err := add(w); err != nil {
			return err
		}
		le := binary.LittleEndian
		tail := append(w.index, key[:]...)
		tail = le.AppendUint64(tail, uint64(len(w.index)/entrySize))
		tail = le.AppendUint64(tail, w.at)
		tail = le.AppendUint32(tail, crc32.Checksum(tail, crcTable()))
		tail = le.AppendUint32(tail, version)
		tail = append(tail, magic...)
		if _, err := buf.Write(tail); err != nil {
			return err
		}
		return buf.Flush()
	})
}
