package natsserver

import (
	"encoding/binary"
	"slices"
	"testing"
)

// written is a record as the server writes it.
func written(key []byte, seq uint64, subject, header, body string) []byte {
	le := binary.LittleEndian
	size := uint32(headBytes + len(subject) + len(header) + len(body) + sumBytes)
	if header != "" {
		size = (size + 4) | hasHeader
	}
	b := le.AppendUint32(nil, size)
	b = le.AppendUint64(b, seq)
	b = le.AppendUint64(b, 1_700_000_000_000_000_000)
	b = append(le.AppendUint16(b, uint16(len(subject))), subject...)
	if header != "" {
		b = le.AppendUint32(b, uint32(len(header)))
	}
	b = append(append(b, header...), body...)
	return append(b, recordSum(key, b[4:20], []byte(subject), []byte(header+body))...)
}

// Whatever bit of a block is another, the record that it is in is damaged: no sum covers the lengths.
// Of a part of a file the subject may be another one, so that the file lacks a part.
func TestEveryBitOfABlock(t *testing.T) {
	key := keyOf("KV_kindred-1")
	const job = "0123456789abcdef0123456789abcdef"
	var block []byte
	for i, r := range [][3]string{
		{"$KV.kindred.job." + job, "NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: 0\r\n\r\n",
			`{"job":{"kind":"chain"}}`},
		{"kindred.todo.lane." + job, "", job},
		{"$KV.kindred.state." + job, "NATS/1.0\r\nKV-Operation: PURGE\r\nNats-Rollup: sub\r\n\r\n", ""},
		{"$O.kindred.C.ABCDEFGHIJKLMNOPQRSTUVWXYZ", "", "\x00\x01two\r\n\r\n{\xff"},
		{"$O.kindred.M.eA==", "NATS/1.0\r\nNats-Rollup: sub\r\n\r\n",
			`{"nuid":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","chunks":1}`},
		{"", "", ""},
	} {
		block = append(block, written(key, uint64(i+1), r[0], r[1], r[2])...)
	}
	whole, damaged := parseBlock(block, key)
	if len(whole) != 6 || len(damaged) > 0 {
		t.Fatalf("%d whole, damaged %v", len(whole), damaged)
	}
	for at := range block {
		for bit := range 8 {
			b := slices.Clone(block)
			b[at] ^= 1 << bit
			now, damaged := parseBlock(b, key)
			in := slices.IndexFunc(whole, func(r record) bool { return r.from <= at && at < r.to })
			switch {
			case len(damaged) == 1 && damaged[0].from == whole[in].from && len(now) == len(whole)-1:
			case in == 3 && len(damaged) == 0 && now[in].subject != whole[in].subject:
			default:
				t.Errorf("byte %d (%d of record %d), bit %d: %d whole, damaged %v", at, at-whole[in].from, in, bit,
					len(now), damaged)
			}
		}
	}
}
