package embedding

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/columns"
)

// maxText is the largest length of the strings of an array, in characters.
const maxText = 1 << 20

// decodeText reads count strings, which are padded with zeros to the length of the longest. Memory grows with
// the strings without their padding.
func (a *Array) decodeText(r io.Reader, h *npyHeader, count int) error {
	a.Text = make([]string, 0, min(count, 1<<16))
	used, limit := int64(0), budget.Limit()
	item := make([]byte, h.item)
	for len(a.Text) < count {
		switch _, err := io.ReadFull(r, item); {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return sizeError(h, int64(len(a.Text)), true)
		case err != nil:
			return err
		}
		s, err := h.string(item)
		if err != nil {
			return fmt.Errorf("value %d: %w", len(a.Text), err)
		}
		if used += columns.LabelSize(len(s)); used > limit {
			return &budget.Error{What: fmt.Sprintf("%s of shape %v", h.descr, h.shape), Limit: limit}
		}
		a.Text = append(a.Text, s)
	}
	return checkEnd(r, h)
}

// string returns a string without its padding. A character has four bytes for U and one for S.
func (h *npyHeader) string(item []byte) (string, error) {
	if h.kind == 'S' {
		return string(bytes.TrimRight(item, "\x00")), nil
	}
	for len(item) > 0 && h.order.Uint32(item[len(item)-4:]) == 0 {
		item = item[:len(item)-4]
	}
	var b strings.Builder
	for ; len(item) > 0; item = item[4:] {
		c := h.order.Uint32(item)
		if c > utf8.MaxRune || !utf8.ValidRune(rune(c)) {
			return "", fmt.Errorf("%#x is not a character", c)
		}
		b.WriteRune(rune(c))
	}
	return b.String(), nil
}

// writeTextNPY writes texts as a .npy array of strings, all padded to the length of the longest.
func writeTextNPY(w io.Writer, texts []string) error {
	longest := 1
	for _, s := range texts {
		longest = max(longest, utf8.RuneCountInString(s))
	}
	if longest > maxText {
		return fmt.Errorf("a text of %d characters: an array holds at most %d", longest, maxText)
	}
	if err := writeNPYHeader(w, fmt.Sprintf("<U%d", longest), fmt.Sprintf("(%d,)", len(texts))); err != nil {
		return err
	}
	item := make([]byte, 4*longest)
	for _, s := range texts {
		clear(item)
		n := 0
		for _, c := range s {
			binary.LittleEndian.PutUint32(item[n:], uint32(c))
			n += 4
		}
		if _, err := w.Write(item); err != nil {
			return err
		}
	}
	return nil
}
