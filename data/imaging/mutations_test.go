package imaging

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/hostile"
)

// boundedFormats are those that a Decoder decodes in plain Go.
func boundedFormats(t testing.TB) []*hostile.Format {
	var all []*hostile.Format
	for _, made := range []struct {
		extension string
		of        func(...[]byte) *hostile.Format
	}{
		{"jpg", hostile.JPEG}, {"png", hostile.PNG}, {"gif", hostile.GIF}, {"webp", hostile.WebP}, {"bmp", hostile.BMP},
		{"p[bgp]m", hostile.PNM},
	} {
		names, err := filepath.Glob(filepath.Join("testdata", "formats", "*."+made.extension))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		var files [][]byte
		for _, name := range names {
			if b := formatFile(t, filepath.Base(name)); len(b) < 50_000 {
				files = append(files, b)
			}
		}
		switch made.extension {
		case "webp":
			chunks, w, h := readFrame(t, "webp-lossy-alpha.webp")
			files = append(files, animation(w+2, h+1, frame(2, 0, w, h, chunks)))
		case "gif":
			files = append(files, bytes.Replace(files[0], []byte(",\x00\x00\x00\x00"), []byte(",\x04\x00\x02\x00"), 1))
		}
		f := made.of(files...)
		f.Read = readBounded
		all = append(all, f)
	}
	var files [][]byte
	for _, b := range tiffFiles(t) {
		if new(Decoder).Decode(context.Background(), new(Image), b) == nil {
			files = append(files, b)
		}
	}
	slices.SortFunc(files, bytes.Compare)
	for _, order := range []hostile.Order{binary.LittleEndian, binary.BigEndian} {
		f := hostile.TIFF(order, files...)
		f.Read = readBounded
		all = append(all, f)
	}
	return all
}

// readBounded decodes a file that says that it fits in 16 MB. The work is counted in bytes of the
// result, as the header has its size.
func readBounded(b []byte) (hostile.Cost, error) {
	if IsSandboxed(b) { // those have tests of their own
		return hostile.Cost{}, errors.New("sandboxed")
	}
	h, err := ReadHeader(context.Background(), bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return hostile.Cost{}, err
	}
	cost := hostile.Cost{Memory: h.Bytes(1), MostWork: 3 * int64(h.W) * int64(h.H)}
	if cost.Memory > 16<<20 {
		return hostile.Cost{}, fmt.Errorf("%d bytes of memory", cost.Memory)
	}
	ReadEXIF(b)
	d, im := Decoder{Smooth: true}, Image{}
	err = d.Decode(context.Background(), &im, b)
	cost.Work = int64(len(im.Pix))
	return cost, err
}

func TestMutations(t *testing.T) {
	for _, f := range boundedFormats(t) {
		t.Run(f.Name, func(t *testing.T) { hostile.Try(t, f) })
	}
}

func FuzzJPEG(f *testing.F)       { hostile.Fuzz(f, boundedFormats(f)[0]) }
func FuzzPNG(f *testing.F)        { hostile.Fuzz(f, boundedFormats(f)[1]) }
func FuzzGIF(f *testing.F)        { hostile.Fuzz(f, boundedFormats(f)[2]) }
func FuzzWebPChunks(f *testing.F) { hostile.Fuzz(f, boundedFormats(f)[3]) }
func FuzzBMP(f *testing.F)        { hostile.Fuzz(f, boundedFormats(f)[4]) }
func FuzzPNM(f *testing.F)        { hostile.Fuzz(f, boundedFormats(f)[5]) }
func FuzzTIFF(f *testing.F)       { hostile.Fuzz(f, boundedFormats(f)[6]) }
