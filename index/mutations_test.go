package index

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/mutations"
	"github.com/kindred-ml/kindred/store"
)

// TestMutations changes the manifest of an index and the table of a segment, with the checksums
// put right.
func TestMutations(t *testing.T) {
	m := &manifest{Version: formatVersion, Index: "abc", Dim: 3, Log: "000001.log", Next: 4,
		Columns:  []store.Column{{Name: "a", Kind: store.Text}, {Name: "b", Kind: store.Number}},
		Segments: []segmentRef{{File: "000002.seg", Rows: 4, RemovedFile: "000003.dead"}}}
	whole, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	segment, path := segmentBytes(t)
	end := len(segment) - segmentFooter
	at := binary.LittleEndian.Uint64(segment[end:])
	mutations.Try(t,
		mutations.Reader{Name: "manifest of an index",
			Valid: []string{string(whole) + "\n"}, Read: func(text []byte) error {
				text = fmt.Appendf(text, "crc32c %08x\n", crc32.Checksum(text, castagnoli()))
				_, err := decodeManifest(text)
				return err
			}},
		mutations.Reader{Name: "table of a segment",
			Valid: []string{string(segment[at:end])}, Read: func(table []byte) error {
				b := append(segment[:at:at], table...)
				footer := append([]byte(nil), segment[end:]...)
				binary.LittleEndian.PutUint64(footer[8:], uint64(len(table)))
				sum := crc32.Update(crc32.Checksum(table, castagnoli()), castagnoli(), footer[:16])
				binary.LittleEndian.PutUint32(footer[16:], sum)
				if err := os.WriteFile(path, append(b, footer...), 0o600); err != nil {
					t.Fatal(err)
				}
				s, err := openSegment(path, 3, 0)
				if err != nil {
					return err
				}
				useSegment(s)
				return s.file.Close()
			}})
}
