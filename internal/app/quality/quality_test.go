package quality

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/compute/detection"
	"github.com/kindred-ml/kindred/internal/test/refdata"
)

// newScene is a picture with large and small things in it, and the noise of a camera.
func newScene(w, h int, rng *rand.Rand) *imaging.Image {
	im := imaging.NewImage(w, h, 3)
	type disc struct{ x, y, r, tone float64 }
	discs := make([]disc, 30)
	for k := range discs {
		discs[k] = disc{rng.Float64() * float64(w), rng.Float64() * float64(h),
			(0.02 + 0.2*rng.Float64()*rng.Float64()) * float64(w), 30 + 200*rng.Float64()}
	}
	for y := range h {
		for x := range w {
			tone := 60 + 120*float64(x)/float64(w)
			for _, d := range discs {
				if math.Hypot(float64(x)-d.x, float64(y)-d.y) < d.r {
					tone = d.tone
				}
			}
			for c := range 3 {
				im.Pix[(y*w+x)*3+c] = uint8(min(255, max(0, tone+3*rng.NormFloat64())))
			}
		}
	}
	return im
}

// blur is a picture out of focus: a Gaussian of that deviation in pixels.
func blur(im *imaging.Image, sigma float64) {
	r := int(math.Ceil(3 * sigma))
	kernel, total := make([]float64, 2*r+1), 0.0
	for i := range kernel {
		kernel[i] = math.Exp(-float64((i-r)*(i-r)) / (2 * sigma * sigma))
		total += kernel[i]
	}
	for _, along := range []bool{true, false} {
		out := make([]uint8, len(im.Pix))
		for y := range im.H {
			for x := range im.W {
				for c := range im.C {
					t := 0.5
					for i, k := range kernel {
						px, py := x, y
						if along {
							px = min(max(x+i-r, 0), im.W-1)
						} else {
							py = min(max(y+i-r, 0), im.H-1)
						}
						t += k / total * float64(im.Pix[(py*im.W+px)*im.C+c])
					}
					out[(y*im.W+x)*im.C+c] = uint8(t)
				}
			}
		}
		copy(im.Pix, out)
	}
}

// expose multiplies and adds.
func expose(im *imaging.Image, gain, plus float64) {
	for k, v := range im.Pix {
		im.Pix[k] = uint8(min(255, gain*float64(v)+plus))
	}
}

// newScreenshot is a window with a title, text and a button.
func newScreenshot(w, h int, rng *rand.Rand) *imaging.Image {
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	box := func(x0, y0, x1, y1 int, c color.Color) {
		draw.Draw(im, image.Rect(x0, y0, x1, y1), image.NewUniform(c), image.Point{}, draw.Src)
	}
	grey := func(v int) color.Color { return color.RGBA{uint8(v), uint8(v), uint8(v), 255} }
	box(0, 0, w, h, grey(200+rng.IntN(55)))
	box(0, 0, w, 14, color.RGBA{30, 60, uint8(120 + rng.IntN(100)), 255})
	box(w/2, h-20, w-8, h-6, grey(90+rng.IntN(60)))
	d := font.Drawer{Dst: im, Src: image.Black, Face: basicfont.Face7x13}
	for y := 30; y < h-24; y += 16 {
		d.Dot = fixed.P(6, y)
		d.DrawString(strings.Repeat("word and text ", 8)[:3+rng.IntN(max(1, w/9))])
	}
	return imaging.FromImage(im)
}

// newDefects is a set with so many photos of each defect, and what they were given.
func newDefects(rng *rand.Rand, n, each int) (measures []Measure, given []Defect) {
	var r Meter
	for k := range n {
		im := newScene(120+rng.IntN(20), 100+rng.IntN(20), rng)
		d := Defect(k / each)
		switch {
		case d >= NumDefects:
			d = NumDefects
		case d == Blurred:
			blur(im, 3)
		case d == Dark:
			expose(im, 0.2, 0)
		case d == Bright:
			expose(im, 0.3, 200)
		case d == Tiny:
			im = newScene(20, 16, rng)
		case d == Shape:
			im = newScene(400, 60, rng)
		case d == Screenshot:
			im = newScreenshot(130, 110, rng)
		}
		given = append(given, d)
		measures = append(measures, r.Measure(im))
	}
	return measures, given
}

