package index

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval/rank"
)

// A section that somebody made shorter, with checksums that fit, is refused by its length:
// none is read beyond its end.
func TestSectionLengths(t *testing.T) {
	for _, dim := range []int{4, 48} { // codes of 16 and of 8 bits
		x := create(t, Config{Dim: dim})
		add(t, x, entries(50, dim, 5), AddOptions{})
		if err := x.Compact(t.Context(), CompactOptions{Lists: 4, Recall: 0.5}); err != nil {
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
			if err := os.WriteFile(path, shortened(t, whole, name), 0o666); err != nil {
				t.Fatal(err)
			}
			s, bad, err := salvage(path, mappedFile(t, path), dim, rank.Euclidean)
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

// shortened is a segment with four bytes less of a section, and checksums that say so.
func shortened(t *testing.T, whole []byte, name string) []byte {
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
