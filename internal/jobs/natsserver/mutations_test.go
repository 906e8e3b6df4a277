package natsserver

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/mutations"
)

// TestMutations changes the file that says where a folder's queue is served, and what the mending of
// a folder reads, with the sums put right.
func TestMutations(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	put := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mutations.Try(t,
		mutations.Reader{Name: "address of a queue", Valid: []string{`{"port": 4222, "token": "ABCDEFGH234567"}`},
			Read: func(text []byte) error {
				put(addressFile, string(text))
				_, err := readAddress(dir)
				return err
			}},
		mutations.Reader{Name: "object of a queue",
			Valid: []string{`{"name": "a", "nuid": "N", "chunks": 2, "size": 9}`},
			Read: func(text []byte) error {
				s := &streamContent{live: map[uint64]string{}, chunks: map[string]int{}}
				s.addRecord(record{seq: 1, subject: "$O.b.M.a", body: text}, "1.blk")
				return nil
			}},
		mutations.Reader{Name: "consumer of a queue", Valid: []string{`{"name": "w", "filter_subject": "jobs.*", ` +
			`"created": "2024-01-02T03:04:05Z"}`}, Read: func(text []byte) error {
			put("s/obs/w/meta.inf", string(text))
			put("s/obs/w/meta.sum", hex.EncodeToString(recordSum(keyOf("S/w"), text)))
			put("s/obs/w/o.dat", "\x16\x02\x00\x00\x00\x00\x00\x00")
			m := &repairer{root: root, dir: dir}
			return m.consumers("s", "S", &streamContent{live: map[uint64]string{1: "jobs.a"}, last: 1})
		}})
}
