package split

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/lists"
)

// sceneImage draws a scene, moved by some pixels of 64 and made brighter by a factor.
func sceneImage(scene uint64, move int, bright float64) *imaging.Image {
	rng := rand.New(rand.NewPCG(scene, 9))
	var wave [6][4]float64
	for k := range wave {
		wave[k] = [4]float64{rng.Float64() * 9, rng.Float64() * 9, rng.Float64() * 6, rng.Float64()}
	}
	im := imaging.NewImage(64, 64, 3)
	for i := range im.Pix {
		x, y := float64(i/3%64+move)/64, float64(i/3/64-move)/64
		v := 0.0
		for j, w := range wave {
			v += (w[3] + float64((i+j)%3)/4) * math.Sin(w[0]*x+w[1]*y+w[2])
		}
		im.Pix[i] = uint8(bright * (100 + 25*v))
	}
	return im
}

// jpegOf encodes an image, with the EXIF time if there is one.
func jpegOf(t *testing.T, im *imaging.Image, taken string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, im, &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	if taken == "" {
		return b.Bytes()
	}
	// A directory with one entry, the place of the other, which has the time.
	e := []byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01")
	e = append(e, "\x87\x69\x00\x04\x00\x00\x00\x01\x00\x00\x00\x1a\x00\x00\x00\x00"...)
	e = append(e, "\x00\x01\x90\x03\x00\x02\x00\x00\x00\x14\x00\x00\x00\x2c\x00\x00\x00\x00"+taken+"\x00"...)
	seg := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(e)+2))
	return slices.Concat(b.Bytes()[:2], seg, e, b.Bytes()[2:])
}

// sceneFile is a file of a test's set: a class, a name, a scene.
type sceneFile struct {
	name  string
	scene uint64
	move  int
	light float64
	taken string
}

