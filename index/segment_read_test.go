package index

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
)

// Numbers in a segment that somebody made point at texts and rows that there are, to the last
// one, and no further.
func TestNumbersOfSegments(t *testing.T) {
	good := func() *segment {
		s := &segment{n: 5, slots: []uint32{emptySlot, 0, 4}, lists: []uint32{0, 2, 2, 5}}
		s.columns = map[string]*column{"c": {words: []uint32{0, 1, 2}, text: textList{offsets: make([]uint64, 3)}}}
		return s
	}
	for name, c := range map[string]struct {
		change func(s *segment)
		want   string // "" for none
	}{
		"as it is":           {func(*segment) {}, ""},
		"a text too many":    {func(s *segment) { s.columns["c"].words[1] = 3 }, `column "c" names text 3 of 2`},
		"a row too many":     {func(s *segment) { s.slots[2] = 5 }, "its hash table names row 5 of 5"},
		"no lists":           {func(s *segment) { s.lists = nil }, ""},
		"one list":           {func(s *segment) { s.lists = []uint32{0, 5} }, ""},
		"no list":            {func(s *segment) { s.lists = []uint32{5} }, "its lists do not cover its rows"},
		"lists from a row":   {func(s *segment) { s.lists[0] = 1 }, "its lists do not cover its rows"},
		"lists to a row":     {func(s *segment) { s.lists[3] = 4 }, "its lists do not cover its rows"},
		"lists back":         {func(s *segment) { s.lists[1] = 3 }, "its lists do not cover its rows"},
		"the least exponent": {func(s *segment) { s.codes.Exp = -2000 }, ""},
		"the largest":        {func(s *segment) { s.codes.Exp = 2000 }, ""},
		"a smaller one":      {func(s *segment) { s.codes.Exp = -2001 }, "exponent -2001"},
		"a larger one":       {func(s *segment) { s.codes.Exp = 2001 }, "exponent 2001"},
	} {
		s := good()
		c.change(s)
		err := s.checkColumns()
		if err == nil {
			err = s.checkNumbers()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A segment is not opened in which a section is damaged, but for those whose blocks are compared
// as they are read. It can be salvaged where what is damaged follows from the rest.
func TestDamagedSections(t *testing.T) {
	good, path := segmentBytes(t)
	s, err := openSegment(path, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	sections := slices.Clone(s.table.Sections)
	s.file.Close()
	later := []string{"vectors", "codes"}
	follow := []string{"find", "scale", "half", "slack", "space", "sums", "code.sums", "lists", "centroids"}
	seen := 0
	for _, c := range sections {
		if c.Length == 0 {
			continue
		}
		bad := bytes.Clone(good)
		bad[c.Offset] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openSegment(path, 3, 0)
		if err == nil {
			s.file.Close()
		}
		var damage *DamageError
		if sound := slices.Contains(later, c.Name); sound != (err == nil) || err != nil && !errors.As(err, &damage) {
			t.Errorf("a segment whose section %s is damaged: %v", c.Name, err)
		}
		s, reasons, err := readDamagedSegment(path, mappedFile(t, path), 3, 0)
		if err == nil {
			s.file.Close()
		}
		if saved := slices.Contains(follow, c.Name); saved != (len(reasons) > 0) ||
			err == nil != (saved || slices.Contains(later, c.Name)) {
			t.Errorf("salvage with a damaged section %s: %q, %v", c.Name, reasons, err)
		} else if saved {
			seen++
		}
	}
	if seen != len(follow) {
		t.Errorf("%d of the %d sections that follow from others were damaged", seen, len(follow))
	}
}

// A section that somebody made shorter, with checksums that fit, is refused by its length:
// none is read beyond its end.
func TestSectionLengths(t *testing.T) {
	for _, dim := range []int{4, 48} { // codes of 16 and of 8 bits
		x := create(t, Config{Dim: dim})
		add(t, x, entries(50, dim, 5), AddOptions{})
		if err := x.Compact(t.Context(), CompactOptions{NumLists: 4, Recall: 0.5}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(x.dir, x.w.m.Segments[0].File)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"vectors", "ids", "paths", "sums", "codes", "scale", "half", "slack", "code.sums",
			"space", "find", "centroids"} {
			if err := os.WriteFile(path, shortenSection(t, whole, name), 0o666); err != nil {
				t.Fatal(err)
			}
			s, bad, err := readDamagedSegment(path, mappedFile(t, path), dim, eval.Euclidean)
			said := fmt.Sprint(err, bad)
			if !strings.Contains(said, fmt.Sprintf("section %q has", name)) {
				t.Errorf("dimension %d, %s: %s", dim, name, said)
			}
			if err == nil {
				s.file.Close()
			}
		}
	}
}

// shortenSection is a segment with four bytes less of a section, and checksums that say so.
func shortenSection(t *testing.T, whole []byte, name string) []byte {
	t.Helper()
	le := binary.LittleEndian
	footer := whole[len(whole)-segmentFooter:]
	at := le.Uint64(footer)
	var all map[string]any
	var table struct {
		Sections []section `json:"sections"`
	}
	text := whole[at : len(whole)-segmentFooter]
	for _, v := range []any{&all, &table} {
		if err := json.Unmarshal(text, v); err != nil {
			t.Fatal(err)
		}
	}
	found := false
	for i := range table.Sections {
		if c := &table.Sections[i]; c.Name == name {
			found = true
			c.Length -= 4
			c.Sum = crc32.Checksum(whole[c.Offset:c.Offset+c.Length], castagnoli())
		}
	}
	if !found {
		t.Fatalf("no section %q in %s", name, text)
	}
	all["sections"] = table.Sections
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	end := le.AppendUint64(le.AppendUint64(nil, at), uint64(len(text)))
	end = le.AppendUint32(end, crc32.Update(crc32.Checksum(text, castagnoli()), castagnoli(), end))
	end = append(le.AppendUint32(end, formatVersion), segmentMagic...)
	out := append(append([]byte{}, whole[:at]...), text...)
	return append(out, end...)
}