// What was planted is found, as what it is, and said so; the others are not.
func TestPlanted(t *testing.T) {
	measures, given := newDefects(rand.New(rand.NewPCG(1, 1)), 150, 5)
	j := ScorePhotos(measures)
	for i, d := range given {
		for of := range NumDefects {
			has := j.Has(i, of)
			alsoBlurred := of == Blurred && (d == Bright || d == Screenshot || d == Tiny)
			if has != (of == d) && !alsoBlurred {
				t.Errorf("photo %d, %v: %v is %v (%.3f), %s, %+v", i, d, of, has, j.Scores[i][of], j.Reason(i, of),
					measures[i])
			}
		}
		if d < NumDefects && !strings.HasPrefix(j.Reason(i, d), d.String()+": ") {
			t.Error(j.Reason(i, d))
		}
	}
	counts := j.Counts()
	for d := range NumDefects {
		if counts[d.String()] < 5 {
			t.Errorf("%v: %d", d, counts[d.String()])
		}
	}
	rows := j.Rows(make([]string, len(measures)), nil)
	if len(rows) != 151 || len(rows[0]) != 10 || rows[1][1] < "0.500" || rows[1][7] != "true" ||
		rows[150][7] != "false" {
		t.Errorf("%v, %v", rows[0], rows[1])
	}
}

// A set of one kind has no defects by being one: of night pictures, drawings, screenshots,
// strips, icons or copies of one picture.
func TestUniform(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for name, picture := range map[string]func() *imaging.Image{
		"night": func() *imaging.Image {
			im := newScene(80, 60, rng)
			expose(im, 0.15, 0)
			return im
		},
		"blurred": func() *imaging.Image {
			im := newScene(80, 60, rng)
			blur(im, 3)
			return im
		},
		"screenshots": func() *imaging.Image { return newScreenshot(120, 100, rng) },
		"strips":      func() *imaging.Image { return newScene(200, 30, rng) },
		"icons":       func() *imaging.Image { return newScene(16, 16, rng) },
		"white":       func() *imaging.Image { im := imaging.NewImage(20, 20, 1); expose(im, 0, 255); return im },
		"a pixel":     func() *imaging.Image { return imaging.NewImage(1, 1, 3) },
		"a row":       func() *imaging.Image { return imaging.NewImage(9, 1, 1) },
	} {
		var r Meter
		var measures []Measure
		for range 30 {
			measures = append(measures, r.Measure(picture()))
		}
		j := ScorePhotos(measures)
		for d, n := range j.Counts() {
			if n > 1 { // of 30 by chance
				t.Errorf("%s: %d are %s", name, n, d)
			}
		}
		for i := range measures {
			for _, s := range j.Scores[i] {
				if !(s >= 0 && s <= 1) {
					t.Errorf("%s: %v", name, j.Scores[i])
				}
			}
		}
	}
	if j := ScorePhotos(nil); len(j.Scores) != 0 || j.Counts()["dark"] != 0 {
		t.Error(j)
	}
	broken := ScorePhotos([]Measure{{Err: errors.New("broken")}, {Err: errors.New("broken")}})
	if broken.Scores[0] != ([NumDefects]float64{}) {
		t.Error(broken)
	}
}

