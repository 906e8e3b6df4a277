package imaging

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/image/vp8l"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// bitWriter writes bits as a lossless picture has them.
type bitWriter struct {
	b []byte
	n int
}

func (w *bitWriter) put(v, n int) {
	for i := range n {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.n/8] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
}

// one writes a tree of one symbol below 256.
func (w *bitWriter) one(symbol int) { w.put(1|1<<2|symbol<<3, 3+8) }

// even writes a tree in which 256 symbols have 8 bits, and others none.
func (w *bitWriter) even(others int) {
	w.put(0, 1)
	w.put(12-4, 4)
	for _, length := range []int{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1} { // of 17, 18, 0 to 5, 16, 6, 7, 8
		w.put(length, 3)
	}
	w.put(0, 1)
	for range 256 {
		w.put(1, 1)
	}
	w.put(0, others)
}

// grouped is a lossless picture of side x side pixels with n groups of trees.
func grouped(side, n int) []byte {
	w := new(bitWriter)
	w.put(0x2f, 8)
	w.put(side-1, 14)
	w.put(side-1, 14)
	w.put(0, 4)
	w.put(0, 1) // no transform
	w.put(0, 1) // no cache
	w.put(1, 4) // groups, for tiles of 4 x 4
	w.put(0, 1)
	// The picture of the groups: green is the lower byte of a number, red the upper one.
	tiles := (side + 3) / 4
	w.even(24)
	w.even(0)
	for range 3 {
		w.one(0)
	}
	reversed := func(v int) (r int) {
		for i := range 8 {
			r |= v >> i & 1 << (7 - i)
		}
		return r
	}
	for i := range tiles * tiles {
		w.put(reversed(i%n&255), 8)
		w.put(reversed(i%n>>8), 8)
	}
	for range n {
		w.even(24)
		for range 3 {
			w.even(0)
		}
		w.one(0)
	}
	for range side * side {
		w.put(0, 32)
	}
	return w.b
}

// treesOf returns the memory for the trees of a file.
func treesOf(t *testing.T, b []byte) int64 {
	t.Helper()
	p, err := readWebP(b)
	if err != nil {
		t.Fatal(err)
	}
	return p.treeMemory()
}

// TestTreesOfDecoded: the trees that are counted are those of the picture that is decoded, whatever chunks are around
// it.
func TestTreesOfDecoded(t *testing.T) {
	chunk := func(name string, content []byte) []byte { return appendChunk(nil, name, content) }
	many, one := chunk("VP8L", grouped(208, 2000)), chunk("VP8L", grouped(208, 1))
	packed := append([]byte{1}, grouped(208, 2000)[5:]...) // as alpha, without its header
	lossy, w, h := readFrame(t, "webp-lossy-alpha.webp")
	head := chunk("VP8X", append([]byte{1 << 4, 0, 0, 0}, bytes24(w-1, h-1)...))
	for _, c := range []struct {
		name   string
		chunks [][]byte
		groups int64
	}{
		{"a frame of a file that is not an animation", [][]byte{chunk("ANMF", frame(0, 0, 208, 208, one)), many}, 2000},
		{"two pictures", [][]byte{one, many}, 1},
		{"alpha of a lossless picture", [][]byte{chunk("ALPH", packed), one}, 1},
		{"two chunks of alpha", [][]byte{head, chunk("ALPH", packed), lossy}, 1},
		{"a header behind the picture", [][]byte{one, chunk("VP8X", make([]byte, 10)), many}, 1},
	} {
		b := riff(slices.Concat(c.chunks...))
		var dec Decoder
		var im Image
		var err error
		taken := budgettest.Allocated(func() { err = dec.Decode(t.Context(), &im, b) })
		said := treesOf(t, b)
		if want := (c.groups + 1) * groupMemory(0); err != nil || said != want || taken > said+4<<20 {
			t.Errorf("%s: %d bytes said, want %d, %d taken, %v", c.name, said, want, taken, err)
		}
	}
}

