package embedding

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/kindred-ml/kindred/matrix"
)

// WriteNPY writes x as a .npy array of float32 in C order.
func WriteNPY(w io.Writer, x *matrix.Dense) error {
	bw := bufio.NewWriter(w)
	if err := writeNPYHeader(bw, "<f4", fmt.Sprintf("(%d, %d)", x.Rows, x.Cols)); err != nil {
		return err
	}
	var b [4]byte
	for i := range x.Rows {
		for _, v := range x.Row(i) {
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
			if _, err := bw.Write(b[:]); err != nil {
				return err
			}
		}
	}
	return bw.Flush()
}

// WriteLabelsNPY writes labels as a .npy array of int64.
func WriteLabelsNPY(w io.Writer, labels []int64) error {
	bw := bufio.NewWriter(w)
	if err := writeNPYHeader(bw, "<i8", fmt.Sprintf("(%d,)", len(labels))); err != nil {
		return err
	}
	var b [8]byte
	for _, v := range labels {
		binary.LittleEndian.PutUint64(b[:], uint64(v))
		if _, err := bw.Write(b[:]); err != nil {
			return err
		}
	}
	return bw.Flush()
}

// writeNPYHeader writes version 1 of the header, padded so that the data begins
// at a multiple of 64 bytes.
func writeNPYHeader(w io.Writer, descr, shape string) error {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	pad := (64 - (10+len(text)+1)%64) % 64
	text += strings.Repeat(" ", pad) + "\n"
	head := append([]byte(npyMagic), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(text)))
	_, err := w.Write(append(head, text...))
	return err
}
