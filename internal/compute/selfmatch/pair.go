package selfmatch

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/kindred-ml/kindred/matrix"
)

// Rows are the rows of a table of embeddings. ID, Path and Digest return the id of a row, its path with the region, and
// the digest of its content with the region. Each is nil if the table has none; a digest may be "".
type Rows struct {
	X                *matrix.Dense
	ID, Path, Digest func(i int) string
}

// Pairs says which rows of a gallery the rows of a table of queries are.
type Pairs struct {
	// Row has the row of the gallery that each query is, or -1; nil if no query is one.
	Row []int32
	// Itself counts the queries that are rows of the gallery. Renamed counts the other queries with the embedding of a
	// row, bit by bit, which has another id and path.
	Itself, Renamed int
}

// pattern is the SHA-256 of the bits of an embedding.
type pattern [sha256.Size]byte

func patternOf(row []float32, room []byte) (pattern, []byte) {
	room = room[:0]
	for _, v := range row {
		room = binary.LittleEndian.AppendUint32(room, math.Float32bits(v))
	}
	return sha256.Sum256(room), room
}

// key is what rows of both tables have in common if they are the same item. The fields that do not apply are zero.
type key struct {
	by     byte // what name is: none, an id, a path or a digest
	name   string
	bits   pattern
	hashed bool // the row of the gallery has a digest
}

const (
	byBits byte = iota
	byID
	byPath
	byDigest
)

// pairing makes the keys of rows.
type pairing struct {
	names  map[byte][2]func(i int) string // ids and paths that both tables have
	digest [2]func(i int) string          // nil unless both have digests
}

func newPairing(queries, gallery Rows) *pairing {
	p := &pairing{names: map[byte][2]func(int) string{}}
	for by, of := range map[byte][2]func(int) string{byID: {queries.ID, gallery.ID},
		byPath: {queries.Path, gallery.Path}} {
		if of[0] != nil && of[1] != nil {
			p.names[by] = of
		}
	}
	if queries.Digest != nil && gallery.Digest != nil {
		p.digest = [2]func(int) string{queries.Digest, gallery.Digest}
	}
	return p
}

// digestOf returns the digest of a row of the queries (side 0) or of the gallery (side 1), "" if it is not known.
func (p *pairing) digestOf(side, i int) string {
	if p.digest[side] == nil {
		return ""
	}
	return p.digest[side](i)
}

// keys returns the keys of a row with some bits, the best first. hashed is as in key.
func (p *pairing) keys(side, i int, bits pattern, hashed bool) (out []key) {
	for _, by := range []byte{byID, byPath} {
		if of, ok := p.names[by]; ok {
			out = append(out, key{by, of[side](i), bits, hashed})
		}
	}
	if len(p.names) == 0 {
		out = append(out, key{bits: bits, hashed: hashed})
	}
	return out
}

// Pair finds the rows of the gallery that the queries are, each at most once. Where the digests of both are known, they
// decide. Otherwise the embeddings are equal in every bit and, if both tables have ids or both have paths, one of these
// is equal too; without names the k-th query with some embedding is the k-th such row. Names alone do not decide,
// because two folders may have an item of the same name.
func Pair(queries, gallery Rows) Pairs {
	if queries.X.Cols != gallery.X.Cols {
		return Pairs{}
	}
	p := newPairing(queries, gallery)
	var room []byte
	wanted := make(map[pattern]bool, queries.X.Rows) // whether the gallery has it
	of := make([]pattern, queries.X.Rows)
	for i := range of {
		of[i], room = patternOf(queries.X.Row(i), room)
		wanted[of[i]] = false
	}
	rows := map[key][]int32{}
	for j := range gallery.X.Rows {
		digest := p.digestOf(1, j)
		if digest != "" {
			k := key{by: byDigest, name: digest}
			rows[k] = append(rows[k], int32(j))
		}
		var bits pattern
		bits, room = patternOf(gallery.X.Row(j), room)
		if _, ok := wanted[bits]; !ok {
			continue
		}
		wanted[bits] = true
		for _, k := range p.keys(1, j, bits, digest != "") {
			rows[k] = append(rows[k], int32(j))
		}
	}
	out := Pairs{Row: make([]int32, queries.X.Rows)}
	taken := make(map[int32]bool)
	for i := range out.Row {
		list := p.keys(0, i, of[i], false)
		if digest := p.digestOf(0, i); digest != "" {
			list = append([]key{{by: byDigest, name: digest}}, list...)
		} else {
			list = append(list, p.keys(0, i, of[i], true)...)
		}
		out.Row[i] = firstFree(rows, list, taken)
		switch {
		case out.Row[i] >= 0:
			taken[out.Row[i]] = true
			out.Itself++
		case len(p.names) > 0 && wanted[of[i]]:
			out.Renamed++
		}
	}
	if out.Itself == 0 {
		out.Row = nil
	}
	return out
}

// firstFree returns the first row of some keys that is not taken, or -1.
func firstFree(rows map[key][]int32, keys []key, taken map[int32]bool) int32 {
	for _, k := range keys {
		list := rows[k]
		for len(list) > 0 && taken[list[0]] {
			list = list[1:]
		}
		if rows[k] = list; len(list) > 0 {
			return list[0]
		}
	}
	return -1
}
