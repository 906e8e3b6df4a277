package imaging

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/format/isobmff"
	"github.com/kindred-ml/kindred/internal/test/heif"
)

// decodeFile decodes a file.
func decodeFile(t *testing.T, b []byte, d *Decoder) *Image {
	t.Helper()
	im := new(Image)
	if err := d.Decode(t.Context(), im, b); err != nil {
		t.Fatal(err)
	}
	return im
}

// pixelDifference returns the mean and the largest difference of the values of two pictures.
func pixelDifference(t *testing.T, a, b *Image) (mean, most float64) {
	t.Helper()
	if a.W != b.W || a.H != b.H || a.C != b.C {
		t.Fatalf("%d x %d x %d and %d x %d x %d", a.W, a.H, a.C, b.W, b.H, b.C)
	}
	for i, v := range a.Pix {
		d := max(float64(v)-float64(b.Pix[i]), float64(b.Pix[i])-float64(v))
		mean, most = mean+d/float64(len(a.Pix)), max(most, d)
	}
	return mean, most
}

// TestBoxed: AVIF and JPEG XL files are the pictures that they were made of by avifenc 0.11.1 and cjxl 0.7.0, on white
// where they are transparent.
func TestBoxed(t *testing.T) {
	source := decodeFile(t, formatFile(t, "source.png"), &Decoder{})
	grey := new(Image)
	grey.CopyFrom(source)
	grey.SetChannels(1)
	grey.SetChannels(3)
	alpha := decodeFile(t, formatFile(t, "source-alpha.png"), &Decoder{})
	turned := new(Image)
	turned.CopyFrom(source)
	turned.Crop(image.Rect(8, 4, 88, 64))
	turned.orient(8)
	turned.orient(2)
	upright := new(Image) // by the EXIF orientation of the JPEG file
	upright.CopyFrom(source)
	upright.orient(6)
	for name, c := range map[string]struct {
		want       *Image
		mean       float64
		background Background
	}{
		"avif.avif":         {source, 2, Opaque},
		"avif-10bit.avif":   {source, 2, Opaque},
		"avif-grey.avif":    {grey, 2, Opaque},
		"avif-alpha.avif":   {alpha, 3, OnWhite},
		"avif-turned.avif":  {turned, 2.5, Opaque},
		"avif-grid.avif":    {decodeFile(t, formatFile(t, "source-tiles.png"), &Decoder{}), 2, Opaque},
		"jxl.jxl":           {source, 3, Opaque},
		"jxl-jpeg.jxl":      {upright, 4, Opaque},
		"jxl-lossless.jxl":  {source, 0, Opaque},
		"jxl-16bit.jxl":     {source, 0, Opaque},
		"jxl-alpha.jxl":     {alpha, 0, OnWhite},
		"jxl-film.jxl":      {nil, 0, Opaque},
		"jxl-container.jxl": {source, 0, Opaque},
	} {
		var b []byte
		if name == "jxl-container.jxl" {
			b = inContainer(formatFile(t, "jxl-lossless.jxl"), nil)
		} else {
			b = formatFile(t, name)
		}
		d := new(Decoder)
		im := decodeFile(t, b, d)
		if c.want == nil { // an animation of a picture with a palette
			if im.W != 96 || im.H != 64 {
				t.Errorf("%s: %d x %d", name, im.W, im.H)
			}
			continue
		}
		if mean, most := pixelDifference(t, im, c.want); mean > c.mean || d.Background != c.background {
			t.Errorf("%s: apart %.2f, at most %.0f, background %d", name, mean, most, d.Background)
		}
	}
}

// inContainer puts a JPEG XL codestream into a container, after an EXIF block if there is one.
func inContainer(codestream, exif []byte) []byte {
	b := append(heif.Box("JXL ", []byte("\r\n\x87\n")), heif.Box("ftyp", []byte("jxl \x00\x00\x00\x00jxl "))...)
	if exif != nil {
		b = append(b, heif.Box("Exif", make([]byte, 4), exif)...)
	}
	return append(b, heif.Box("jxlc", codestream)...)
}

