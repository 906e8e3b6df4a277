package index

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/compute/exact/nearest"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// oneSegment is an index of one segment of a few blocks, closed, with the path of it.
func oneSegment(t *testing.T, dim int, distance eval.Distance, lists int) (x *Index, path string) {
	t.Helper()
	x = create(t, Config{Dim: dim, Distance: distance})
	add(t, x, entries(3*nearest.Block+100, dim, 5), AddOptions{})
	if err := x.Compact(t.Context(), CompactOptions{NumLists: lists, Recall: 0.5}); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(x.dir, x.w.m.Segments[0].File)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return x, path
}

// answers is what queries find.
func answers(t *testing.T, x *Index, dim int) (out []string, errs []error) {
	t.Helper()
	for _, q := range entries(12, dim, 6) {
		for _, exact := range []bool{false, true} {
			r, err := x.Search(t.Context(), Query{Vector: q.Vector, K: 5, Exact: exact})
			text := ""
			if err == nil {
				for _, h := range r.Hits {
					text += fmt.Sprintf("%s %g ", h.ID, h.Distance)
				}
			}
			out, errs = append(out, text), append(errs, err)
		}
	}
	return out, errs
}

// sectionOf is where a section of a segment is.
func sectionOf(t *testing.T, x *Index, path, name string) section {
	t.Helper()
	s, err := openSegment(path, x.dim, x.view.m.Distance)
	if err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	c, ok := (&sectionReader{s: s}).findSection(name)
	if !ok {
		t.Fatalf("%s has no section %s", path, name)
	}
	return c
}

// Vectors or codes that are not as they were written never decide an answer: it is the
// true one, or an error that names the file and the block.
func TestDamagedBlocksDecideNothing(t *testing.T) {
	for _, l := range []simd.Level{simd.Generic, simd.AVX512} {
		for _, c := range []struct {
			dim, lists int
			distance   eval.Distance
		}{{64, 0, eval.Euclidean}, {8, 0, eval.Cosine}, {64, 6, eval.Dot}, {8, 6, eval.Euclidean}} {
			t.Run(fmt.Sprintf("%v, %d, %v, %d lists", l, c.dim, c.distance, c.lists), func(t *testing.T) {
				defer simd.Force(l)()
				testDamagedBlocks(t, c.dim, c.distance, c.lists)
			})
		}
	}
}

func testDamagedBlocks(t *testing.T, dim int, distance eval.Distance, lists int) {
	x, path := oneSegment(t, dim, distance, lists)
	x, err := Open(x.dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	truth, _ := answers(t, x, dim)
	good := readFile(t, path)
	places := []section{sectionOf(t, x, path, "vectors"), sectionOf(t, x, path, "codes")}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, uint64(dim)))
	tries, told := 24, 0
	if testing.Short() {
		tries = 8
	}
	for try := range tries {
		b, in := bytes.Clone(good), places[try%2]
		what := fmt.Sprintf("a bit of %s", in.Name)
		if try%4 < 2 {
			at := in.Offset + uint64(rng.IntN(int(in.Length)))
			b[at] ^= 0x40 // of the exponent or the sign's neighbour in every fourth byte
		} else {
			what = fmt.Sprintf("4 KiB of %s", in.Name)
			at := in.Offset + uint64(rng.IntN(int(in.Length)))&^4095
			clear(b[at:min(at+4096, in.Offset+in.Length)])
		}
		writeFile(t, path, b)
		x, err := Open(x.dir, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		got, errs := answers(t, x, dim)
		for i := range got {
			var damage *DamageError
			switch {
			case errs[i] == nil && got[i] != truth[i]:
				t.Errorf("%s damaged: query %d found %s: want %s", what, i, got[i], truth[i])
			case errors.As(errs[i], &damage):
				told++
				if text := errs[i].Error(); damage.Path != path || !strings.Contains(text, "block ") ||
					!strings.Contains(text, "index check") {
					t.Errorf("%s damaged: %v", what, errs[i])
				}
			case errs[i] != nil:
				t.Error(errs[i])
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if told == 0 {
		t.Error("no damage was found: the test shows nothing")
	}
}

// A damaged vector is not given away, nor written anew as if it were sound.
func TestDamagedVectorsAreNotPassedOn(t *testing.T) {
	x, path := oneSegment(t, 8, eval.Euclidean, 0)
	good := readFile(t, path)
	y, err := Open(x.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := sectionOf(t, y, path, "vectors")
	if err := y.Close(); err != nil {
		t.Fatal(err)
	}
	b := bytes.Clone(good)
	b[in.Offset+5] ^= 1 // of the first block
	writeFile(t, path, b)
	y, err = Open(x.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	var damage *DamageError
	if _, _, err := y.Get("item 00003"); !errors.As(err, &damage) {
		t.Errorf("one item: %v", err)
	}
	if _, ok, err := y.Get("item 01000"); !ok || err != nil {
		t.Errorf("an item of another block: %v, %v", ok, err)
	}
	n := 0
	for _, err = range y.All() {
		n++
	}
	if n != 1 || !errors.As(err, &damage) {
		t.Errorf("all: %v after %d", err, n)
	}
	if _, err := y.List(nil, "", 5); !errors.As(err, &damage) {
		t.Errorf("a list: %v", err)
	}
	for _, lists := range []int{0, 3} {
		if err := y.Compact(t.Context(), CompactOptions{NumLists: lists}); !errors.As(err, &damage) {
			t.Errorf("compacted in %d lists: %v", lists, err)
		}
	}
	// Its rows removed, the block is of no consequence.
	var ids []string
	for i := range rowsPerSum(8) {
		ids = append(ids, fmt.Sprintf("item %05d", i))
	}
	if n, err := y.Remove(t.Context(), ids...); n != len(ids) || err != nil {
		t.Fatal(n, err)
	}
	if err := y.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Error(err)
	}
	if c, err := Check(t.Context(), y.dir, CheckOptions{}); err != nil || len(c.Problems) > 0 {
		t.Errorf("%v, %+v", err, c)
	}
}
