package itself

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/kindred-ml/kindred/mat"
)

// Rows are the rows of a table of embeddings. ID and Path return the id and the path of a row; each is nil if the
// table has none.
type Rows struct {
	X        *mat.Dense
	ID, Path func(i int) string
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

// Pair finds the rows of the gallery that the queries are, each at most once. The embeddings of both are equal in every
// bit. If both tables have ids or both have paths, one of these is equal too; otherwise the k-th query with some
// embedding is the k-th such row. Names alone do not decide, because two folders may have an item of the same name.
func Pair(queries, gallery Rows) Pairs {
	if queries.X.Cols != gallery.X.Cols {
		return Pairs{}
	}
	type key struct {
		bits pattern
		kind byte // 0: any row, 1: by id, 2: by path
		name string
	}
	names := [][2]func(int) string{{queries.ID, gallery.ID}, {queries.Path, gallery.Path}}
	named := false
	for _, n := range names {
		named = named || n[0] != nil && n[1] != nil
	}
	keys := func(side, i int, bits pattern) (out []key) {
		for k, n := range names {
			if n[0] != nil && n[1] != nil {
				out = append(out, key{bits, byte(k + 1), n[side](i)})
			}
		}
		if !named {
			out = append(out, key{bits: bits})
		}
		return out
	}
	var room []byte
	wanted := make(map[pattern]bool, queries.X.Rows)
	of := make([]pattern, queries.X.Rows)
	for i := range of {
		of[i], room = patternOf(queries.X.Row(i), room)
		wanted[of[i]] = false
	}
	rows := map[key][]int32{}
	for j := range gallery.X.Rows {
		var bits pattern
		bits, room = patternOf(gallery.X.Row(j), room)
		if _, ok := wanted[bits]; !ok {
			continue
		}
		wanted[bits] = true
		for _, k := range keys(1, j, bits) {
			rows[k] = append(rows[k], int32(j))
		}
	}
	p := Pairs{Row: make([]int32, queries.X.Rows)}
	taken := make(map[int32]bool)
	for i := range p.Row {
		p.Row[i] = -1
		for _, k := range keys(0, i, of[i]) {
			list := rows[k]
			for len(list) > 0 && taken[list[0]] {
				list = list[1:]
			}
			if rows[k] = list; len(list) > 0 {
				p.Row[i] = list[0]
				break
			}
		}
		switch {
		case p.Row[i] >= 0:
			taken[p.Row[i]] = true
			p.Itself++
		case named && wanted[of[i]]:
			p.Renamed++
		}
	}
	if p.Itself == 0 {
		p.Row = nil
	}
	return p
}
