package index

import (
	"fmt"
	"hash/crc32"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/nearest"
)

// guard compares the blocks of a segment with their checksums, each once, before its rows
// or codes decide anything: most of a segment is not read as it is opened. It is a
// nearest.Guard. What calls it runs within touch.
type guard struct {
	s           *segment
	rows, codes seen
}

// seen is the blocks that are known to be as they were written.
type seen []atomic.Uint64

func newSeen(blocks int) seen { return make(seen, (blocks+63)/64) }

func (s seen) has(b int) bool { return s[b>>6].Load()>>(b&63)&1 != 0 }

func (s seen) add(b int) { s[b>>6].Or(1 << (b & 63)) }

func newGuard(s *segment) *guard {
	blocks := nearest.Blocks(s.n)
	return &guard{s: s, rows: newSeen(blocks), codes: newSeen(blocks)}
}

// Rows compares a block of vectors.
func (g *guard) Rows(b int) error {
	if g.rows.has(b) {
		return nil
	}
	lo, hi := b*nearest.Block, min((b+1)*nearest.Block, g.s.n)
	return g.compare(g.rows, b, "vectors", bytesOf(g.s.x[lo*g.s.d:hi*g.s.d]), g.s.sums)
}

// Codes compares a block of codes. Those of older versions, which have no checksums of
// their own, are sound: the segment was opened.
func (g *guard) Codes(b int) error {
	if g.s.version < 3 || g.codes.has(b) {
		return nil
	}
	size := nearest.CodeBytes(nearest.Block, g.s.d)
	code := g.s.codes.Bytes
	if nearest.Wide(g.s.d) {
		code = bytesOf(g.s.codes.Ints)
	}
	return g.compare(g.codes, b, "codes", code[b*size:min((b+1)*size, len(code))], g.s.codeSums)
}

func (g *guard) compare(known seen, b int, section string, content []byte, sums []uint32) error {
	if b >= len(sums) || crc32.Checksum(content, castagnoli()) != sums[b] {
		lo, hi := b*nearest.Block, min((b+1)*nearest.Block, g.s.n)
		return &DamageError{g.s.path, fmt.Sprintf("block %d of its %s, of rows %d to %d, has another checksum", b,
			section, lo, hi-1)}
	}
	known.add(b)
	return nil
}

// allRows compares every block of vectors that has a row of a set.
func (g *guard) allRows(live bitmap) error {
	const words = nearest.Block / 64
	for b := range nearest.Blocks(g.s.n) {
		if live[b*words:min((b+1)*words, len(live))].count() == 0 {
			continue
		}
		if err := g.Rows(b); err != nil {
			return err
		}
	}
	return nil
}
