package jpeg

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/hostile"
)

// format is JPEG, decoded by Decode. Its work are the samples that the scans pass over.
func format(t testing.TB) *hostile.Format {
	names, err := filepath.Glob(filepath.Join("testdata", "*.jpg"))
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	var files [][]byte
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readBounded(b); err == nil {
			files = append(files, b)
		}
	}
	f := hostile.JPEG(files...)
	f.Read = readBounded
	return f
}

func readBounded(b []byte) (hostile.Cost, error) {
	k, ok := ReadHeader(b)
	if !ok || k.UnsupportedReason() != "" {
		return hostile.Cost{}, ErrUnsupported
	}
	planned := k.CountPasses(b)
	if err := planned.Check(); err != nil {
		return hostile.Cost{}, err
	}
	cost := hostile.Cost{Memory: k.Bytes(1), MostWork: planned.Samples}
	if cost.Memory > 32<<20 {
		return hostile.Cost{}, fmt.Errorf("%d bytes of memory", cost.Memory)
	}
	d := Decoder{Smooth: true}
	p, err := decode(&d, b)
	cost.Work = d.passes.Samples
	if err == nil && (p.w != k.W || p.h != k.H) {
		panic(fmt.Sprintf("%d x %d pixels of %d x %d", p.w, p.h, k.W, k.H))
	}
	return cost, err
}

func TestMutations(t *testing.T) { hostile.Try(t, format(t)) }

func FuzzStructure(f *testing.F) { hostile.Fuzz(f, format(f)) }

// TestPasses: the work of a file is refused by its markers and while it is decoded, and depends on
// both its scans and its sides.
func TestPasses(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "pillow_420p.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	k, _ := ReadHeader(b)
	passes := k.CountPasses(b)
	var d Decoder
	if _, err := decode(&d, b); err != nil || passes != d.passes || passes.Check() != nil || passes.Scans < 5 {
		t.Fatalf("%+v, decoded %+v, %v, %v", passes, d.passes, passes.Check(), err)
	}
	if full := int64(k.W) * int64(k.H) * 3 * int64(passes.Scans); passes.Samples < full/8 || passes.Samples > 2*full {
		t.Errorf("%d samples of %d", passes.Samples, full)
	}
	// The last scan, once more and often.
	at := bytes.LastIndex(b, []byte{0xff, sos})
	scan := b[at : len(b)-2]
	for n, ok := range map[int]bool{1: true, maxScans - passes.Scans: true, maxScans - passes.Scans + 1: false} {
		long := append(bytes.Clone(b[:len(b)-2]), bytes.Repeat(scan, n)...)
		long = append(long, 0xff, eoi)
		if got := k.CountPasses(long); got.Scans != passes.Scans+n || (got.Check() == nil) != ok {
			t.Errorf("%d scans more: %+v, %v", n, got, got.Check())
		}
		_, _ = decode(&d, long)
		if d.passes.Scans > maxScans+1 {
			t.Errorf("%d scans more: %d are decoded", n, d.passes.Scans)
		}
	}
	k.W, k.H = 1<<16-1, 1<<16-1
	if err := k.CountPasses(b).Check(); err == nil {
		t.Error("a picture of 4 G pixels in several scans is allowed")
	}
}
