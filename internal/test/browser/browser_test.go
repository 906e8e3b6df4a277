package browser

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestPages checks that every page is legible at both widths and in both schemes, and works.
func TestPages(t *testing.T) {
	c := startChrome(t)
	pages := newPages(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, width := range []int64{1300, 400} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s-%d-%s", name, width, scheme), func(t *testing.T) {
					c.t = t
					c.open(pages[name](), width, scheme)
					checkLegible(c, width)
					if name == "report" || name == "trained" {
						checkScoresFit(c)
					}
					c.checkContains("the page", c.text("main"), sampleText[name]...)
					c.checkQuiet()
					c.saveScreenshot(fmt.Sprintf("%s-%d-%s", name, width, scheme))
				})
			}
		}
	}
	for name, use := range map[string]func(c *chrome, pages map[string]func() string){
		"map": useMap, "mapWithoutWebGL": useMapWithoutWebGL, "neighbours": useNeighbours, "table": useTable,
		"spectrum": useSpectrum, "curves": useCurves, "film": useFilm, "touch": useTouch,
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			use(c, pages)
			c.checkQuiet()
		})
	}
}

// sampleText matches texts of tables and figures about their samples.
var sampleText = map[string][]string{
	"map":        {"6000 items from the test set of run a run with a", "100 classes by label, 7 classes by coarse"},
	"neighbours": {"60 random queries (first)", "among 6000 items of 100 classes from the test set of run a run"},
	"diagnosis":  {"The test set, 6000 items of 100 classes in 24 dimensions", "500 anchors"},
	"diagnoses":  {"plane: the test set, 600 items of 10 classes in 2 dimensions", "200 anchors"},
	"report":     {"Test set, 6000 images of 100 classes", "neighbours in the test set, 6000 images of 100 classes"},
	"reproduce": {"digits 0-5: 180 images of 6 classes, the seen set",
		"digits 6-9: 120 images of 4 classes, the test set"},
	"search":   {"2 photos looked up among 60"},
	"identify": {"6000 decisions looked up among 6000 items of 100 classes", "The 30 least decided are shown."},
	"sweep":    {"Trial", "of 4 won", "could try 4 settings"},
	"compare":  {"2 arms, 3 seeds each, scored on the test part"},
	"noise":    {"2 classes of 6 points in 2 dimensions"},
	"live":     {"200 anchors among 6000 samples of the test set"},
}

// checkLegible checks what holds for every page.
func checkLegible(c *chrome, width int64) {
	c.t.Helper()
	// The window is as high as the page, so that everything is drawn.
	height := eval[float64](c, `document.documentElement.scrollHeight`)
	c.do(chromedp.EmulateViewport(width, min(int64(height)+400, 15000)))
	c.waitUntil(`[...document.querySelectorAll("figure.map")].every(f => f.querySelector("canvas") || f.getBoundingClientRect().top > innerHeight)`)
	c.do(chromedp.Sleep(300 * time.Millisecond))
	if wide := eval[float64](c, `document.documentElement.scrollWidth`); wide > float64(width) {
		c.t.Errorf("the page is %g wide in a window of %d: %s", wide, width, eval[string](c, `[...document.querySelectorAll("main *")].
			filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".box, .draw, pre, .map")).
			slice(0, 3).map(e => e.outerHTML.slice(0, 120)).join("\n")`))
	}
	// Sizes of a drawing's letters on the screen, in pixels.
	if small := eval[float64](c, `Math.min(99, ...[...document.querySelectorAll("svg.fig text")].filter(e => e.checkVisibility()).map(e =>
		parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width))`); small < 7.5 {
		c.t.Errorf("letters of %.1f pixels", small)
	}
	if broken := eval[[]string](c, brokenNumbers); len(broken) > 0 {
		c.t.Errorf("numbers broken over lines: %q", broken)
	}
	if missing := eval[int](c,
		`[...document.images].filter(i => i.complete && i.checkVisibility() && !i.naturalWidth).length`); missing > 0 {
		c.t.Errorf("%d pictures are not shown", missing)
	}
	if n := eval[int](c, `document.querySelectorAll("main script:not([type])").length`); n > 0 {
		c.t.Errorf("%d scripts among the text", n)
	}
}

// checkScoresFit checks that no score of a run is outside the window.
func checkScoresFit(c *chrome) {
	c.t.Helper()
	if cut := eval[[]string](c, `[...document.querySelectorAll("section:first-of-type .box")].
		filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.innerText.slice(0, 60))`); len(cut) > 0 {
		c.t.Errorf("scores are cut off: %q", cut)
	}
}

