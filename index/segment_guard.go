package index

import (
	"fmt"
	"hash/crc32"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/compute/exact/nearest"
)

// guard compares the blocks of a segment with their checksums, each once, before their rows
// or codes are used: most of a segment is not read when it is opened. It is a
// nearest.Guard. Its callers run within touch.
type guard struct {
	s           *segment
	rows, codes comparedBlocks
}

// comparedBlocks is a set of blocks whose checksums were found to be right.
type comparedBlocks []atomic.Uint64

func newComparedBlocks(blocks int) comparedBlocks { return make(comparedBlocks, (blocks+63)/64) }

func (s comparedBlocks) has(b int) bool { return s[b>>6].Load()>>(b&63)&1 != 0 }

func (s comparedBlocks) add(b int) { s[b>>6].Or(1 << (b & 63)) }

// sumBytes is the approximate number of bytes of vectors that a checksum covers. The first
// use of a row has to read as many.
const sumBytes = 8 << 10

// rowsPerSum returns the number of vectors of dimension d that a checksum covers: a power of two, 1 to 64.
func rowsPerSum(d int) int {
	n := 1
	for n < 64 && 2*n*4*d <= sumBytes {
		n *= 2
	}
	return n
}

func newGuard(s *segment) *guard {
	return &guard{s: s, rows: newComparedBlocks(s.numSums()), codes: newComparedBlocks(nearest.Blocks(s.n))}
}

// numSums returns the number of checksums of the vectors.
func (s *segment) numSums() int { return (s.n + s.group - 1) / s.group }

// Rows compares the vectors of the rows lo..hi-1.
func (g *guard) Rows(lo, hi int) error {
	s := g.s
	for k := lo / s.group; k*s.group < hi; k++ {
		if g.rows.has(k) {
			continue
		}
		first, end := k*s.group, min((k+1)*s.group, s.n)
		if err := g.compare(g.rows, k, "vectors", first, end, bytesOf(s.x[first*s.d:end*s.d]), s.sums); err != nil {
			return err
		}
	}
	return nil
}

// Codes compares a block of codes.
func (g *guard) Codes(b int) error {
	if g.codes.has(b) {
		return nil
	}
	size := nearest.CodeBytes(nearest.Block, g.s.d)
	code := g.s.codes.Bytes
	if nearest.IsWide(g.s.d) {
		code = bytesOf(g.s.codes.Ints)
	}
	return g.compare(g.codes, b, "codes", b*nearest.Block, min((b+1)*nearest.Block, g.s.n),
		code[b*size:min((b+1)*size, len(code))], g.s.codeSums)
}

// compare compares the k-th block of a section with its checksum. The block has the rows lo..hi-1.
func (g *guard) compare(known comparedBlocks, k int, section string, lo, hi int, content []byte, sums []uint32) error {
	if k >= len(sums) || crc32.Checksum(content, castagnoli()) != sums[k] {
		return &DamageError{g.s.path, fmt.Sprintf("the checksum of block %d of its %s (rows %d to %d) is wrong", k,
			section, lo, hi-1)}
	}
	known.add(k)
	return nil
}

// compareRows compares the vectors of a set of rows.
func (g *guard) compareRows(live bitmap) (err error) {
	live.visitRows(func(r int) bool {
		err = g.Rows(r, r+1)
		return err == nil
	})
	return err
}
