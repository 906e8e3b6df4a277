package bombs

import (
	"bytes"
	"slices"

	"github.com/kindred-ml/kindred/internal/test/heif"
)

// sequenceFiles returns films of AVIF whose tables of samples are hostile.
func sequenceFiles() []File {
	one := func(name string, n int64) []byte { return heif.Full(name, 0, 0, encodeNumbers(4, 1, 4, n, 4, 1)) }
	const samples = 100_000
	stsc := heif.Full("stsc", 0, 0, encodeNumbers(4, 1, 4, 1, 4, samples, 4, 1))
	constant := heif.Full("stsz", 0, 0, encodeNumbers(4, 1, 4, samples))
	tables := func(stts, stsc, stsz []byte, stco func(data int) []byte) func(data int) []byte {
		return func(data int) []byte { return slices.Concat(stts, stsc, stsz, stco(data)) }
	}
	stco := func(data int) []byte { return heif.Full("stco", 0, 0, encodeNumbers(4, 1, 4, int64(data))) }
	empty := func(name string) []byte { return heif.Full(name, 0, 0, encodeNumbers(4, maxUint32)) }
	var files []File
	for _, c := range []struct {
		name   string
		tables func(data int) []byte
	}{
		{"constant", tables(one("stts", samples), stsc, constant, stco)},
		{"constant-most", tables(one("stts", maxUint32), heif.Full("stsc", 0, 0,
			encodeNumbers(4, 1, 4, 1, 4, maxUint32, 4, 1)),
			heif.Full("stsz", 0, 0, encodeNumbers(4, 1, 4, maxUint32)), stco)},
		{"stsz-count", tables(one("stts", samples), stsc, heif.Full("stsz", 0, 0,
			encodeNumbers(4, 0, 4, maxUint32)), stco)},
		{"stco-count", tables(one("stts", samples), stsc, constant, func(int) []byte { return empty("stco") })},
		{"stsc-count", tables(one("stts", samples), empty("stsc"), constant, stco)},
		{"stts-count", tables(empty("stts"), stsc, constant, stco)},
		{"stss-count", tables(append(one("stts", samples), empty("stss")...), stsc, constant, stco)},
		{"chunks", tables(one("stts", samples), stsc, constant, func(data int) []byte {
			return heif.Full("stco", 0, 0, encodeNumbers(4, 500_000),
				bytes.Repeat(encodeNumbers(4, int64(data)), 500_000))
		})},
		{"runs", tables(one("stts", samples), heif.Full("stsc", 0, 0, encodeNumbers(4, 300_000),
			repeat(300_000, func(i int) []byte { return encodeNumbers(4, int64(i+1), 4, maxUint32, 4, 1) })),
			constant, stco)},
		{"times", tables(heif.Full("stts", 0, 0, encodeNumbers(4, 500_000),
			bytes.Repeat(encodeNumbers(4, maxUint32, 4, maxUint32), 500_000)),
			stsc, constant, stco)},
		{"tables", tables(bytes.Repeat(one("stts", samples), 1000), bytes.Repeat(stsc, 1000),
			bytes.Repeat(constant, 1000), func(data int) []byte { return bytes.Repeat(stco(data), 1000) })},
	} {
		files = append(files, File{"film-" + c.name + ".avif", func() []byte { return newFilm(1, c.tables) }})
	}
	return append(files,
		File{"film-tracks.avif", func() []byte {
			return newFilm(5000, tables(one("stts", 1), heif.Full("stsc", 0, 0, encodeNumbers(4, 1, 4, 1, 4, 1, 4, 1)),
				heif.Full("stsz", 0, 0, encodeNumbers(4, 0, 4, 1, 4, 1010)), stco))
		}},
	)
}

// newFilm returns a file of tracks with tables of samples.
func newFilm(tracks int, tables func(data int) []byte) []byte {
	c := newAVIF()
	head := heif.Box("ftyp", []byte("avis\x00\x00\x00\x00avismsf1iso8"))
	matrix := encodeNumbers(4, 1<<16, 4, 0, 4, 0, 4, 0, 4, 1<<16, 4, 0, 4, 0, 4, 0, 4, 1<<30)
	entry := heif.Box("av01", encodeNumbers(6, 0, 2, 1, 8, 0, 8, 0, 2, 96, 2, 64, 4, 72<<16, 4, 72<<16, 4, 0, 2, 1),
		make([]byte, 32), encodeNumbers(2, 24, 2, 0xffff), slices.Concat(c.properties[1:]...))
	for data := 0; ; {
		track := heif.Box("trak",
			heif.Full("tkhd", 0, 1, encodeNumbers(4, 0, 4, 0, 4, 1, 4, 0, 4, 1, 8, 0, 2, 0, 2, 0, 2, 0, 2, 0), matrix,
				encodeNumbers(4, 96<<16, 4, 64<<16)),
			heif.Box("mdia", heif.Full("mdhd", 0, 0, encodeNumbers(4, 0, 4, 0, 4, 1, 4, 1, 4, 0)),
				heif.Full("hdlr", 0, 0, encodeNumbers(4, 0), []byte("pict"), make([]byte, 13)),
				heif.Box("minf", heif.Full("vmhd", 0, 1, make([]byte, 8)),
					heif.Box("stbl", heif.Full("stsd", 0, 0, encodeNumbers(4, 1), entry), tables(data)))))
		mvhd := heif.Full("mvhd", 0, 0, encodeNumbers(4, 0, 4, 0, 4, 1, 4, 1, 4, 1<<16, 2, 0x100, 2, 0, 8, 0), matrix,
			make([]byte, 24), encodeNumbers(4, 2))
		moov := heif.Box("moov", mvhd, bytes.Repeat(track, tracks))
		if n := len(head) + len(moov) + 8; n != data {
			data = n
			continue
		}
		return slices.Concat(head, moov, heif.Box("mdat", c.content))
	}
}