// The order of the photos makes no difference, and photos that cannot be read none to others.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	measures, _ := newDefects(rng, 60, 3)
	want := ScorePhotos(measures).Scores
	order := rng.Perm(len(measures))
	var mixed []Measure
	for _, i := range order {
		mixed = append(mixed, measures[i], Measure{Err: errors.New("broken")})
	}
	got := ScorePhotos(mixed).Scores
	for k, i := range order {
		if got[2*k] != want[i] {
			t.Fatalf("%v, %v", got[2*k], want[i])
		}
	}
}

// TestBirds plants defects among photos of birds, every tenth of 5,902, all with
// KINDRED_LONG: the scores tell blurred and dark ones from the others with an area under the
// ROC curve of at least 0.97.
func TestBirds(t *testing.T) {
	set, err := data.Open(t.Context(), refdata.Path(t, "data", "cub100"), data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	step := 10
	if os.Getenv("KINDRED_LONG") != "" {
		step = 1
	}
	rng := rand.New(rand.NewPCG(4, 4))
	var r Meter
	var dec imaging.Decoder
	var im imaging.Image
	var measures []Measure
	planted := map[Defect][]bool{}
	for i := 0; i < set.Len(); i += step {
		if err := set.Image(t.Context(), i, &im, &dec); err != nil {
			t.Fatal(err)
		}
		kind := rng.IntN(20)
		switch kind {
		case 0:
			blur(&im, 1+2*rng.Float64())
		case 1:
			expose(&im, 0.1+0.3*rng.Float64(), 0)
		case 2:
			expose(&im, 0.3, 180)
		}
		for d := range Bright + 1 {
			planted[d] = append(planted[d], kind == int(d))
		}
		measures = append(measures, r.Measure(&im))
	}
	j := ScorePhotos(measures)
	for d := range Bright + 1 {
		scores := make([]float64, len(measures))
		found, wrong, total := 0, 0, 0
		for i := range measures {
			scores[i] = j.Scores[i][d]
			switch {
			case planted[d][i]:
				total++
				if j.Has(i, d) {
					found++
				}
			case j.Has(i, d):
				wrong++
			}
		}
		_, auc := detection.PrecisionAndArea(scores, planted[d])
		t.Logf("%v: of %d photos %d planted, area under the ROC curve %.4f; flagged %d of them and %d others", d,
			len(measures), total, auc, found, wrong)
		if d != Bright && auc < 0.97 || d == Bright && auc < 0.9 {
			t.Errorf("%v: %.4f", d, auc)
		}
	}
}

// Photos taken together are found with the side of the split they are on.
func TestTogether(t *testing.T) {
	var pictures []*imaging.Image
	rng := rand.New(rand.NewPCG(5, 5))
	for range 12 {
		pictures = append(pictures, newScene(64, 64, rng))
	}
	pictures[7] = pictures[2]
	classes, names := make([]string, 12), make([]string, 12)
	for i := range classes {
		classes[i], names[i] = fmt.Sprint("c", i%5), fmt.Sprintf("photo of %c.jpg", 'a'+i*7%26)
	}
	set, err := data.New("set", names, classes, memorySource(pictures))
	if err != nil {
		t.Fatal(err)
	}
	side := func(i int) string { return []string{"train", "test"}[i/6] }
	found, err := FindBursts(t.Context(), set.All(), side)
	if err != nil {
		t.Fatal(err)
	}
	measures, err := MeasurePart(t.Context(), set.All(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := ScorePhotos(measures).Rows(names, found)
	for i, row := range rows[1:] {
		want := []string{"", "false"}
		if i == 2 || i == 7 {
			want = []string{names[2], "true"}
		}
		if !slices.Equal(row[8:], want) {
			t.Errorf("photo %d: %v", i, row)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := MeasurePart(ended, set.All(), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// memorySource are pictures as a source.
type memorySource []*imaging.Image

func (m memorySource) Shape() (w, h, c int) { return 0, 0, 0 }
func (m memorySource) Read(_ context.Context, i int, dst *imaging.Image, _ *imaging.Decoder) error {
	dst.CopyFrom(m[i])
	return nil
}