// TestBoxedPhotographs: the EXIF data of each format, in the form that exiftool and the encoders write. The orientation
// in it does not turn the picture, which the format does by itself.
func TestBoxedPhotographs(t *testing.T) {
	file, err := isobmff.Parse(formatFile(t, "heic.heic"))
	if err != nil {
		t.Fatal(err)
	}
	exif := file.Exif()
	for name, b := range map[string][]byte{
		"AVIF":                formatFile(t, "avif-turned.avif"),
		"HEIC":                formatFile(t, "heic.heic"),
		"JPEG XL, compressed": formatFile(t, "jxl-jpeg.jxl"),
		"JPEG XL":             inContainer(formatFile(t, "jxl.jxl"), exif),
	} {
		p := ReadEXIF(b)
		if p.Camera != "Acme X1" || p.Taken != time.Date(2024, 5, 1, 12, 30, 5, 0, time.UTC) || !p.Located ||
			p.Latitude != 47.3769333 || p.Longitude != 8.5416667 || CaptureTime(b) != p.Taken {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if im := decodeFile(t, inContainer(formatFile(t, "jxl.jxl"), exif), new(Decoder)); im.W != 96 || im.H != 64 {
		t.Errorf("turned to %d x %d", im.W, im.H)
	}
}

// tiled returns a file of four tiles, of 128 x 128 pixels each, and the picture of them put together.
func tiled(t *testing.T, properties ...[]byte) ([]byte, *Image) {
	t.Helper()
	f := &heif.File{Brand: "heic", Primary: 9, Items: []heif.Item{{ID: 9, Type: "grid", Inside: true,
		Content: heif.Grid(2, 2, 250, 241), Parts: []uint32{1, 2, 3, 4},
		Properties: append([][]byte{heif.Size(250, 241)}, properties...)}}}
	whole := NewImage(250, 241, 3)
	for k := range 4 {
		b := formatFile(t, fmt.Sprintf("heic-tile%d.heic", k))
		f.Items = append(f.Items, heif.Item{ID: uint32(k + 1), Type: "hvc1", Hidden: true, Content: heif.Data(t, b),
			Properties: [][]byte{heif.Size(128, 128), heif.Property(t, b, "hvcC")}})
		tile := decodeFile(t, b, &Decoder{Smooth: true})
		for y := range 128 {
			for x := range 128 {
				if at := image.Pt(x+k%2*128, y+k/2*128); at.In(whole.Bounds()) {
					copy(whole.Row(at.Y)[3*at.X:], tile.Row(y)[3*x:3*x+3])
				}
			}
		}
	}
	return f.Bytes(), whole
}

// TestHEICManyTiles: a picture of many tiles takes no more memory than one of few, though the decoder loses some with
// each.
func TestHEICManyTiles(t *testing.T) {
	heif.Decoder(t)
	const n = 28
	b := formatFile(t, "heic-tile0.heic")
	tile := heif.Item{Type: "hvc1", Hidden: true, Content: heif.Data(t, b),
		Properties: [][]byte{heif.Size(128, 128), heif.Property(t, b, "hvcC")}}
	grid := heif.Item{ID: n*n + 1, Type: "grid", Inside: true, Content: heif.Grid(n, n, 128*n, 128*n),
		Properties: [][]byte{heif.Size(128*n, 128*n)}}
	f := &heif.File{Brand: "heic", Primary: grid.ID, Wide: true, Shared: true}
	for k := range uint32(n * n) {
		tile.ID = k + 1
		f.Items, grid.Parts = append(f.Items, tile), append(grid.Parts, tile.ID)
	}
	f.Items = append(f.Items, grid)
	eighth := func(int, int) int { return 8 }
	if im := decodeFile(t, f.Bytes(), &Decoder{Shrink: eighth}); im.W != 16*n || im.H != 16*n {
		t.Errorf("%d x %d", im.W, im.H)
	}
}

// TestHEIC: pictures in one piece and in tiles, whole and reduced, turned and cropped.
func TestHEIC(t *testing.T) {
	heif.Decoder(t)
	source := decodeFile(t, formatFile(t, "source-heic.png"), &Decoder{})
	if mean, _ := pixelDifference(t, decodeFile(t, formatFile(t, "heic.heic"), &Decoder{Smooth: true}),
		source); mean > 7 {
		t.Errorf("apart %.2f", mean)
	}
	if im := decodeFile(t, formatFile(t, "heic-grey.heic"), &Decoder{}); im.C != 1 || im.W != 96 {
		t.Errorf("%d x %d x %d", im.W, im.H, im.C)
	}
	b, whole := tiled(t)
	source = decodeFile(t, formatFile(t, "source-tiles.png"), &Decoder{})
	source.Crop(whole.Bounds())
	if mean, _ := pixelDifference(t, whole, source); mean > 4 {
		t.Errorf("the tiles put together: apart %.2f", mean)
	}
	if _, most := pixelDifference(t, decodeFile(t, b, &Decoder{Smooth: true}), whole); most != 0 {
		t.Errorf("tiles: apart by up to %v", most)
	}
	for _, by := range []int{2, 4, 8} {
		var asked image.Point
		d := &Decoder{Smooth: true, Shrink: func(w, h int) int { asked = image.Pt(w, h); return by }}
		small := decodeFile(t, b, d)
		want := NewImage((250+by-1)/by, (241+by-1)/by, 3)
		for y := range want.H {
			for x := range want.W {
				for c := range 3 {
					sum, n := 0.0, 0.0
					for dy := range min(by, 241-y*by) {
						for dx := range min(by, 250-x*by) {
							sum, n = sum+float64(whole.Row(y*by + dy)[3*(x*by+dx)+c]), n+1
						}
					}
					want.Row(y)[3*x+c] = uint8(sum/n + 0.5)
				}
			}
		}
		if _, most := pixelDifference(t, small, want); most > 1 || asked != image.Pt(250, 241) {
			t.Errorf("by %d: apart by up to %v, asked for %v", by, most, asked)
		}
	}
	// A crop of 200 x 101 pixels, then a quarter turn against the clock, then left and right exchanged.
	b, _ = tiled(t, heif.Clap(200, 101, -5, 10), heif.Box("irot", []byte{1}), heif.Box("imir", []byte{1}))
	whole.Crop(image.Rect(20, 80, 220, 181))
	whole.orient(8)
	whole.orient(2)
	var asked image.Point
	d := &Decoder{Smooth: true, Shrink: func(w, h int) int { asked = image.Pt(w, h); return 1 }}
	if _, most := pixelDifference(t, decodeFile(t, b, d), whole); most != 0 || asked != image.Pt(101, 200) {
		t.Errorf("turned: apart by up to %v, asked for %v", most, asked)
	}
}

// TestHEICTwoAtOnce: decoders of several goroutines share the translated module, and nothing else.
func TestHEICTwoAtOnce(t *testing.T) {
	heif.Decoder(t)
	b, whole := tiled(t)
	done := make(chan *Image)
	for range 4 {
		go func() {
			im := new(Image)
			if err := (&Decoder{Smooth: true}).Decode(t.Context(), im, b); err != nil {
				t.Error(err)
			}
			done <- im
		}()
	}
	for range 4 {
		if im := <-done; !bytes.Equal(im.Pix, whole.Pix) {
			t.Error("another picture")
		}
	}
}

// TestHEICRefused: what is missing, damaged or not supported is named.
func TestHEICRefused(t *testing.T) {
	b := formatFile(t, "heic.heic")
	decode := func(b []byte) error { return new(Decoder).Decode(t.Context(), new(Image), b) }
	dir := t.TempDir()
	t.Setenv("KINDRED_DECODERS", dir)
	const missing = "no decoder for HEIC: 'kindred formats get heic'"
	if err := decode(b); err == nil || !strings.HasPrefix(err.Error(), missing) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "heif.wasm"), []byte("what?"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := decode(b); err == nil || !strings.Contains(err.Error(), "HEIC: the decoder cannot run here: ") ||
		!strings.Contains(err.Error(), dir) || !IsDecoderError(err) {
		t.Error(err)
	}
	heif.Decoder(t)
	overlay := bytes.Replace(formatFile(t, "heic-tile0.heic"), []byte("hvc1\x00"), []byte("iovl\x00"), 1)
	if err := decode(overlay); err == nil || !strings.Contains(err.Error(), `type "iovl" is not supported: convert`) {
		t.Error(err)
	}
	// A grid whose description claims more than its item, and than is allowed.
	tile := formatFile(t, "heic-tile0.heic")
	f := &heif.File{Brand: "heic", Primary: 99, Items: []heif.Item{{ID: 99, Type: "grid", Inside: true,
		Content: heif.Grid(8, 8, 1024, 1024), Properties: [][]byte{heif.Size(250, 241)}}}}
	for id := range uint32(64) {
		f.Items[0].Parts = append(f.Items[0].Parts, id)
		f.Items = append(f.Items, heif.Item{ID: id, Type: "hvc1", Hidden: true, Content: heif.Data(t, tile),
			Properties: [][]byte{heif.Size(128, 128), heif.Property(t, tile, "hvcC")}})
	}
	f.Wide = true
	im := new(Image)
	if err := (&Decoder{MaxPixels: 100_000}).Decode(t.Context(), im, f.Bytes()); err == nil {
		t.Errorf("decoded to %d x %d", im.W, im.H)
	}
	large, _ := tiled(t)
	copy(heif.Property(t, large, "ispe"), heif.Size(60_000, 60_000))
	if err := decode(large); err == nil || !strings.Contains(err.Error(), "60000 x 60000 pixels: more than the") {
		t.Error(err)
	}
}

// TestChroma: the matrices of H.273 take black, white and the primary colours to themselves.
func TestChroma(t *testing.T) {
	for _, c := range []struct {
		colour isobmff.Colour
		kr, kb float64
	}{{isobmff.Colour{Known: true, Matrix: 1, Full: true}, 0.2126, 0.0722},
		{isobmff.Colour{Known: true, Matrix: 1}, 0.2126, 0.0722},
		{isobmff.Colour{Known: true, Matrix: 6}, 0.299, 0.114},
		{isobmff.Colour{Known: true, Matrix: 9}, 0.2627, 0.0593}, {isobmff.Colour{}, 0.299, 0.114}} {
		for _, rgb := range [][3]float64{{}, {255, 255, 255}, {255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {40, 90, 200}} {
			y := c.kr*rgb[0] + (1-c.kr-c.kb)*rgb[1] + c.kb*rgb[2]
			cb, cr := (rgb[2]-y)/(2-2*c.kb), (rgb[0]-y)/(2-2*c.kr)
			if c.colour.Known && !c.colour.Full {
				y, cb, cr = 16+y*219/255, cb*224/255, cr*224/255
			}
			p := image.NewNRGBA(image.Rect(0, 0, 1, 1))
			round := func(v float64) uint8 { return uint8(min(max(v+0.5, 0), 255)) }
			copy(p.Pix, []uint8{round(cr + 128), round(y), round(cb + 128), 255})
			im := new(Image)
			fromPlanes(im, p, c.colour)
			for k := range 3 {
				if d := float64(im.Pix[k]) - rgb[k]; d < -3 || d > 3 {
					t.Errorf("%+v: %v became %v", c.colour, rgb, im.Pix)
				}
			}
		}
	}
	p := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	copy(p.Pix, []uint8{3, 1, 2, 255})
	im := new(Image)
	if fromPlanes(im, p, isobmff.Colour{Known: true}); !bytes.Equal(im.Pix, []byte{3, 1, 2}) {
		t.Errorf("identity: %v", im.Pix)
	}
}

// TestNoFrame: a file whose header is sound and whose picture cannot be decoded is damaged, and not black.
func TestNoFrame(t *testing.T) {
	for _, name := range []string{"avif.avif", "avif-10bit.avif", "avif-grid.avif", "jxl-lossless.jxl"} {
		b := formatFile(t, name)
		data := b[64:]
		if filepath.Ext(name) == ".avif" {
			data = heif.Data(t, b)
		}
		clear(data)
		err := new(Decoder).Decode(t.Context(), new(Image), b)
		if err == nil || !strings.HasPrefix(err.Error(), "damaged ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDamagedFiles cuts off and changes a file of every format, 200 times each with KINDRED_LONG, else 20 times: each
// is a picture within the limits or an error, and nothing hangs or fails the program.
func TestDamagedFiles(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "formats", "*.*"))
	if err != nil || len(names) < 40 {
		t.Fatal(names, err)
	}
	if os.Getenv("KINDRED_HEIC") != "" {
		heif.Decoder(t)
	}
	times := 20
	if os.Getenv("KINDRED_LONG") != "" {
		times = 200
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, uint64(len(b))))
			faults := 0
			d := Decoder{MaxPixels: 1 << 20}
			for k := range 2 * times {
				damaged := bytes.Clone(b[:rng.IntN(len(b))])
				if k%2 == 1 {
					damaged = bytes.Clone(b)
					for range 1 + rng.IntN(8) {
						damaged[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
					}
				}
				var im Image
				err := d.Decode(t.Context(), &im, damaged)
				switch {
				case err != nil && err.Error() == "":
					t.Fatal("an error without a text")
				case err != nil:
					faults++
				case im.W < 1 || im.H < 1 || im.W*im.H > d.MaxPixels || len(im.Pix) != im.W*im.H*im.C:
					t.Fatalf("%d x %d x %d with %d values", im.W, im.H, im.C, len(im.Pix))
				}
				ReadEXIF(damaged)
			}
			if faults == 0 {
				t.Error("no damage was found: the test shows nothing")
			}
		})
	}
}

// BenchmarkPhotos decodes each file in the folder $KINDRED_PHOTOS, on one core.
func BenchmarkPhotos(b *testing.B) {
	names, err := filepath.Glob(filepath.Join(os.Getenv("KINDRED_PHOTOS"), "*.*"))
	if err != nil || os.Getenv("KINDRED_PHOTOS") == "" {
		b.Skip("set $KINDRED_PHOTOS to a folder of images")
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(filepath.Base(name), func(b *testing.B) {
			var im Image
			d := Decoder{Smooth: true}
			if err := d.Decode(b.Context(), &im, file); err != nil { // and translate the decoder
				b.Skip(err)
			}
			for b.Loop() {
				if err := d.Decode(b.Context(), &im, file); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(im.W*im.H)*float64(b.N)/1e6/b.Elapsed().Seconds(), "MP/s")
		})
	}
}

// TestHEICOpacity: a picture whose opacity is its own values, whole, in tiles, reduced and turned.
func TestHEICOpacity(t *testing.T) {
	heif.Decoder(t)
	b := formatFile(t, "heic-grey.heic")
	grey := decodeFile(t, b, &Decoder{})
	w, h := grey.W, grey.H
	coded := func(id uint32, properties ...[]byte) heif.Item {
		return heif.Item{ID: id, Type: "hvc1", Content: heif.Data(t, b),
			Properties: append([][]byte{heif.Size(w, h), heif.Property(t, b, "hvcC")}, properties...)}
	}
	alpha := heif.Full("auxC", 0, 0, []byte("urn:mpeg:hevc:2015:auxid:1\x00"))
	of := []heif.Reference{{Type: "auxl", To: []uint32{1}}}
	one := &heif.File{Brand: "heic", Primary: 1, Items: []heif.Item{coded(1, heif.Box("irot", []byte{1})),
		coded(2, alpha)}}
	one.Items[1].References = of
	grid := func(id uint32, parts []uint32, properties ...[]byte) heif.Item {
		return heif.Item{ID: id, Type: "grid", Inside: true, Content: heif.Grid(1, 2, 2*w-3, h-1), Parts: parts,
			Properties: append([][]byte{heif.Size(2*w-3, h-1)}, properties...)}
	}
	tiles := &heif.File{Brand: "heic", Primary: 1, Items: []heif.Item{grid(1, []uint32{3, 4}),
		grid(2, []uint32{5, 6}, alpha), coded(3), coded(4), coded(5), coded(6)}}
	tiles.Items[1].References = of
	for name, f := range map[string]*heif.File{"one": one, "tiles": tiles} {
		for _, by := range []int{1, 4} {
			d := &Decoder{Shrink: func(int, int) int { return by }}
			im := decodeFile(t, f.Bytes(), d)
			if d.Background == Opaque || im.C != 3 {
				t.Fatalf("%s: background %d, %d channels", name, d.Background, im.C)
			}
			if by > 1 {
				if want := (max(w, 2*w-3)*h + by*by - 1) / by / by; name == "tiles" && im.W*im.H > 2*want {
					t.Errorf("%s by %d: %d x %d", name, by, im.W, im.H)
				}
				continue
			}
			under := 255 * (2 - int(d.Background)) // on white or on black
			for y := range h - 1 {
				for x := range w - 3 {
					v := int(grey.Pix[y*w+x])
					at := y*im.W + x
					if name == "one" { // turned against the clock
						at = (w-1-x)*im.W + y
					}
					if got, want := int(im.Pix[3*at]), (v*v+127)/255+(255-v)*under/255; max(got-want, want-got) > 1 {
						t.Fatalf("%s: %d, %d of %d is %v, want %d", name, x, y, v, im.Pix[3*at:3*at+3], want)
					}
				}
			}
		}
	}
}