// sceneDataset writes shots and some classes of other scenes, which say what is chance.
func sceneDataset(t *testing.T, list []sceneFile) *data.Dataset {
	t.Helper()
	dir := t.TempDir()
	for c := range 4 {
		for s := range 6 {
			list = append(list, sceneFile{fmt.Sprintf("other%d/x%d.jpg", c, 10*s), uint64(1000 + 10*c + s), 0, 1, ""})
		}
	}
	for _, s := range list {
		path := filepath.Join(dir, s.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, jpegOf(t, sceneImage(s.scene, s.move, s.light), s.taken), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := data.Open(t.Context(), dir, data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// groupsByName lists the groups of two and more.
func groupsByName(t *testing.T, d *data.Dataset) string {
	t.Helper()
	p := d.All()
	of, why, err := FindGroups(t.Context(), p)
	if err != nil || why != "" {
		t.Fatal(why, err)
	}
	again, _, err := FindGroups(t.Context(), p)
	if err != nil || !slices.Equal(of, again) {
		t.Errorf("%v the second time, %v", again, err)
	}
	var out []string
	for _, m := range lists.Places(of, len(of)) {
		var names []string
		for _, i := range m {
			names = append(names, d.Names[i])
		}
		if len(m) > 1 {
			out = append(out, strings.Join(names, " "))
		}
	}
	return strings.Join(out, "; ")
}

func TestFindGroups(t *testing.T) {
	for _, c := range []struct {
		name  string
		shots []sceneFile
		want  string
	}{
		{"nothing", []sceneFile{{"a/1.jpg", 1, 0, 1, ""}, {"a/3.jpg", 2, 0, 1, ""}}, ""},
		{"a copy", []sceneFile{{"a/1.jpg", 1, 0, 1, ""}, {"a/3.jpg", 2, 0, 1, ""}, {"a/copy.jpg", 1, 0, 1, ""}},
			"a/1.jpg a/copy.jpg"},
		{"moved and darker", []sceneFile{{"a/1.jpg", 1, 0, 1, ""}, {"a/5.jpg", 1, 4, 0.8, ""},
			{"a/9.jpg", 3, 0, 1, ""}},
			"a/1.jpg a/5.jpg"},
		{"of two classes", []sceneFile{{"a/1.jpg", 1, 0, 1, ""}, {"b/1.jpg", 1, 0, 1, ""}}, ""},
		{"seconds", []sceneFile{{"a/1.jpg", 1, 0, 1, "2026:05:01 10:00:00"},
			{"a/5.jpg", 2, 0, 1, "2026:05:01 10:00:02"},
			{"a/9.jpg", 3, 0, 1, "2026:05:01 10:00:05"}, {"b/1.jpg", 4, 0, 1, "2026:05:01 10:00:00"}},
			"a/1.jpg a/5.jpg"},
		{"a clock that was never set", []sceneFile{{"a/1.jpg", 1, 0, 1, "0000:00:00 00:00:00"},
			{"a/5.jpg", 2, 0, 1, "0000:00:00 00:00:00"}}, ""},
		{"plain", []sceneFile{{"a/1.jpg", 1, 0, 0, ""}, {"a/5.jpg", 2, 0, 0, ""}}, ""},
	} {
		if got := groupsByName(t, sceneDataset(t, c.shots)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	var stopped []sceneFile
	for k := range stoppedClock {
		stopped = append(stopped, sceneFile{fmt.Sprintf("a/%d.jpg", 10*k), uint64(k), 0, 1, "2000:01:01 00:00:00"})
	}
	if got := groupsByName(t, sceneDataset(t, stopped)); got != "" {
		t.Errorf("a clock that stands still: %q", got)
	}
	if got := groupsByName(t, sceneDataset(t, stopped[:stoppedClock-1])); strings.Count(got, " ") != stoppedClock-2 {
		t.Errorf("many in a second: %q", got)
	}
}

// TestFollows reads the numbers of files.
func TestFollows(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"a/IMG_0099.jpg", "a/IMG_0100.jpg", true}, {"a/7.png", "a/8.png", true}, {"a/7.png", "a/9.png", false},
		{"a/8.png", "a/7.png", false}, {"a/7.png", "b/8.png", false}, {"x.jpg", "y.jpg", false}, {"", "", false},
		{"a/IMG_1.jpg", "a/DSC_2.jpg", false}, {"a/9999999999999999999998.jpg", "a/9999999999999999999999.jpg", false},
		{"x9.jpg", "x10.jpg", true}} {
		if got := areConsecutive(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
	}
}

// TestNumbersThatSayNothing are left alone: pictures that follow each other are no more
// alike than others.
func TestNumbersThatSayNothing(t *testing.T) {
	f := &groupFinder{likely: 0.5, tint: 255}
	p := &data.Part{Data: &data.Dataset{}}
	add := func(class int64, number int, scene uint64) {
		p.Data.Names = append(p.Data.Names, fmt.Sprintf("%d/%d.jpg", class, number))
		p.Index, p.Fine = append(p.Index, len(p.Index)), append(p.Fine, class)
		var g thumbnail
		rng := rand.New(rand.NewPCG(scene, 5))
		for k := range g.grey {
			g.grey[k] = uint8(rng.IntN(256))
		}
		g.prepare()
		f.thumbnails, f.groupOf = append(f.thumbnails, g), append(f.groupOf, len(f.groupOf))
	}
	for k := range 40 {
		add(0, k, uint64(k/2)) // pairs
	}
	f.p = p
	_, f.classes = lists.Group(p.Fine)
	f.joinNumbers()
	if f.groupOf[1] != 0 || f.groupOf[2] != 2 || f.groupOf[39] != 38 {
		t.Errorf("pairs: %v", f.groupOf)
	}
	for k := range f.groupOf {
		f.groupOf[k] = k
		f.thumbnails[k] = f.thumbnails[0] // all alike
	}
	f.joinNumbers()
	if f.groupOf[1] != 1 {
		t.Errorf("all alike: %v", f.groupOf)
	}
}

// TestLikeness: the correlation of what overlaps, against a naive loop; the same from
// both sides; of plain pictures none.
func TestLikeness(t *testing.T) {
	random := func(seed uint64) *thumbnail {
		g := new(thumbnail)
		rng := rand.New(rand.NewPCG(seed, 2))
		for k := range g.grey {
			g.grey[k] = uint8(rng.IntN(256))
		}
		g.prepare()
		return g
	}
	g, o := random(1), random(2)
	for m := range numShifts {
		dx, dy := shiftOf(m)
		var n, a, b, aa, bb, ab float64
		for y := range thumbnailSide {
			for x := range thumbnailSide {
				if u, v := x-dx, y-dy; u >= 0 && v >= 0 && u < thumbnailSide && v < thumbnailSide {
					p, q := float64(g.grey[y*thumbnailSide+x]), float64(o.grey[v*thumbnailSide+u])
					n, a, b, aa, bb, ab = n+1, a+p, b+q, aa+p*p, bb+q*q, ab+p*q
				}
			}
		}
		want := (ab/n - a/n*b/n) / math.Sqrt((aa/n-a/n*a/n)*(bb/n-b/n*b/n))
		if got := g.shiftedCorrelation(o, m); math.Abs(got-want) > 1e-9 ||
			got != o.shiftedCorrelation(g, numShifts-1-m) {
			t.Errorf("moved by %d, %d: %v, want %v", dx, dy, got, want)
		}
	}
	moved := new(thumbnail)
	for y := range thumbnailSide {
		for x := range thumbnailSide {
			moved.grey[y*thumbnailSide+x] = g.grey[y*thumbnailSide+min(x+1, thumbnailSide-1)]
		}
	}
	moved.prepare()
	if got := g.shiftedCorrelation(moved, noShift+1); got != 1 {
		t.Errorf("moved back: %v", got)
	}
	plain := new(thumbnail)
	plain.prepare()
	if !plain.plain || g.plain || g.similarity(plain, 0) != 0 || g.similarity(g, 0) != 1 {
		t.Error("plain pictures are like others")
	}
}

// TestFindGroupsCheaply: of what is not looked at, names alone.
func TestFindGroupsCheaply(t *testing.T) {
	d := sizes(3, 3)
	d.Names[1] = d.Names[0]
	many := &data.Part{Data: d, Index: slices.Repeat([]int{0, 3, 4, 5}, maxCompared/2),
		Fine: slices.Repeat([]int64{0, 1, 1, 1}, maxCompared/2)}
	of, why, err := FindGroups(t.Context(), many)
	if err != nil || !strings.Contains(why, "more than 20000 pictures") || of[4] != 0 || of[5] != 1 {
		t.Errorf("%v %q %v", of[:8], why, err)
	}
	files := fstest.MapFS{"a/1.jpg": {Data: jpegOf(t, sceneImage(1, 0, 1), "")}, "b/1.jpg": {Data: nil}}
	if d, err = data.OpenFS(t.Context(), files, "far", data.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, why, err = FindGroups(t.Context(), d.All()); err != nil || !strings.Contains(why, "on a server") ||
		d.HasLocalFiles() {
		t.Errorf("%q %v", why, err)
	}
	here := sceneDataset(t, nil)
	if !here.HasLocalFiles() {
		t.Error("a folder is not here")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := FindGroups(ctx, here.All()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestNoChains: pictures of which each is like the next make no group, unless they are
// near to all of it.
func TestNoChains(t *testing.T) {
	f := &groupFinder{sure: 0.9, likely: 0.8, tint: 255, p: &data.Part{Data: &data.Dataset{}}}
	rng := rand.New(rand.NewPCG(3, 5))
	var u, v [thumbnailSide * thumbnailSide]float64
	for k := range u {
		u[k], v[k] = rng.NormFloat64(), rng.NormFloat64()
	}
	class := []int{0, 1, 2, 3, 4}
	for i := range class { // each turned by 0.4 against the one before: alike by 0.92, by 0.7 in two steps
		var g thumbnail
		sin, cos := math.Sincos(0.4 * float64(i))
		if i == 4 {
			sin, cos = math.Sincos(0.1) // near the first two
		}
		for k := range g.grey {
			g.grey[k] = uint8(127 + 30*(cos*u[k]+sin*v[k]))
		}
		g.prepare()
		f.thumbnails, f.groupOf = append(f.thumbnails, g), append(f.groupOf, i)
	}
	if err := f.joinSimilar(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 0, 2, 2, 0} {
		if got := f.root(i); got != want {
			t.Errorf("picture %d is in the group of %d, want %d", i, got, want)
		}
	}
}

// TestCopiesInOtherColours are together, what is only alike in other colours is not.
func TestCopiesInOtherColours(t *testing.T) {
	f := &groupFinder{tint: 5, copied: 0.95}
	rng := rand.New(rand.NewPCG(4, 5))
	for range 3 {
		var g thumbnail
		for k := range g.grey {
			g.grey[k] = uint8(rng.IntN(256))
		}
		f.thumbnails = append(f.thumbnails, g)
	}
	f.thumbnails[1].grey = f.thumbnails[0].grey
	for k, v := range f.thumbnails[0].grey { // alike by about 0.9
		f.thumbnails[2].grey[k] = uint8((2*int(v) + int(f.thumbnails[2].grey[k])) / 3)
	}
	for i := range f.thumbnails {
		f.thumbnails[i].prepare()
	}
	if got := f.similarity(0, 2, 0.8); got < 0.8 || got > 0.95 {
		t.Fatalf("one colour: %v", got)
	}
	for i := range f.thumbnails {
		for c := range f.thumbnails[i].tints {
			f.thumbnails[i].tints[c][0] = int16(40 * i)
		}
	}
	if copied, alike := f.similarity(0, 1, 0.8), f.similarity(0, 2, 0.8); copied != 1 || alike != 0 {
		t.Errorf("a copy %v, one that is alike %v", copied, alike)
	}
}
