package data

import (
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging/prepare"
)

// hugePNG announces 60,000 x 60,000 pixels.
func hugePNG() []byte {
	chunk := append([]byte("IHDR"), 0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60, 8, 2, 0, 0, 0)
	b := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	b = append(b, chunk...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(chunk))
}

// A folder of hostile files ends with a message that names the first bad one, or
// is read without them; it never hangs or crashes.
func TestHostileFolder(t *testing.T) {
	good := gradient(t, 9, 7)
	dir := layoutFiles{
		"a/good.png": good, "b/good.png": good,
		"a/empty.jpg": {}, "a/cut.png": good[:len(good)-20], "a/huge.png": hugePNG(),
		"b/text.jpg": []byte("hello"), "b/zeros.gif": make([]byte, 500),
		"b/riff.webp": []byte("RIFF\xff\xff\xff\xffWEBPVP8L"),
	}.folder(t)
	for link, target := range map[string]string{"a/loop": "..", "b/ring.png": "ring.png", "b/null.png": os.DevNull} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, dir)
	p := &Part{Data: d}
	for i := range d.Len() {
		p.Index = append(p.Index, i)
	}
	p.Label, p.Fine = make([]int64, d.Len()), make([]int64, d.Len())
	cfg := LoaderConfig{Image: prepare.Config{Width: 4, Height: 4}}
	read := func(skip bool) (names []string, skipped []Skipped, err error) {
		cfg.Strict = !skip
		l := newLoader(t, p, cfg)
		s := l.Sequential(t.Context(), 3)
		defer s.Close()
		for {
			b, err := s.Next()
			if err == io.EOF {
				return names, l.Stats().Skipped, nil
			}
			if err != nil {
				return nil, nil, err
			}
			for _, pos := range b.Pos {
				names = append(names, filepath.Base(d.Names[pos]))
			}
		}
	}
	if _, _, err := read(false); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("fatal: %v", err)
	}
	names, skipped, err := read(true)
	if err != nil || len(names) < 2 || slices.ContainsFunc(names, func(n string) bool { return n != "good.png" }) {
		t.Errorf("read %q, %v", names, err)
	}
	said := ""
	for _, e := range skipped {
		said += e.Err.Error() + "\n"
	}
	for _, want := range []string{"empty.jpg: empty file", "cut.png: damaged PNG",
		"huge.png: PNG of 60000 x 60000 pixels", "text.jpg: not an image", "zeros.gif: nothing but zeros",
		"riff.webp: damaged WebP"} {
		if !strings.Contains(said, want) {
			t.Errorf("no message %q in\n%s", want, said)
		}
	}
}

// gradient is a PNG in colour.
func gradient(t testing.TB, w, h int) []byte {
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			im.SetRGBA(x, y, color.RGBA{uint8(9 * x), uint8(8 * y), uint8(x * y), 255})
		}
	}
	return encodePNG(t, im)
}

// The bits of augmented batches do not depend on the number of workers.
func TestLoaderIsDeterministic(t *testing.T) {
	l := layoutFiles{}
	for i := range 12 {
		l["c/"+string(rune('a'+i))+".png"] = gradient(t, 20+i, 30-i)
	}
	d := open(t, l.folder(t))
	p := &Part{Data: d, Label: make([]int64, 12), Fine: make([]int64, 12)}
	for i := range 12 {
		p.Index = append(p.Index, i)
	}
	batches := [][]int{{0, 1, 2, 3, 4, 5, 6}, {7, 7, 8, 9, 0}, {11, 10}}
	augment, err := prepare.ParseAugment("strong")
	if err != nil {
		t.Fatal(err)
	}
	run := func(workers, ahead, epoch int, seed uint64) (out []float32) {
		ld := newLoader(t, p, LoaderConfig{Image: prepare.Config{Width: 16, Height: 16, Augment: augment}, Seed: seed,
			Workers: workers, Prefetch: ahead})
		s := ld.Epoch(t.Context(), epoch, batches)
		defer s.Close()
		for {
			b, err := s.Next()
			if err == io.EOF {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, b.Pixels...)
		}
	}
	want := run(1, 1, 3, 5)
	for _, workers := range []int{2, 3, 8} {
		if !slices.Equal(run(workers, workers, 3, 5), want) {
			t.Errorf("%d workers change the result", workers)
		}
	}
	if slices.Equal(run(1, 1, 4, 5), want) || slices.Equal(run(1, 1, 3, 6), want) {
		t.Error("another epoch or seed gives the same result")
	}
	size := 16 * 16 * 3
	if twice := want[7*size:]; slices.Equal(twice[:size], twice[size:2*size]) {
		t.Error("an image drawn twice in a batch is twice the same")
	}
}