// TestTrees: a small file may have thousands of trees, whose memory is known before they are read.
func TestTrees(t *testing.T) {
	for _, n := range []int{1, 2, 300, 2600} {
		b := grouped(208, n)
		said := treesOf(t, riff(appendChunk(nil, "VP8L", b)))
		var err error
		taken := budgettest.Allocated(func() { _, err = vp8l.Decode(bytes.NewReader(b)) })
		if err != nil {
			t.Fatalf("%d groups: %v", n, err)
		}
		if said != int64(n+1)*groupMemory(0) {
			t.Errorf("%d groups: %d bytes, want %d", n, said, int64(n+1)*groupMemory(0))
		}
		if pixels := int64(4 * 208 * 208 * 2); taken > said+pixels || n > 100 && taken < said/2 {
			t.Errorf("%d groups in %d bytes: %d bytes taken, %d said", n, len(b), taken, said)
		}
	}
}

// TestTreesOfValid: what lossless pictures have before their trees is read.
func TestTreesOfValid(t *testing.T) {
	for name, groups := range map[string]int64{
		"webp.webp": -1, "webp-lossless.webp": 1, "webp-alpha.webp": 1, "webp-lossy-alpha.webp": 1,
	} {
		b := formatFile(t, name)
		want := (groups + 1) * groupMemory(0)
		if got := treesOf(t, b); got != want {
			t.Errorf("%s: %d bytes, want %d", name, got, want)
		}
		if chunks, w, h := readFrame(t, name); treesOf(t, animation(w, h, frame(0, 0, w, h, chunks))) != want {
			t.Errorf("%s as an animation: another memory than %d", name, want)
		}
	}
}

// TestWebPMemory: decoding takes no more than is said before, with the trees.
func TestWebPMemory(t *testing.T) {
	chunks, w, h := readFrame(t, "webp-lossy-alpha.webp")
	for name, b := range map[string][]byte{
		"lossy": formatFile(t, "webp.webp"), "alpha": formatFile(t, "webp-lossy-alpha.webp"),
		"lossless": formatFile(t, "webp-lossless.webp"), "animation": animation(w+1, h, frame(0, 0, w, h, chunks)),
		"groups": riff(appendChunk(nil, "VP8L", grouped(208, 1500))),
	} {
		p, err := readWebP(b)
		if err != nil {
			t.Fatal(err)
		}
		said := p.memory()
		var dec Decoder
		var im Image
		taken := budgettest.Allocated(func() { err = dec.Decode(t.Context(), &im, b) })
		if err != nil || taken > said+said/4+256<<10 {
			t.Errorf("%s: took %d bytes, said %d, %v", name, taken, said, err)
		}
	}
}

// TestTreesOfDamaged: of a file that is damaged before its trees, the most is said.
func TestTreesOfDamaged(t *testing.T) {
	b := grouped(208, 300)
	want := int64(maxGroups) * groupMemory(maxCacheBits)
	if got := losslessTrees(b[1 : len(b)*3/4]); got != 301*groupMemory(0) {
		t.Errorf("the beginning of a file: %d, want %d", got, 301*groupMemory(0))
	}
	for _, n := range []int{1, 5, 10, 100, 500} {
		if got := losslessTrees(b[1:n]); n > 5 && got != want {
			t.Errorf("cut off after %d bytes: %d, want %d", n, got, want)
		}
	}
	for i := range 2000 {
		c := bytes.Clone(b)
		c[5+i%600] ^= byte(1 + i*7)
		if got := losslessTrees(c[1:]); got < 0 || got > want {
			t.Fatalf("change %d: %d bytes", i, got)
		}
	}
}

// TestLongChunk: a chunk that says that it has 16 MB takes no memory for it.
func TestLongChunk(t *testing.T) {
	b := bytes.Clone(formatFile(t, "webp.webp"))
	at := bytes.Index(b, []byte("VP8 "))
	for _, at := range []int{4, at + 4} {
		binary.LittleEndian.PutUint32(b[at:], 1<<24-uint32(at))
	}
	var dec Decoder
	var im Image
	var err error
	if n := budgettest.Allocated(func() { err = dec.Decode(t.Context(), &im, b) }); err == nil || n > 1<<20 {
		t.Errorf("took %d bytes, %v", n, err)
	}
}
