package figure

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var nan, inf = math.NaN(), math.Inf(1)

// svgOf draws f and checks that the document is well formed.
func svgOf(t *testing.T, f Figure) string {
	t.Helper()
	b, err := SVG(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(b, new(struct{})); err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	if s := string(b); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
		t.Error("a coordinate is not finite")
	}
	return string(b)
}

// countFills counts the paths filled with a colour, the legend's sample included.
func countFills(svg string, c color.NRGBA) int {
	// The library rounds translucent colours by one; compare with that slack.
	n := 0
	for _, m := range regexp.MustCompile(`<path [^>]*style="fill:#([0-9A-F]{6})`).FindAllStringSubmatch(svg, -1) {
		var r, g, b int
		fmt.Sscanf(m[1], "%02X%02X%02X", &r, &g, &b)
		if abs(r-int(c.R)) <= 2 && abs(g-int(c.G)) <= 2 && abs(b-int(c.B)) <= 2 {
			n++
		}
	}
	return n
}

func abs(x int) int { return max(x, -x) }

func TestScatterHoldsEveryPoint(t *testing.T) {
	s := Scatter{Names: []string{"a", "b", "c"}}
	want := [3]int{5, 7, 11}
	for k, n := range want {
		for i := range n {
			s.X, s.Y, s.Class = append(s.X, float64(i)), append(s.Y, float64(k*i)), append(s.Class, k)
		}
	}
	svg := svgOf(t, s)
	for k, n := range want {
		if got := countFills(svg, categorical[k]); got != n+1 {
			t.Errorf("class %d: %d marks with the legend's, want %d", k, got, n+1)
		}
		if !strings.Contains(svg, ">"+s.Names[k]+"</text>") {
			t.Errorf("class %d is not in the legend", k)
		}
	}
}

func TestScatterLeavesOutWhatIsNotFinite(t *testing.T) {
	s := Scatter{X: []float64{1, 2, nan, 4, inf}, Y: []float64{1, nan, 3, 4, 5}}
	svg := svgOf(t, s)
	if got := countFills(svg, categorical[0]); got != 2 {
		t.Errorf("%d marks, want 2", got)
	}
	if !strings.Contains(svg, "3 values not finite") {
		t.Error("the legend does not count what was left out")
	}
}

func TestLargeScatterIsAPicture(t *testing.T) {
	s := Scatter{Axes: Axes{Bare: true, Width: 200, Height: 200}, Names: []string{"a", "b"}}
	for i := range 4000 {
		s.X, s.Y = append(s.X, float64(i%2)*100), append(s.Y, float64(i%3))
		s.Class = append(s.Class, i%2)
	}
	svg := svgOf(t, s)
	if strings.Count(svg, "<image") != 1 || strings.Count(svg, "data:image/png;base64,") != 1 {
		t.Fatal("4000 points are not one picture")
	}
	if n := strings.Count(svg, "<path"); n > 30 {
		t.Errorf("%d paths beside the picture", n)
	}
	data, err := PNG(s)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	// Points of class 0 lie at the left, of class 1 at the right.
	near := func(c color.NRGBA, x0, x1 int) (n int) {
		for y := range img.Bounds().Dy() * 3 / 4 {
			for x := x0; x < x1; x++ {
				r, g, b, _ := img.At(x, y).RGBA()
				if abs(int(r>>8)-int(c.R))+abs(int(g>>8)-int(c.G))+abs(int(b>>8)-int(c.B)) < 40 {
					n++
				}
			}
		}
		return n
	}
	w := img.Bounds().Dx()
	for k := range 2 {
		left, right := near(categorical[k], 0, w/2), near(categorical[k], w/2, w)
		if (k == 0) != (left > 20) || (k == 1) != (right > 20) || left > 0 && right > 0 {
			t.Errorf("class %d: %d pixels left, %d right", k, left, right)
		}
	}
}