// brokenNumbers lists the numbers of a page that are broken over two lines. Paths and
// names, which wrap anywhere, may break within a number.
const brokenNumbers = `(() => {
	const out = [], walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
	for (let n; n = walk.nextNode();) {
		const e = n.parentElement;
		if (e.closest("script, .name, .card, .label, pre, .legend") || !e.checkVisibility()) continue;
		for (const m of n.data.matchAll(/(?<![\w/.\\-])[-−+]?\d+([.,]\d+)*(?![\w/.])/g)) {
			const r = document.createRange();
			r.setStart(n, m.index);
			r.setEnd(n, m.index + m[0].length);
			const tops = new Set([...r.getClientRects()].map(b => Math.round(b.top)));
			if (tops.size > 1) out.push(n.data.slice(Math.max(0, m.index - 20), m.index + m[0].length + 10));
		}
	}
	return out;
})()`

// mouse moves to a place of the window, and presses or releases there.
func (c *chrome) mouse(kind input.DispatchMouseEventType, x, y float64) {
	c.t.Helper()
	c.do(chromedp.MouseEvent(kind, x, y, chromedp.ButtonType(input.MouseButtonLeft), chromedp.ClickCount(1)))
}

type place struct{ X, Y float64 }

// middleOf returns the middle of the first element that a selector finds.
func (c *chrome) middleOf(selector string) place {
	c.t.Helper()
	return eval[place](c, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"});
		const b = e.getBoundingClientRect(); return {X: b.left + b.width / 2, Y: b.top + b.height / 2}; })()`, selector))
}

func (c *chrome) click(selector string) {
	c.t.Helper()
	p := c.middleOf(selector)
	c.mouse(input.DispatchMouseEventTypeMousePressed, p.X, p.Y)
	c.mouse(input.DispatchMouseEventTypeMouseReleased, p.X, p.Y)
}

func (c *chrome) key(keys string) {
	c.t.Helper()
	c.do(chromedp.KeyEvent(keys))
}

// text returns the text of an element.
func (c *chrome) text(selector string) string {
	c.t.Helper()
	return eval[string](c, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))
}

func (c *chrome) checkContains(what, text string, wants ...string) {
	c.t.Helper()
	for _, w := range wants {
		if !strings.Contains(text, w) {
			c.t.Errorf("%s %q lacks %q", what, text, w)
		}
	}
}

func useMap(c *chrome, pages map[string]func() string) {
	c.open(pages["map"](), 1300, "light")
	c.waitUntil(`document.querySelector(".map canvas")`)
	c.do(chromedp.Sleep(500 * time.Millisecond))
	painted := eval[int](c, `(() => { const c = document.querySelector(".map canvas");
		const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()`)
	if painted < 5000 {
		c.t.Errorf("%d pixels are painted for 6,000 items", painted)
	}
	if s := c.text(".map output"); s != "6,000 items" {
		c.t.Errorf("the map says %q", s)
	}
	// The pointer shows an item: its photo, its path, its labels.
	p := c.middleOf(".map canvas")
	for d := 0.0; d < 40 && eval[bool](c, `document.querySelector(".map .card").hidden`); d++ {
		c.mouse(input.DispatchMouseEventTypeMouseMoved, p.X+5*d, p.Y-3*d)
	}
	c.checkContains("the card", c.text(".map .card"), "/photo_", "label", "coarse", "group ")
	if !eval[bool](c, `document.querySelector(".map .photo").style.backgroundImage.startsWith("url(\"blob:")`) {
		c.t.Error("the card has no photo")
	}
	c.mouse(input.DispatchMouseEventTypeMouseMoved, 2, 2)
	// The legend lists every class; a search and a click leave one.
	if n := eval[int](c, `document.querySelectorAll(".legend button").length`); n != classes {
		c.t.Errorf("%d classes in the legend", n)
	}
	c.do(chromedp.SendKeys(chromedp.CSS(".map input[type=search]"), "no. 04"))
	if n := eval[int](c, `document.querySelectorAll(".legend button").length`); n != 10 {
		c.t.Errorf("%d classes found", n)
	}
	c.click(".legend button")
	c.waitUntil(`document.querySelector(".map output").textContent === "60 of 6,000 items"`)
	// The lit items are saved with all their labels.
	c.do(chromedp.Evaluate[chromedp.Void](`window.saved = null; { const make = URL.createObjectURL;
		URL.createObjectURL = b => { if (b.type === "text/csv") b.text().then(s => window.saved = s); return make(b); }; }`))
	c.click(`.map .status button:last-child`)
	c.waitUntil(`window.saved`)
	csv := eval[string](c, `window.saved`)
	c.checkContains("the CSV", csv, "row,path,x,y,label,coarse\n2400,", "no. 040/photo_2400.jpg,")
	if n := strings.Count(csv, "\n"); n != perClass+1 {
		c.t.Errorf("%d lines of CSV", n)
	}
	// By keys: the next item, its card kept, and back.
	c.do(chromedp.Focus(chromedp.CSS(".map canvas")))
	c.key("n")
	c.key(kb.Enter)
	// the whole photo
	c.waitUntil(`document.querySelector(".card.pinned") && document.querySelector(".card.pinned .photo img")`)
	c.key(kb.Escape)
	c.key(kb.Escape)
	c.waitUntil(`document.querySelector(".map output").textContent === "6,000 items"`)
	// A lasso around the middle.
	c.click(".tools button:last-child")
	for i, d := range []place{{-150, -150}, {150, -150}, {150, 150}, {-150, 150}, {-150, -100}} {
		kind := input.DispatchMouseEventTypeMouseMoved
		if i == 0 {
			kind = input.DispatchMouseEventTypeMousePressed
		}
		c.mouse(kind, p.X+d.X, p.Y+d.Y)
	}
	c.mouse(input.DispatchMouseEventTypeMouseReleased, p.X-150, p.Y-100)
	c.waitUntil(`/^[\d,]+ of 6,000 items$/.test(document.querySelector(".map output").textContent)`)
	c.saveScreenshot("use-map-lasso")
	// Another column colours it.
	c.do(chromedp.Evaluate[chromedp.Void](`{ const s = document.querySelector(".map select"); s.value = 1; s.dispatchEvent(new Event("change")); }`))
	c.waitUntil(`document.querySelectorAll(".legend button").length === 7`)
	c.saveScreenshot("use-map-column")
}

// moveFingers puts fingers on the screen or moves them; without places it lifts them.
func (c *chrome) moveFingers(kind input.DispatchTouchEventType, at ...place) {
	c.t.Helper()
	points := []*input.TouchPoint{}
	for i, p := range at {
		id := float64(i + 1)
		points = append(points, &input.TouchPoint{X: p.X, Y: p.Y, ID: &id})
	}
	c.do(func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, tab, input.DispatchTouchEvent,
			input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
		return chromedp.Void{}, err
	})
}

// tap touches a place of the screen.
func (c *chrome) tap(p place) {
	c.t.Helper()
	c.moveFingers(input.DispatchTouchEventTypeTouchStart, p)
	c.moveFingers(input.DispatchTouchEventTypeTouchEnd)
	c.do(chromedp.Sleep(500 * time.Millisecond)) // two quick taps would be a double tap
}

// drag moves fingers over the screen, each along its own path.
func (c *chrome) drag(ways ...[]place) {
	c.t.Helper()
	for step := range ways[0] {
		var at []place
		for _, w := range ways {
			at = append(at, w[step])
		}
		kind := input.DispatchTouchEventTypeTouchMove
		if step == 0 {
			kind = input.DispatchTouchEventTypeTouchStart
		}
		c.moveFingers(kind, at...)
	}
	c.moveFingers(input.DispatchTouchEventTypeTouchEnd)
	c.do(chromedp.Sleep(200 * time.Millisecond)) // a frame is drawn
}

// A phone: a tap shows the photo, one finger moves the map, two zoom it, and the
// page stays where it is.
func useTouch(c *chrome, pages map[string]func() string) {
	c.enableTouch(true)
	defer c.enableTouch(false)
	c.open(pages["map"](), 400, "light")
	c.waitUntil(`document.querySelector(".map canvas")`)
	c.do(chromedp.Sleep(500 * time.Millisecond))
	p := c.middleOf(".map canvas")
	c.tap(p)
	c.waitUntil(`document.querySelector(".card.pinned .photo")`)
	c.checkContains("the card", c.text(".map .card"), "/photo_", "group ")
	c.saveScreenshot("use-touch-card")
	if free := eval[bool](c, `(() => { const card = document.querySelector(".map .card").getBoundingClientRect(),
		ring = document.querySelector(".map .ring").getBoundingClientRect(), tools = document.querySelector(".map .tools").getBoundingClientRect();
		const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
		return apart(card, ring) && apart(card, tools) && card.height < 160; })()`); !free {
		c.t.Error("the card covers its item, the tools or half of the map")
	}
	// The ring is around the item that was tapped.
	ring := func() place {
		return eval[place](c, `(() => { const b = document.querySelector(".map .ring").getBoundingClientRect();
			return {X: b.left + b.width / 2, Y: b.top + b.height / 2}; })()`)
	}
	before := ring()
	if math.Hypot(before.X-p.X, before.Y-p.Y) > 27 {
		c.t.Errorf("a tap at %v chose the item at %v", p, before)
	}
	c.drag([]place{{p.X - 90, p.Y - 30}, {p.X - 70, p.Y - 30}, {p.X - 40, p.Y - 20}, {p.X - 20, p.Y - 10}})
	moved := ring()
	if math.Abs(moved.X-before.X-70) > 2 || math.Abs(moved.Y-before.Y-20) > 2 {
		c.t.Errorf("a finger moved by 70, 20 moved the map from %v to %v", before, moved)
	}
	p.Y += 70 // beside the card
	// Two fingers from 80 to 160 apart double the distance of the ring from their middle.
	c.drag([]place{{p.X - 40, p.Y}, {p.X - 50, p.Y}, {p.X - 80, p.Y}},
		[]place{{p.X + 40, p.Y}, {p.X + 50, p.Y}, {p.X + 80, p.Y}})
	zoomed := ring()
	if math.Abs((zoomed.X-p.X)-2*(moved.X-p.X)) > 3 || math.Abs((zoomed.Y-p.Y)-2*(moved.Y-p.Y)) > 3 {
		c.t.Errorf("fingers twice as far apart around %v moved the item from %v to %v", p, moved, zoomed)
	}
	c.tap(c.middleOf(".card.pinned button"))
	c.waitUntil(`document.querySelector(".card").hidden`)
	// The lasso, by one finger.
	c.tap(c.middleOf(".map .tools button:nth-child(3)"))
	c.tap(c.middleOf(".map .tools button:last-child"))
	p = c.middleOf(".map canvas")
	scrolled := eval[float64](c, `scrollY`)
	c.drag([]place{{p.X - 60, p.Y - 60}, {p.X + 60, p.Y - 60}, {p.X + 60, p.Y + 60}, {p.X - 60, p.Y + 60},
		{p.X - 60, p.Y}})
	c.waitUntil(`/^[\d,]+ of 6,000 items$/.test(document.querySelector(".map output").textContent)`)
	if now := eval[float64](c, `scrollY`); now != scrolled {
		c.t.Errorf("the page has scrolled from %g to %g", scrolled, now)
	}
	c.saveScreenshot("use-touch-lasso")
	// A tap also shows a curve's values.
	c.open(pages["report"](), 400, "dark")
	c.tap(c.middleOf(".draw[data-chart] svg"))
	c.waitUntil(`!document.querySelector(".tip").hidden`)
	c.checkContains("the tip", c.text(".tip"), "epoch ")
}

// Without WebGL, and without scripts, the picture inside is shown.
func useMapWithoutWebGL(c *chrome, pages map[string]func() string) {
	c.enableScripts(false)
	c.open(pages["map"](), 400, "dark")
	c.saveScreenshot("use-map-without-scripts")
	c.enableScripts(true)
	c.open(pages["map"]()+"?flat", 1300, "light")
	c.waitUntil(`document.querySelector(".still").naturalWidth > 500`)
	if n := eval[int](c, `document.querySelectorAll(".map canvas, .map .panel").length`); n > 0 {
		c.t.Error("a map without WebGL has controls")
	}
}

func useNeighbours(c *chrome, pages map[string]func() string) {
	st, err := os.Stat(pages["neighbours"]())
	if err != nil || st.Size() > 5_000_000 {
		c.t.Errorf("the page of 60 queries takes %d bytes (%v)", st.Size(), err)
	}
	c.open(pages["neighbours"](), 1300, "light")
	if side := eval[float64](c, `document.querySelector(".found img").getBoundingClientRect().width`); side < 140 {
		c.t.Errorf("pictures of %g pixels", side)
	}
	c.checkContains("a caption", c.text(".found figcaption"), "photo_", "distance")
	c.click(".found .pic:nth-child(2) .zoom")
	c.waitUntil(`document.querySelector("dialog.viewer[open]")`)
	// The photo itself is loaded from the folder.
	c.waitUntil(`document.querySelector(".viewer .pic:nth-child(2) img").src.startsWith("file:")`)
	first := c.text(".viewer .pic:nth-child(2)")
	c.key(kb.ArrowRight)
	if next := c.text(".viewer .pic:nth-child(2)"); next == first {
		c.t.Error("the key shows no other picture")
	}
	c.saveScreenshot("use-neighbours-large")
	c.key(kb.Escape)
	c.waitUntil(`!document.querySelector("dialog.viewer[open]")`)
}

func useTable(c *chrome, pages map[string]func() string) {
	c.open(pages["diagnosis"](), 400, "light")
	const table = `[...document.querySelectorAll(".box[data-sort]")].find(b => b.querySelectorAll("tbody tr").length === 100)`
	column := func(k int) []float64 {
		return eval[[]float64](c,
			fmt.Sprintf(`[...%s.querySelectorAll("tbody tr")].filter(r => !r.hidden).map(r => +r.cells[%d].dataset.v)`, table, k))
	}
	c.do(chromedp.Evaluate[chromedp.Void](table + `.querySelectorAll("thead button")[2].click()`))
	falling := func(a, b float64) int { return int(1e9 * (b - a)) }
	if v := column(2); !slices.IsSortedFunc(v, falling) || len(v) != classes {
		c.t.Errorf("diameters are not sorted: %v", v)
	}
	if !eval[bool](c, table+`.scrollHeight > `+table+`.clientHeight && `+table+`.clientHeight <= innerHeight`) {
		c.t.Error("the table does not scroll within its box")
	}
	name := eval[[]string](c, `(() => { const n = `+table+`.querySelector(".name"), h = n.firstElementChild;
		return [n.title, String(h.scrollWidth > h.clientWidth), n.lastElementChild.textContent]; })()`)
	if len([]rune(name[0])) != 60 || name[1] != "true" || !strings.HasSuffix(name[0], name[2]) {
		c.t.Errorf("the name is shortened to %q", name)
	}
	c.do(chromedp.Evaluate[chromedp.Void](`{ const f = document.querySelector(".filter input"); f.value = "no. 09"; f.dispatchEvent(new Event("input")); }`))
	if n := len(column(1)); n != 10 {
		c.t.Errorf("%d rows found", n)
	}
	c.saveScreenshot("use-table")
}

func useSpectrum(c *chrome, pages map[string]func() string) {
	c.open(pages["diagnosis"](), 1300, "dark")
	c.do(chromedp.SendKeys(chromedp.CSS(`input[placeholder^="Find one of"]`), "no. 042"))
	c.waitUntil(`document.querySelector(".pointed .over")`)
	c.checkContains("the tip", c.text(".tip"), "no. 042", "rank ")
	if n := eval[int](c,
		`Math.max(...[...document.querySelectorAll("svg.fig")].map(s => [...s.querySelectorAll("text")].filter(t => t.textContent.includes("class")).length))`); n > 3 {
		c.t.Errorf("a legend lists %d classes", n)
	}
}

func useCurves(c *chrome, pages map[string]func() string) {
	c.open(pages["report"](), 1300, "light")
	p := c.middleOf(".draw[data-chart] svg")
	c.mouse(input.DispatchMouseEventTypeMouseMoved, p.X, p.Y)
	c.checkContains("the tip", c.text(".tip"), "epoch ")
	c.checkContains("the page", c.text("main"), "best epoch", "Test set, 6000 images of 100 classes",
		"Other than the default", "Before training", "After training")
	if eval[bool](c, `document.querySelector("details").open`) {
		c.t.Error("all settings stand open")
	}
	c.saveScreenshot("use-curves")
}

func useFilm(c *chrome, pages map[string]func() string) {
	c.open(pages["live"](), 400, "dark")
	for _, part := range []string{"button", "input", "output"} {
		if right := eval[float64](c,
			fmt.Sprintf(`document.querySelector(".controls %s").getBoundingClientRect().right`, part)); right > 400 {
			c.t.Errorf("%s ends at %g", part, right)
		}
	}
	before := c.text(".controls output")
	c.do(chromedp.Focus(chromedp.CSS(".controls input")))
	c.key(kb.ArrowRight)
	if after := c.text(".controls output"); after == before {
		c.t.Errorf("the slider stays at %q", before)
	}
}

// Only the test uses the browser's driver.
func TestNotLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/kindred-ml/kindred/cmd/kindred").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "chromedp") {
		t.Error("the program links chromedp")
	}
}
