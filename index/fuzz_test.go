package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/store"
)

func FuzzManifest(f *testing.F) {
	m := &manifest{Version: formatVersion, Index: "abc", Dim: 3, Log: "000001.log",
		Columns:  []store.Column{{Name: "a", Kind: store.Text}},
		Segments: []segmentRef{{File: "000002.seg", Rows: 4, RemovedFile: "000003.dead"}}}
	text, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1])
	f.Fuzz(func(t *testing.T, text []byte) {
		decodeManifest(text)
		// With the checksum right, the content is looked at.
		sum := crc32.Checksum(text, castagnoli())
		m, err := decodeManifest(append(bytes.Clone(text), []byte("crc32c "+hex8(sum)+"\n")...))
		if err == nil && (m.Dim < 1 || strings.ContainsAny(m.Log, `/\`)) {
			t.Fatalf("%+v", m)
		}
	})
}

func hex8(n uint32) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 8)
	for i := range out {
		out[i] = digits[n>>(28-4*i)&15]
	}
	return string(out)
}

func FuzzLog(f *testing.F) {
	var content []byte
	for _, e := range entries(3, 2, 1) {
		content = appendOperation(content, operation{entry: &e})
	}
	content = appendOperation(content, operation{remove: "item 00001"})
	f.Add(content, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, content []byte, at uint16, change byte) {
		ops, err := decodeOperations(content, 2)
		if err == nil {
			var again []byte
			for _, op := range ops {
				again = appendOperation(again, op)
			}
			if _, err := decodeOperations(again, 2); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(t.TempDir(), "x.log")
		l, err := createLog(atomic.Files{}, path, "identity")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := l.append(content, len(ops)); err != nil {
				t.Fatal(err)
			}
		}
		l.close()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[int(at)%len(b)] ^= change
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		readLog(openFile(t, path), "identity", 2, func([]operation) error { return nil })
	})
}

// segmentBytes is a small segment with columns and lists.
func segmentBytes(t testing.TB) (b []byte, path string) {
	path = filepath.Join(t.TempDir(), "000001.seg")
	e := entries(40, 3, 3)
	var source entrySource
	for i := range e {
		source = append(source, &e[i])
	}
	spec := &segmentSpec{dim: 3, source: source, columns: []store.Column{{Name: "price", Kind: store.Number},
		{Name: "kind", Kind: store.Text}, {Name: "sale", Kind: store.Bool}},
		lists: &listLayout{starts: []uint32{0, 10, 40}, centers: make([]float32, 6)}}
	if err := writeSegment(context.Background(), (&Index{}).files, path, spec); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b, path
}

// useSegment does with an open segment what searches and compaction do.
func useSegment(s *segment) {
	n, _ := store.ParseFilter(`price < 50 or kind = "hat" or sale or id = "x" or path > "p"`)
	p := part{seg: s, live: s.allRows}
	v := newView(&manifest{Version: formatVersion, Dim: s.d}, newSchema(s.table.Columns), []part{p}, &tail{dim: s.d})
	v.matchingRows(n)
	q := &pendingQuery{ctx: context.Background(), q: Query{Vector: make([]float32, s.d), K: 5}}
	v.answer(context.Background(), []*pendingQuery{q})
	for i := range min(s.n, 100) {
		readMapped(s.path, func() {
			s.item(i)
			s.find(s.id(i))
		})
	}
}

func FuzzSegment(f *testing.F) {
	good, path := segmentBytes(f)
	f.Add(good, uint32(0), uint32(0))
	f.Fuzz(func(t *testing.T, b []byte, at, value uint32) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := openSegment(path, 3, 0); err == nil {
			useSegment(s)
			s.file.Close()
		}
		// With the checksums right, what is in the sections is looked at.
		b = bytes.Clone(good)
		if at := int(at) % (len(b) - 4); at >= 0 {
			binary.LittleEndian.PutUint32(b[at:], value)
		}
		if err := os.WriteFile(path, fixSums(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, bad, err := readDamagedSegment(path, mappedFile(t, path), 3, 0); err == nil {
			if len(bad) == 0 {
				useSegment(s)
			}
			readMapped(path, func() { s.checkSections(newBitmap(s.n)) })
			s.file.Close()
		}
	})
}

// fixSums is a segment with the checksums of its sections put right, as far as its
// table can be read.
func fixSums(b []byte) []byte {
	le := binary.LittleEndian
	end := len(b) - segmentFooter
	at := le.Uint64(b[end:])
	if at > uint64(end) {
		return b
	}
	table := b[at:end]
	out := bytes.Clone(b[:at])
	s := &segment{}
	text := string(table)
	if json.Unmarshal(table, &s.table) != nil {
		return b
	}
	for _, c := range s.table.Sections {
		if c.Offset > at || c.Length > at-c.Offset {
			return b
		}
		old := decimal(c.Sum)
		sum := decimal(crc32.Checksum(b[c.Offset:c.Offset+c.Length], castagnoli()))
		text = strings.Replace(text, `"crc32c":`+old+"}", `"crc32c":`+sum+"}", 1)
	}
	out = append(out, text...)
	footer := le.AppendUint64(nil, at)
	footer = le.AppendUint64(footer, uint64(len(text)))
	sum := crc32.Update(crc32.Checksum([]byte(text), castagnoli()), castagnoli(), footer)
	footer = le.AppendUint32(footer, sum)
	footer = le.AppendUint32(footer, formatVersion)
	return append(append(out, footer...), segmentMagic...)
}

func decimal(n uint32) string {
	var out []byte
	for {
		out = append([]byte{byte('0' + n%10)}, out...)
		if n /= 10; n == 0 {
			return string(out)
		}
	}
}

// Every byte of every file matters: where one is changed, or the file cut off, it is
// not opened, or Check tells; nothing panics. Repair leaves an index that is sound
// and has all that was not damaged.
func TestDamage(t *testing.T) {
	x := createSmall(t, Config{Dim: 2})
	add(t, x, entries(70, 2, 1), AddOptions{})
	e := entries(20, 2, 2)
	for i := range e {
		e[i].ID = "more " + e[i].ID
	}
	if n, err := x.Remove(t.Context(), "item 00003", "item 00004"); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := x.w.submit(&request{ctx: t.Context(), seal: true}); err != nil {
		t.Fatal(err)
	}
	add(t, x, e, AddOptions{})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(x.dir)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 9))
	for _, f := range files {
		path := filepath.Join(x.dir, f.Name())
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tries := 60
		if testing.Short() {
			tries = 5
		}
		for try := range tries {
			at := rng.IntN(len(good))
			b := bytes.Clone(good)
			if b[at] ^= 1 << rng.IntN(8); try%5 == 0 {
				b = good[:at]
			}
			checkDamaged(t, x.dir, f.Name(), b, at)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := Check(t.Context(), x.dir, CheckOptions{}); err != nil || len(c.Problems) > 0 || c.Items != 88 {
		t.Errorf("%+v, %v", c, err)
	}
}

// checkDamaged checks a copy of an index in which one file has another content.
func checkDamaged(t *testing.T, dir, name string, b []byte, at int) {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Check(t.Context(), copied, CheckOptions{})
	if name == manifestFile {
		if err == nil {
			t.Errorf("%s changed at byte %d: no error", name, at)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s changed at byte %d: %v", name, at, err)
	}
	// The end of a log may be what was never acknowledged; a gap between sections
	// means nothing.
	if filepath.Ext(name) == ".log" || len(c.Problems) == 0 {
		if ext := filepath.Ext(name); ext == ".dead" || ext == ".seg" && len(b) != 0 && !isGap(t, dir, name, at) {
			t.Errorf("%s changed at byte %d: nothing was found", name, at)
		}
	}
	if _, err := Check(t.Context(), copied, CheckOptions{Repair: true}); err != nil {
		t.Fatalf("%s changed at byte %d: repair: %v", name, at, err)
	}
	c, err = Check(t.Context(), copied, CheckOptions{})
	if err != nil || len(c.Problems) > 0 {
		t.Fatalf("%s changed at byte %d, repaired: %+v, %v", name, at, c, err)
	}
	y, err := Open(copied, Options{})
	if err != nil {
		t.Fatalf("%s changed at byte %d, repaired: %v", name, at, err)
	}
	if y.Info().Items != c.Items {
		t.Errorf("%d items, and Check counts %d", y.Info().Items, c.Items)
	}
	if err := y.Close(); err != nil {
		t.Error(err)
	}
}

// isGap reports whether a byte of a segment lies between its sections.
func isGap(t *testing.T, dir, name string, at int) bool {
	s, err := openSegment(filepath.Join(dir, name), 2, 0)
	if err != nil {
		return false // it is the copy's original that is damaged
	}
	defer s.file.Close()
	for _, c := range s.table.Sections {
		if uint64(at) >= c.Offset && uint64(at) < c.Offset+c.Length {
			return false
		}
	}
	last := s.table.Sections[len(s.table.Sections)-1]
	return uint64(at) < last.Offset+last.Length
}