func TestLayerBlends(t *testing.T) {
	l := newLayer(20, 20, 4)
	l.put(10, 10, disc, color.NRGBA{200, 0, 0, 128})
	if c := l.img.NRGBAAt(10, 10); c.A != 128 || c.R != 200 {
		t.Errorf("one mark: %v", c)
	}
	l.put(10, 10, disc, color.NRGBA{200, 0, 0, 128})
	if c := l.img.NRGBAAt(10, 10); abs(int(c.A)-192) > 1 || c.R != 200 {
		t.Errorf("two marks: %v", c)
	}
	if c := l.img.NRGBAAt(2, 2); c.A != 0 {
		t.Errorf("away from the mark: %v", c)
	}
	l.put(-3, 25, square, color.NRGBA{1, 2, 3, 255}) // over the edge
	area := 0.0
	for _, s := range []shape{disc, triangle, square, diamond, wedge} {
		st := makeStamp(stampKey{s: s}, 10)
		area = sum(st.cover)
		if area < 230 || area > 380 { // the disc's is 314
			t.Errorf("shape %d covers %g pixels", s, area)
		}
	}
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// allFigures lists figures of each type around degenerate data.
func allFigures() map[string]Figure {
	many := Scatter{Label: true}
	for i := range 400 {
		many.X, many.Y = append(many.X, float64(i)), append(many.Y, float64(i*i%97))
		many.Class = append(many.Class, i%200)
	}
	for i := range 200 {
		many.Names = append(many.Names, fmt.Sprintf("class %d", i))
	}
	return map[string]Figure{
		"scatter empty":   Scatter{},
		"scatter one":     Scatter{X: []float64{3}, Y: []float64{3}},
		"scatter equal":   Scatter{Axes: Axes{Equal: true}, X: []float64{3, 3, 3}, Y: []float64{-1, -1, -1}},
		"scatter huge":    Scatter{X: []float64{1e300, -1e300}, Y: []float64{1e-300, 2e-300}},
		"scatter all nan": Scatter{X: []float64{nan, nan}, Y: []float64{1, 2}},
		"scatter 200":     many,
		"scatter no class": Scatter{X: []float64{1, 2}, Y: []float64{1, 2}, Class: []int{-1, 0},
			Names: []string{"a"}},
		"scatter log": Scatter{Axes: Axes{LogX: true, LogY: true}, X: []float64{0, 1, 1e5},
			Y: []float64{-1, 1e-9, 1}},
		"lines empty":     Lines{},
		"lines no values": Lines{Curves: []Curve{{Name: "a"}}},
		"lines one value": Lines{Curves: []Curve{{Name: "a", X: []float64{1}, Y: []float64{2}}}},
		"lines nan band": Lines{Curves: []Curve{{X: []float64{1, 2, 3}, Y: []float64{1, nan, 2},
			Low: []float64{nan, 1, inf}, High: []float64{2, 2, 2}}}},
		"lines log": Lines{Axes: Axes{LogX: true, LogY: true},
			Curves: []Curve{{X: []float64{0, 1, 10}, Y: []float64{1, 0, 5}}},
			Refs:   []Ref{{At: 0}, {At: nan}, {At: 2, Vertical: true}}},
		"lines only refs": Lines{Refs: []Ref{{Name: "r", At: 3}}},
		"bars empty":      Bars{},
		"bars nan": Bars{Groups: []string{"g", "h"}, Series: []string{"s"}, Values: [][]float64{{nan, -3}},
			Err: [][]float64{{1, inf}}},
		"bars zero": Bars{Groups: []string{"g"}, Series: []string{"s"}, Values: [][]float64{{0}}},
		"bars long names": Bars{Groups: []string{strings.Repeat("long ", 12), strings.Repeat("name ", 12)},
			Series: []string{"s"}, Values: [][]float64{{1, 2}}},
		"heat empty":         Heat{},
		"heat nan":           Heat{Z: [][]float64{{nan, nan}}},
		"heat constant":      Heat{Z: [][]float64{{2, 2}, {2, 2}}, Diverging: true},
		"heat large":         Heat{Z: newMatrix(60, 60), Numbers: -1},
		"field empty":        Field{},
		"field zero":         Field{Arrows: []Arrow{{X: 1, Y: 1}, {X: nan}, {X: 2, Y: 2, U: inf}}},
		"triplets empty":     Triplets{},
		"triplets nan":       Triplets{AP: []float64{nan, 0.5, -1}, AN: []float64{0, nan, 1}},
		"spectrum zeros":     Spectrum(Axes{}, []string{"a"}, [][]float64{{1, 0, 0}, {}}),
		"panels empty":       Panels{},
		"panels nested":      Panels{Title: "t", Columns: 1, Figures: []Figure{PanelRow(Scatter{}, Lines{}), Heat{}}},
		"control characters": Scatter{Axes: Axes{Title: "a\x00b\nc\xff<&>\""}, X: []float64{1}, Y: []float64{1}},
	}
}

func newMatrix(r, c int) [][]float64 {
	z := make([][]float64, r)
	for i := range z {
		z[i] = make([]float64, c)
		for j := range z[i] {
			z[i][j] = float64(i * j)
		}
	}
	return z
}

func TestDegenerateFigures(t *testing.T) {
	for name, f := range allFigures() {
		t.Run(name, func(t *testing.T) {
			svgOf(t, f)
			data, err := PNG(f)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := png.Decode(bytes.NewReader(data)); err != nil {
				t.Error(err)
			}
			if _, _, err := Inline(f); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFiguresRefuse(t *testing.T) {
	for want, f := range map[string]Figure{
		"2 x, 1 y":              Scatter{X: []float64{1, 2}, Y: []float64{1}},
		"but 1 names":           Scatter{X: []float64{1}, Y: []float64{1}, Class: []int{1}, Names: []string{"a"}},
		"x axis from 2 to 1":    Scatter{Axes: Axes{XRange: Range{2, 1}}},
		"y axis from 0 to 1":    Scatter{Axes: Axes{LogY: true, YRange: Range{0, 1}}},
		"1 x, 2 y":              Lines{Curves: []Curve{{X: []float64{1}, Y: []float64{1, 2}}}},
		"2 values for 1 groups": Bars{Groups: []string{"g"}, Series: []string{"s"}, Values: [][]float64{{1, 2}}},
		"1 series, 0 rows":      Bars{Series: []string{"s"}},
		"start at 0":            Bars{Axes: Axes{LogY: true}},
		"row 1 has 1 values":    Heat{Z: [][]float64{{1, 2}, {3}}},
		"1 row and 0 column":    Heat{Z: [][]float64{{1}, {2}}, Rows: []string{"a"}},
		"1 S_ap and 0 S_an":     Triplets{AP: []float64{1}},
		"cannot be drawn":       Scatter{Axes: Axes{Width: 1e9, Height: 1e9}},
	} {
		for _, f := range []Figure{f, PanelRow(Scatter{}, f)} {
			if _, err := SVG(f); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
			if _, err := PNG(f); err == nil {
				t.Errorf("PNG drew what SVG refused: %q", want)
			}
		}
	}
}

func TestTripletsCountRightAndWrong(t *testing.T) {
	svg := svgOf(t, Triplets{AP: []float64{0.9, 0.5, 0.3, 0.5}, AN: []float64{0.1, 0.5, 0.8, 0.2}})
	for _, want := range []string{"right 2 (50.0%)", "wrong 2 (50.0%)"} { // a tie is wrong
		if !strings.Contains(svg, want) {
			t.Errorf("no %q", want)
		}
	}
	if r, w := countFills(svg, GoodColour), countFills(svg, BadColour); r != 3 || w != 3 {
		t.Errorf("%d right and %d wrong marks with the legend's, want 3 and 3", r, w)
	}
}

func TestLinesBreakWhereAValueIsMissing(t *testing.T) {
	whole := Lines{Curves: []Curve{{X: []float64{1, 2, 3, 4}, Y: []float64{1, 2, 3, 4}}}}
	broken := Lines{Curves: []Curve{{X: []float64{1, 2, 3, 4, 5}, Y: []float64{1, 2, nan, 4, 5}}}}
	count := func(l Lines) int { return strings.Count(svgOf(t, l), "stroke:"+HexColour(categorical[0])) }
	if a, b := count(whole), count(broken); a != 1 || b != 2 {
		t.Errorf("%d and %d strokes, want 1 and 2", a, b)
	}
}

func TestMeanBand(t *testing.T) {
	mean, low, high := MeanBand([][]float64{{1, 2, 5}, {3, nan}})
	if fmt.Sprint(mean) != "[2 2 5]" || math.Abs(high[0]-2-math.Sqrt2) > 1e-12 ||
		math.Abs(low[0]-2+math.Sqrt2) > 1e-12 || low[1] != 2 || high[2] != 5 {
		t.Errorf("mean %v, low %v, high %v", mean, low, high)
	}
}

func TestTicks(t *testing.T) {
	whole := ticks{whole: true}.Ticks(0.96, 3.04)
	if len(whole) != 3 || whole[0].Label != "1" || whole[2].Label != "3" {
		t.Errorf("whole ticks %v", whole)
	}
	for _, c := range []struct {
		lo, hi float64
		log    bool
		want   string
	}{
		{0, 1, false, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{-3, 3, false, "−3 −2 −1 0 1 2 3"},
		{38, 71, false, "40 50 60 70"},
		{0, 0.00001, false, "0 2e−06 4e−06 6e−06 8e−06 1e−05"},
		{1, 1000, true, "1 10 100 1000"},
		{0.5, 3, true, "0.5 1 2"},
	} {
		var got []string
		for _, k := range (ticks{log: c.log}).Ticks(c.lo, c.hi) {
			if k.Value < c.lo-1e-9 || k.Value > c.hi+1e-9 {
				t.Errorf("tick %g outside %g to %g", k.Value, c.lo, c.hi)
			}
			if k.Label != "" {
				got = append(got, k.Label)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%g to %g: %q, want %q", c.lo, c.hi, s, c.want)
		}
	}
}

func TestFitArrows(t *testing.T) {
	in := []Arrow{{U: 4}, {V: 1}, {}}
	out := FitArrows(in, 0.5, 0.5)
	if out[0].U != 0.5 || out[1].V != 0.25 || out[2].U != 0 || in[0].U != 4 {
		t.Errorf("%v from %v", out, in)
	}
}

func TestPanelsKeepSizes(t *testing.T) {
	a := Scatter{Axes: Axes{Width: 100, Height: 50}}
	b := Scatter{Axes: Axes{Width: 60, Height: 80}}
	if w, h := PanelRow(a, b).Size(); w != 172 || h != 80 {
		t.Errorf("side by side %g x %g", w, h)
	}
	if w, h := (Panels{Figures: []Figure{a, b}, Columns: 1, Title: "t"}).Size(); w != 100 || h != 50+80+12+20 {
		t.Errorf("stacked %g x %g", w, h)
	}
}

func TestClasses(t *testing.T) {
	class, names := Classes([]int64{7, -2, 7, 1 << 40}, map[int64]string{7: "seven"})
	if fmt.Sprint(class, names) != fmt.Sprint([]int{1, 0, 1, 2}, []string{"-2", "seven", "1099511627776"}) {
		t.Errorf("%v %v", class, names)
	}
}

func TestWriteFigure(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.svg", "b.PNG"} {
		if err := WriteFigure(filepath.Join(dir, name), Scatter{}); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 100 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := WriteFigure(filepath.Join(dir, "c.pdf"), Scatter{}); err == nil ||
		!strings.Contains(err.Error(), ".pdf") {
		t.Errorf("error %v", err)
	}
}

func TestSameDrawingTwice(t *testing.T) {
	for name, f := range allFigures() {
		a, _ := SVG(f)
		b, _ := SVG(f)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: two drawings differ", name)
		}
	}
}

func TestTagsDoNotCoverEachOther(t *testing.T) {
	in := []tagBox{{50, 50, 6, 7}, {50, 50, 6, 7}, {51, 50, 6, 7}, {52, 53, 6, 7}, {99, 99, 6, 7}, {10, 80, 6, 7}}
	out := partBoxes(in, 0, 100, 0, 100)
	for i, a := range out {
		if a.x-a.w < -1e-9 || a.x+a.w > 100+1e-9 || a.y-a.h < -1e-9 || a.y+a.h > 100+1e-9 {
			t.Errorf("tag %d left the figure: %v", i, a)
		}
		for j, b := range out[:i] {
			if math.Abs(a.x-b.x) < a.w+b.w-0.1 && math.Abs(a.y-b.y) < a.h+b.h-0.1 {
				t.Errorf("tags %d and %d overlap: %v %v", j, i, a, b)
			}
		}
	}
	if out[5] != in[5] {
		t.Errorf("a tag alone was moved to %v", out[5])
	}
}

// A page knows where a figure's values are drawn.
func TestProbeFindsTheValues(t *testing.T) {
	l := Lines{Axes: Axes{X: "epoch", XRange: Range{0, 10}, YRange: Range{0, 1}}, Curves: []Curve{
		{Name: "mean", X: []float64{0, 10, 5}, Y: []float64{0, 1, nan},
			Low: []float64{0, 0.8, 0}, High: []float64{0, 1.2, 1}},
		{Name: "one of many", X: []float64{5}, Y: []float64{0.5}, Quiet: true},
	}}
	var p probe
	p.height = 280
	svg := svgOf(t, l.withProbe(&p))
	if len(p.curves) != 2 || p.x != "epoch" {
		t.Fatalf("%+v", p)
	}
	quiet, mean := p.curves[0], p.curves[1] // drawn in this order, the quiet one below
	if !quiet.Quiet || quiet.Name != "one of many" || len(mean.X) != 2 {
		t.Fatalf("%+v", p.curves)
	}
	if mean.At[1] != "10" || mean.Value[1] != "1 (0.8 to 1.2)" || mean.Value[0] != "0" {
		t.Errorf("%q %q", mean.At, mean.Value)
	}
	// The quiet value lies half way between the corners of the other curve.
	if d := math.Abs(float64(quiet.X[0]) - float64(mean.X[0]+mean.X[1])/2); d > 0.1 {
		t.Errorf("%v is not between %v", quiet.X, mean.X)
	}
	if mean.Y[0] < mean.Y[1] || mean.Y[1] < 0 || mean.Y[0] > 280 {
		t.Errorf("y %v does not run downwards within the figure", mean.Y)
	}
	if strings.Contains(svg, ">one of many<") || !strings.Contains(svg, "1 more, in grey") {
		t.Error("a quiet curve stands in the legend, or is not counted there")
	}
	// Tips are those of the points that are drawn.
	s := Scatter{X: []float64{1, nan, 3}, Y: []float64{1, 2, 3}, Tips: []string{"a", "b", "c\u202e"}}
	p = probe{height: 280}
	svgOf(t, s.withProbe(&p))
	if len(p.points) != 2 || p.points[1].Text != "c\ufffd" || p.points[0].Y < p.points[1].Y {
		t.Errorf("%+v", p.points)
	}
}

// Of many spectra only the first has a place in the legend.
func TestSpectrumOfManyClasses(t *testing.T) {
	var names []string
	var values [][]float64
	for i := range 100 {
		names = append(names, fmt.Sprintf("class %d", i))
		v := make([]float64, 128)
		for j := range v {
			v[j] = 1 / float64(i+j+1)
		}
		values = append(values, v)
	}
	l := Spectrum(Axes{}, names, values)
	if l.numLoud() != 1 || len(l.Curves[0].X) != 128 {
		t.Errorf("%d in the legend, the first of %d values", l.numLoud(), len(l.Curves[0].X))
	}
	last := l.Curves[99]
	if n := len(last.X); n > quietRanks+2 || last.X[0] != 1 || last.X[n-1] != 128 || last.Y[n-1] != 1/227.0 {
		t.Errorf("a quiet spectrum of %d values: %v", n, last.X)
	}
	if few := Spectrum(Axes{}, names[:3], values[:3]); few.numLoud() != 3 || len(few.Curves[2].X) != 128 {
		t.Errorf("three spectra: %d in the legend", few.numLoud())
	}
}

func TestLongTextsStayWithinAFigure(t *testing.T) {
	long := strings.Repeat("long ", 40) + "end"
	c := Curve{Name: long, X: []float64{1, 2}, Y: []float64{1, 2}}
	svg := svgOf(t, Lines{Axes: Axes{Title: long}, Curves: []Curve{c}})
	if strings.Contains(svg, long+"</text>") || strings.Count(svg, "end</text>") != 2 {
		t.Error("title or legend is not shortened in the middle")
	}
}

// The name of a line at the right edge stands to its left.
func TestVerticalLineAtTheEdge(t *testing.T) {
	at := func(x float64) float64 {
		l := Lines{Axes: Axes{XRange: Range{0, 10}, YRange: Range{0, 1}},
			Refs: []Ref{{Name: "best: 9", At: x, Vertical: true}}}
		m := regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>best: 9<`).FindStringSubmatch(svgOf(t, l))
		if m == nil {
			t.Fatal("the line has no name")
		}
		var v float64
		fmt.Sscan(m[1], &v)
		return v
	}
	if left, edge := at(5), at(10); edge-left > 150 || edge > 340-30 {
		t.Errorf("names at %g and %g", left, edge)
	}
}

// TestParallel counts the lines of a parallel plot and asks for what is wrong with one.
func TestParallel(t *testing.T) {
	p := Parallel{Axes: []ParallelAxis{
		{Name: "rate", At: []float64{0, 0.5, 1}, Values: []string{"1", "2", "3"},
			Ticks: map[string]float64{"1": 0, "3": 1}},
		{Name: "score <b>", At: []float64{1, 0, 0.2}, Values: []string{"9", "1", "3"}},
	}, Lines: []ParallelLine{{Name: "a"}, {Name: "b", Quiet: true}, {Name: "c", Quiet: true}}}
	svg := svgOf(t, p)
	grey := fmt.Sprintf("stroke:#%02X%02X%02X", backgroundColour.R, backgroundColour.G, backgroundColour.B)
	if n := strings.Count(strings.ToUpper(svg), strings.ToUpper(grey)); n != 2 {
		t.Errorf("%d grey lines, want 2", n)
	}
	_, values, err := Inline(p)
	if err != nil || !strings.Contains(string(values), `"at":["rate","score \u003cb\u003e"]`) {
		t.Errorf("what a pointer finds: %s, %v", values, err)
	}
	p.Axes[1].At[0] = nan
	svgOf(t, p)
	p.Axes[1].At = p.Axes[1].At[:2]
	if _, err := SVG(p); err == nil || !strings.Contains(err.Error(), `parallel axis "score <b>" has 2 places`) {
		t.Errorf("an axis with too few places: %v", err)
	}
	svgOf(t, Parallel{})
}

func TestFiguresFollowScheme(t *testing.T) {
	s, _, err := Inline(Lines{Axes: Axes{Title: "t"},
		Curves: []Curve{{Name: "c", X: []float64{1, 2}, Y: []float64{1, 2}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"var(--ink)", "var(--line)"} {
		if !strings.Contains(s, v) {
			t.Errorf("no %s in the figure", v)
		}
	}
	if strings.Contains(s, HexColour(Ink)) {
		t.Error("ink of the light scheme left in an inlined figure")
	}
}

func TestShortenKeepsBothEnds(t *testing.T) {
	width := TextStyle(FontSize, false).Width
	got := Shorten("beginning of a long name 0001.jpg", width, width("beginning of 01.jpg"))
	if !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, ".jpg") || !strings.Contains(got, "…") {
		t.Errorf("%q", got)
	}
	if got := Shorten("short", width, 100); got != "short" {
		t.Errorf("%q", got)
	}
	if got := Shorten("none fits", width, 1); got != "…" {
		t.Errorf("%q", got)
	}
}
