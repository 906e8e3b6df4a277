package browser

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/page"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve"
	"github.com/kindred-ml/kindred/store"
)

// recorder is meanColour of a network with pictures of 300 pixels, which keeps the files that it gets.
type recorder struct {
	meanColour
	mu    sync.Mutex
	files [][]byte
}

func (*recorder) Side() int { return 300 }

func (r *recorder) Decode(ctx context.Context, p *imaging.Picture, maxPixels int) (*imaging.Image, error) {
	r.mu.Lock()
	r.files = append(r.files, bytes.Clone(p.File()))
	r.mu.Unlock()
	return r.meanColour.Decode(ctx, p, maxPixels)
}

// got returns the last of n files.
func (r *recorder) got(t *testing.T, n int) []byte {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.files) != n {
		t.Fatalf("%d files were sent, want %d", len(r.files), n)
	}
	return r.files[n-1]
}

// newTurnedJPEG is a JPEG of noise that is shown upright by a turn to the right: its left half, red, is then
// on top, and the other one, blue, below.
func newTurnedJPEG(t *testing.T, w, h int) []byte {
	t.Helper()
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	rng := rand.New(rand.NewPCG(1, 1))
	for y := range h {
		for x := range w {
			c := color.RGBA{200 + uint8(rng.IntN(50)), uint8(rng.IntN(50)), 0, 255}
			if x >= w/2 {
				c.R, c.B = c.B, c.R
			}
			im.SetRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, im, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	exif := append([]byte("Exif\x00\x00MM\x00*"), 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0)
	head := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, 0xe1}, uint16(len(exif)+2))
	return bytes.Join([][]byte{head, exif, b.Bytes()[2:]}, nil)
}

// measureHalves returns the size of a file's picture, and the red in its upper and lower half.
func measureHalves(t *testing.T, file []byte) (w, h int, upper, lower float64) {
	t.Helper()
	im := new(imaging.Image)
	if err := new(imaging.Decoder).Decode(t.Context(), im, file); err != nil {
		t.Fatal(err)
	}
	im.SetChannels(3)
	half := 3 * im.W * (im.H / 2)
	for i := 0; i < len(im.Pix); i += 3 {
		if i < half {
			upper += float64(im.Pix[i]) / float64(half/3)
		} else {
			lower += float64(im.Pix[i]) / float64((len(im.Pix)-half)/3)
		}
	}
	return im.W, im.H, upper, lower
}

// recordedBody is the limit on a request's body of a recorded server.
const recordedBody = 2_500_000

// startRecorder starts a server with 20 items and a recorder.
func startRecorder(t *testing.T, net *recorder) (address string) {
	t.Helper()
	items := &storetest.Memory{Dim: 3}
	var some []store.Item
	for i := range 20 {
		some = append(some, store.Item{ID: string(rune('a' + i)), Vector: []float32{float32(i) / 20, 0, 0}})
	}
	if err := items.Put(t.Context(), some, store.Insert); err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Page: page.Handler(), Limits: serve.Limits{Rate: -1, Body: recordedBody},
		Collections: []serve.Collection{{Name: "colours", Store: items, Embedder: net}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	return listening.URL
}

// TestUpload: a photo that is larger than the server takes is reduced before it is sent, upright, and so is a part of
// it; other files are sent as they are.
func TestUpload(t *testing.T) {
	c, net := startChrome(t), &recorder{}
	address := startRecorder(t, net)
	dir := t.TempDir()
	path := func(name string, b []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return p
	}
	large, small := newTurnedJPEG(t, 3000, 2000), newTurnedJPEG(t, 1600, 200)
	if len(large) < recordedBody || len(small) > recordedBody {
		t.Fatalf("%d and %d bytes", len(large), len(small))
	}
	c.open(address, 1300, "light")
	c.waitUntil(`document.querySelector("#about").textContent.includes("20 items in colours")`)
	c.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path("large.jpg", large)}))
	c.waitUntil(hasTwenty)
	file := net.got(t, 1)
	if w, h, upper, lower := measureHalves(t, file); w != 800 || h != 1200 || upper < 180 || lower > 50 ||
		len(file) > len(large)/4 {
		t.Errorf("%d x %d, red %.0f above and %.0f below, %d bytes of %d", w, h, upper, lower, len(file), len(large))
	}
	// Why these: the same file once more, which is not made again.
	c.click(".list > .explain")
	c.waitUntil(`document.querySelector(".notes")`)
	if !slices.Equal(net.got(t, 2), file) {
		t.Error("another file was sent for the explanation")
	}
	// The lower half, cut out of the whole photo.
	c.waitUntil(`document.querySelector("#shown").naturalWidth === 2000`)
	p := eval[[]float64](c, `(() => { const e = document.querySelector("#shown"); e.scrollIntoView({ block: "center" });
		const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()`)
	x, y := p[0]+p[2]/4, p[1]+0.6*p[3]
	c.mouse(input.DispatchMouseEventTypeMousePressed, x, y)
	c.mouse(input.DispatchMouseEventTypeMouseMoved, x+5, y+5)
	c.mouse(input.DispatchMouseEventTypeMouseMoved, x+p[2]/2, y+0.3*p[3])
	c.mouse(input.DispatchMouseEventTypeMouseReleased, x+p[2]/2, y+0.3*p[3])
	c.waitUntil(`!document.querySelector("#part").hidden && location.search.includes("crop=") && ` + hasTwenty)
	w, h, upper, lower := measureHalves(t, net.got(t, 3))
	// 1000 x 900 pixels, up to those of the window.
	if w < 960 || w > 1040 || h < 860 || h > 940 || upper > 50 || lower > 50 {
		t.Errorf("a part of %d x %d, red %.0f above and %.0f below", w, h, upper, lower)
	}
	c.checkQuiet()
	for _, name := range []string{"small.jpg", "strange.heic"} {
		sent := small
		if name == "strange.heic" {
			sent = append([]byte("\x00\x00\x00\x18ftypheic"), make([]byte, 2e6)...)
		}
		// What the browser sends; the server reads no file that is not a picture.
		c.do(chromedp.Evaluate[chromedp.Void](`window.bytes = 0; { const real = FormData.prototype.set;
			FormData.prototype.set = function (name, value, ...more) {
				if (name === "image") window.bytes = value.size;
				real.call(this, name, value, ...more);
			}; }`))
		c.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path(name, sent)}))
		c.waitUntil(fmt.Sprintf(`window.bytes === %d`, len(sent)))
		if name == "strange.heic" {
			c.waitUntil(`!document.querySelector("#error").hidden`)
			continue
		}
		c.waitUntil(`!location.search.includes("crop=") && ` + hasTwenty)
		if !slices.Equal(net.got(t, 4), sent) {
			t.Errorf("%s was not sent as it is", name)
		}
	}
}
