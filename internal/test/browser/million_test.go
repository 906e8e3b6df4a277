package browser

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/page"
	"github.com/kindred-ml/kindred/serve"
	"github.com/kindred-ml/kindred/store"
)

// startMillion makes a server of an index with n items on a plane, in clusters.
func startMillion(t *testing.T, n int) (address string) {
	t.Helper()
	x, err := index.Create(filepath.Join(t.TempDir(), "large.index"), index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	rng := rand.New(rand.NewPCG(1, 2))
	near := func(k int) float32 { return float32(k) + 0.2*float32(rng.NormFloat64()) }
	const together = 50_000
	for lo := 0; lo < n; lo += together {
		e := make([]store.Item, min(together, n-lo))
		for i := range e {
			k := rng.IntN(40)
			e[i] = store.Item{ID: fmt.Sprintf("%07d", lo+i), Columns: map[string]any{
				"label": fmt.Sprintf("class %02d", k), "price": float64(rng.IntN(1000))},
				Vector: []float32{near(k % 8), near(k / 8)}}
		}
		if _, err := x.Add(t.Context(), e, index.AddOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := serve.New(serve.Options{Page: page.Handler(), Limits: serve.Limits{Rate: -1},
		Collections: []serve.Collection{{Name: "large", Store: x.Store(true), Label: "label"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	return listening.URL + "/"
}

// TestMillion opens the map of a million items, moves over it, zooms, chooses some and
// colours it by another column. It takes minutes, so it needs KINDRED_LONG=1.
//
// Long: one step after another, each with its time.
func TestMillion(t *testing.T) {
	n := 20_000
	if os.Getenv("KINDRED_LONG") != "" {
		n = 1_000_000
	}
	c := startChrome(t)
	c.open(startMillion(t, n), 1300, "light")
	// settled waits longer than until, and returns the time.
	settled := func(expression string) time.Duration {
		t.Helper()
		begun := time.Now()
		for !eval[bool](c, "!!("+expression+")") {
			if time.Since(begun) > 4*time.Minute {
				c.saveScreenshot("million-failed")
				t.Fatalf("never came true: %s; the page says %q", expression, c.text("#mapStatus"))
			}
			time.Sleep(50 * time.Millisecond)
		}
		return time.Since(begun)
	}
	// The time between frames while an action repeats.
	frames := func(action string) float64 {
		return eval[float64](c, `(async () => { const took = [], canvas = document.querySelector(".map canvas");
			const next = () => new Promise(requestAnimationFrame);
			await next();
			for (let i = 0; i < 9; i++) { const begun = performance.now(); `+action+`;
				await next(); await next(); took.push(performance.now() - begun); }
			return took.sort((a, b) => a - b)[4]; })()`)
	}
	c.waitUntil(`document.querySelector("#about").textContent.includes("items in large")`)
	if asked := c.text("#drop"); strings.Contains(asked, "or") { // a collection of vectors takes no photos
		t.Errorf("the page asks for %q", asked)
	}
	c.click("#showMap")
	opened := settled(`document.querySelector(".map output")`)
	if got, want := c.text(".map output"), fmt.Sprintf("%s items", formatThousands(n)); got != want {
		t.Errorf("the map has %s, want %s", got, want)
	}
	bytes := eval[float64](c, `performance.getEntriesByType("resource").filter(r => r.name.includes("/v1/map")).
		reduce((sum, r) => sum + r.transferSize, 0)`)
	drawn := eval[float64](c, `(() => { const k = document.querySelector(".map canvas");
		const d = k.getContext("2d").getImageData(0, 0, k.width, k.height).data;
		let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n / (d.length / 4); })()`)
	if drawn < 0.05 {
		t.Errorf("%.3f of the map's area is drawn", drawn)
	}
	c.saveScreenshot("million")
	pan := frames(`canvas.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "ArrowLeft" : "ArrowRight", bubbles: true }))`)
	zoom := frames(`canvas.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "-" : "+", bubbles: true }))`)
	p := c.middleOf(".map canvas")
	hover := frames(fmt.Sprintf(`canvas.dispatchEvent(new PointerEvent("pointermove",
		{ clientX: %g + i, clientY: %g, pointerType: "mouse", bubbles: true }))`, p.X, p.Y))
	legend := frames(`document.querySelector(".legend button").dispatchEvent(new PointerEvent(i % 2 ? "pointerenter" : "pointerleave",
		{ pointerType: "mouse" }))`)
	c.do(chromedp.Focus(chromedp.CSS(".map canvas")))
	for range 6 {
		c.key("+")
	}
	c.saveScreenshot("million-near")
	c.key("0")
	begun := time.Now()
	c.click(".tools button:last-child")
	p = c.middleOf(".map canvas")
	box := eval[place](c, `(() => { const b = document.querySelector(".map canvas").getBoundingClientRect();
		return {X: b.width / 2 - 4, Y: b.height / 2 - 4}; })()`)
	for i, d := range []place{{-box.X, -box.Y}, {0, -box.Y}, {0, box.Y}, {-box.X, box.Y}, {-box.X, 0}} {
		kind := input.DispatchMouseEventTypeMouseMoved
		if i == 0 {
			kind = input.DispatchMouseEventTypeMousePressed
		}
		c.mouse(kind, p.X+d.X, p.Y+d.Y)
	}
	c.mouse(input.DispatchMouseEventTypeMouseReleased, p.X-box.X, p.Y)
	settled(`/^[\d,]+ of [\d,]+ items$/.test(document.querySelector(".map output").textContent)`)
	lasso := time.Since(begun)
	c.do(chromedp.Focus(chromedp.CSS(".map canvas")))
	c.key(kb.Escape)
	begun = time.Now()
	c.do(chromedp.Evaluate[chromedp.Void](`{ const s = document.querySelector(".map select"); s.value = 1;
		s.dispatchEvent(new Event("change")); }`))
	settled(`document.querySelectorAll(".legend button").length === 9`)
	recoloured := time.Since(begun)
	heap := eval[float64](c, `performance.memory?.usedJSHeapSize ?? 0`)
	t.Logf("%d items: %.1f MB, open after %v, a frame of panning %.0f ms, zooming %.0f, hovering %.0f, "+
		"the legend %.0f; lasso %v, another column %v, %.0f MB of JavaScript", n, bytes/1e6,
		opened.Round(time.Millisecond), pan, zoom, hover, legend,
		lasso.Round(time.Millisecond), recoloured.Round(time.Millisecond), heap/1e6)
}

// formatThousands writes a number in the form of the page.
func formatThousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", formatThousands(n/1000), n%1000)
}
