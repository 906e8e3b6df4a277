package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/page"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve"
	"github.com/kindred-ml/kindred/store"
)

// meanColour embeds a picture by its mean colour.
type meanColour struct{}

func (meanColour) Decode(ctx context.Context, p *imaging.Picture, maxPixels int) (*imaging.Image, error) {
	im := new(imaging.Image)
	return im, p.Decode(ctx, &imaging.Decoder{MaxPixels: maxPixels}, im)
}

func (meanColour) Embed(_ context.Context, pictures []*imaging.Image) (*matrix.Dense, error) {
	x := matrix.New(len(pictures), 3)
	for i, im := range pictures {
		im.SetChannels(3)
		for p, v := range im.Pix {
			x.Row(i)[p%3] += float32(v) / float32(len(im.Pix)/3) / 255
		}
	}
	return x, nil
}

// classText embeds "class 3" as the photos of this class.
type classText struct{}

func (classText) Embed(_ context.Context, texts []string) (*matrix.Dense, error) {
	x := matrix.New(len(texts), 3)
	for i, text := range texts {
		var k int
		if _, err := fmt.Sscanf(text, "class %d", &k); err != nil {
			return nil, err
		}
		copy(x.Row(i), []float32{0.47, float32(40+2*k) / 255, float32(200-2*k) / 255})
	}
	return x, nil
}

// startServer starts a server with two collections of the photos: one embeds them by their
// colours, and in the other each class is a point.
func startServer(t *testing.T) (address string, photo string) {
	t.Helper()
	dir := t.TempDir()
	names := writePhotos(t, dir)[:8*perClass] // the last class is called <script>
	colours, points := &storetest.Memory{Dim: 3}, &storetest.Memory{Dim: 3}
	var seen, collapsed []store.Item
	for i, n := range names {
		k := i / perClass
		it := store.Item{ID: n, Path: filepath.Join(dir, filepath.FromSlash(n)),
			Columns: map[string]any{"label": className(k), "price": float64(i % perClass), "sold": i%2 == 0}}
		it.Vector = []float32{0.47 + 0.001*float32(i%perClass), float32(40+2*k) / 255, float32(200-2*k) / 255}
		seen = append(seen, it)
		it.Vector = []float32{float32(k % 2), float32(k / 2 % 2), float32(k/4) + 1e-6*float32(i%perClass)}
		collapsed = append(collapsed, it)
	}
	// One photo has two names.
	twice := seen[2*perClass+5]
	twice.ID = "copies of it.jpg"
	seen = append(seen, twice)
	for m, items := range map[*storetest.Memory][]store.Item{colours: seen, points: collapsed} {
		if err := m.Put(t.Context(), items, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	s, err := serve.New(serve.Options{Page: page.Handler(), Limits: serve.Limits{Rate: -1},
		Collections: []serve.Collection{
			{Name: "colours", Store: colours, Embedder: meanColour{}, TextEmbedder: classText{},
				Folders: []string{dir}},
			{Name: "points", Store: points, Embedder: meanColour{}, Folders: []string{dir}},
			{Name: "database", Store: struct{ store.Store }{points}, Folders: []string{dir}},
			{Name: "nothing", Store: &storetest.Memory{Dim: 3}, Folders: []string{dir}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	return listening.URL + "/", filepath.Join(dir, filepath.FromSlash(names[3*perClass]))
}

// TestServe uses the page of the server as a reader does.
func TestServe(t *testing.T) {
	c := startChrome(t)
	address, photo := startServer(t)
	id := className(2) + "/photo_0125.jpg"
	of := func(query string) string {
		return address + "?" + strings.ReplaceAll(strings.ReplaceAll(query, " ", "%20"), "/", "%2F")
	}
	for name, query := range map[string]string{"serve": "id=" + id, "serve-two": "versus=points&id=" + id,
		"serve-wall": "filter=price < 30"} {
		for _, width := range []int64{1300, 400} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s-%d-%s", name, width, scheme), func(t *testing.T) {
					c.t = t
					c.open(of(query), width, scheme)
					c.waitUntil(`document.querySelectorAll(".hit").length >= 20`)
					c.click("#showMap")
					c.waitUntil(`document.querySelector("#mapPlace canvas")`)
					checkLegible(c, width)
					checkNamed(c)
					c.checkQuiet()
					c.saveScreenshot(fmt.Sprintf("%s-%d-%s", name, width, scheme))
				})
			}
		}
	}
	t.Run("wall", func(t *testing.T) { c.t = t; useWall(c, address); c.checkQuiet() })
	t.Run("database", func(t *testing.T) { c.t = t; useDatabase(c, of); c.checkQuiet() })
	t.Run("itself", func(t *testing.T) { c.t = t; useCopies(c, of("id="+id)); c.checkQuiet() })
	t.Run("unknown", func(t *testing.T) { c.t = t; useUnknown(c, of("id=photo_012")) })
	t.Run("photo", func(t *testing.T) { c.t = t; usePhoto(c, address, photo); c.checkQuiet() })
	t.Run("words", func(t *testing.T) { c.t = t; useWords(c, of); c.checkQuiet() })
	t.Run("camera", func(t *testing.T) { c.t = t; useCamera(c, address); c.checkQuiet() })
	t.Run("compare", func(t *testing.T) { c.t = t; useCompare(c, of("versus=points&id="+id)); c.checkQuiet() })
	t.Run("map", func(t *testing.T) { c.t = t; useServedMap(c, of("id="+id)); c.checkQuiet() })
	t.Run("following", func(t *testing.T) { c.t = t; useFollowing(c); c.checkQuiet() })
	t.Run("mistakes", func(t *testing.T) {
		c.t = t
		c.open(of("filter=price <&id="+id), 400, "light")
		c.waitUntil(`!document.querySelector("#error").hidden`)
		c.checkContains("the error", c.text("#error"), "filter")
	})
}

// useWords searches by words, filters, walks on, goes back, and loads the page again.
func useWords(c *chrome, of func(query string) string) {
	c.t.Helper()
	c.open(of("collection=points"), 400, "light")
	c.waitUntil(`document.querySelectorAll(".hit").length > 0`)
	if said := c.text("#or"); said != "or an item’s id" {
		c.t.Errorf("%q for a collection that takes no words", said)
	}
	c.open(of(""), 1300, "light")
	c.waitUntil(`document.querySelector("#or").textContent === "or words, or an item’s id"`)
	c.do(chromedp.SendKeys(chromedp.CSS("#id"), "class 3"+kb.Enter))
	c.waitUntil(hasTwenty)
	words := hitIDs(c)
	c.checkContains("the address", eval[string](c, `location.search`), "text=class+3")
	checkNamed(c)
	checkLegible(c, 1300)
	c.click(".hit")
	c.waitUntil(`location.search.includes("id=") && !location.search.includes("text=")`)
	c.waitUntil(hasTwenty)
	c.do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	c.waitUntil(`location.search.includes("text=") && document.querySelector("#id").value === "class 3"`)
	c.waitUntil(hasTwenty)
	if got := hitIDs(c); !slices.Equal(got, words) {
		c.t.Errorf("after going back: %v, want %v", got, words)
	}
	// What is an id is an item, also where words are taken.
	c.do(chromedp.SetValue(chromedp.CSS("#id"), "copies of it.jpg"))
	c.do(chromedp.SendKeys(chromedp.CSS("#id"), kb.Enter))
	c.waitUntil(`location.search.includes("id=copies+of+it.jpg")`)
	c.waitUntil(hasTwenty)
	c.open(of("text=class 3&filter=price < 5"), 400, "dark")
	c.waitUntil(`document.querySelector("#status").textContent.startsWith("20 neighbours among") &&
		document.querySelector("#status").textContent.includes("price < 5")`)
	c.checkContains("the page", c.text("#found"), "distance")
}

// useFollowing reads how a collection follows a folder, and sees that change.
func useFollowing(c *chrome) {
	c.t.Helper()
	f, m := serve.NewFolderSync("photos/<b>", "/photos/<b>", nil), &storetest.Memory{Dim: 3}
	f.ReportEmbedding(120, 1900)
	s, err := serve.New(serve.Options{Page: page.Handler(), Limits: serve.Limits{Rate: -1},
		Collections: []serve.Collection{{Name: "things", Store: m, FolderSync: f}}})
	if err != nil {
		c.t.Fatal(err)
	}
	defer s.Close()
	listening := httptest.NewServer(s)
	defer listening.Close()
	says := func(start string) {
		c.t.Helper()
		c.waitUntil(fmt.Sprintf(`!document.querySelector("#following").hidden &&
			document.querySelector("#following").textContent.startsWith(%q)`, "Following photos/<b>: "+start))
	}
	c.open(listening.URL, 400, "light")
	says("120 of 1,900 photos embedded")
	if err := m.Put(c.t.Context(), []store.Item{{ID: "a", Vector: []float32{1, 2, 3}}}, store.Insert); err != nil {
		c.t.Fatal(err)
	}
	f.ReportCompared(serve.SyncResult{Changes: map[string]int{"added": 1}})
	says("up to date at ")
	c.checkContains("the number of items", c.text("#about"), "1 item")
	checkLegible(c, 400)
	checkNamed(c)
	f.ReportFailed(errors.New("no folder"))
	c.open(listening.URL, 1300, "dark")
	says("failed: no folder")
}

// checkNamed checks that every control has a name for screen readers.
func checkNamed(c *chrome) {
	c.t.Helper()
	if nameless := eval[[]string](c, `[...document.querySelectorAll("button, input, select, summary, [tabindex='0']")].
		filter(e => e.checkVisibility() && !(e.getAttribute("aria-label") || e.innerText?.trim() || e.labels?.[0]?.innerText.trim() || e.title)).
		map(e => e.outerHTML.slice(0, 100))`); len(nameless) > 0 {
		c.t.Errorf("without a name: %q", nameless)
	}
}

// hasTwenty is true once a search shows 20 neighbours.
const hasTwenty = `document.querySelector("#status").textContent.startsWith("20 neighbours among") &&
	document.querySelectorAll(".hit").length === 20`

// isPictureSearch is true while an uploaded photo is looked up, which the address names.
const isPictureSearch = `/[?&]picture=[0-9a-f]{64}/.test(location.search)`

// hitIDs returns the ids of the neighbours.
func hitIDs(c *chrome) []string {
	c.t.Helper()
	return eval[[]string](c, `[...document.querySelectorAll(".list:first-child .hit")].map(h => h.dataset.id)`)
}

// usePhoto uploads a photo, reads its neighbours, filters, crops, walks and goes back.
func usePhoto(c *chrome, address, photo string) {
	c.open(address, 1300, "light")
	c.waitUntil(`document.querySelector("#about").textContent.includes("481 items in colours")`)
	c.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{photo}))
	c.waitUntil(hasTwenty + ` && document.querySelector(".hit img").naturalWidth > 0`)
	whole := hitIDs(c)
	if !strings.HasPrefix(whole[0], className(3)) {
		c.t.Errorf("the nearest is %s", whole[0])
	}
	c.checkContains("the page", c.text("#found"), "20 neighbours among 481 items", "distance 0.")
	// A part of it, and back to the whole.
	p := c.middleOf("#shown")
	c.mouse(input.DispatchMouseEventTypeMousePressed, p.X-30, p.Y-25)
	c.mouse(input.DispatchMouseEventTypeMouseMoved, p.X, p.Y)
	c.mouse(input.DispatchMouseEventTypeMouseMoved, p.X+20, p.Y+10)
	c.mouse(input.DispatchMouseEventTypeMouseReleased, p.X+20, p.Y+10)
	c.waitUntil(`!document.querySelector("#part").hidden && location.search.includes("crop=")`)
	c.waitUntil(hasTwenty)
	c.saveScreenshot("use-serve-crop")
	part := hitIDs(c)
	c.open(eval[string](c, `location.href`), 1300, "light")
	c.waitUntil(`!document.querySelector("#part").hidden && ` + hasTwenty)
	if got := hitIDs(c); !slices.Equal(got, part) {
		c.t.Errorf("loaded again, the part finds %q, before %q", got, part)
	}
	c.do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	c.waitUntil(`document.querySelector("#part").hidden && ` + isPictureSearch)
	// Cheap ones only.
	c.do(chromedp.SendKeys(chromedp.CSS("#filter"), "price < 10"+kb.Enter))
	c.waitUntil(`document.querySelector("#status").textContent.includes("those with price < 10")`)
	prices := eval[[]float64](c, `[...document.querySelectorAll(".hits dd:nth-of-type(2)")].map(d => +d.textContent)`)
	if len(prices) != 20 || slices.Max(prices) >= 10 {
		c.t.Errorf("prices %v", prices)
	}
	// From neighbour to neighbour by keys, and Back to the photo.
	cheap := hitIDs(c)
	c.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	c.key(kb.ArrowRight)
	c.key(kb.ArrowRight)
	c.key(kb.Enter)
	c.waitUntil(`new URLSearchParams(location.search).get("id")`)
	if now := eval[string](c, `new URLSearchParams(location.search).get("id")`); now != cheap[1] {
		c.t.Errorf("walked to %s, want %s", now, cheap[1])
	}
	c.waitUntil(hasTwenty + ` && document.querySelector("#of").innerText.includes("price")`)
	if slices.Contains(hitIDs(c), cheap[1]) {
		c.t.Error("an item is among its own neighbours")
	}
	c.do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	c.waitUntil(isPictureSearch + ` && ` + hasTwenty)
	c.waitUntil(fmt.Sprintf(`document.querySelector(".hit").dataset.id === %q`, cheap[0]))
	// Pasted and dropped.
	for _, event := range []string{`new ClipboardEvent("paste", { clipboardData: d })`,
		`new DragEvent("drop", { dataTransfer: d })`} {
		c.do(chromedp.Evaluate[chromedp.Void](`{ window.was = location.search; const k = document.createElement("canvas"); k.width = k.height = 40;
			k.getContext("2d").fillRect(0, 0, 40, 20 + 20 * Math.random());
			k.toBlob(b => { const d = new DataTransfer(); d.items.add(new File([b], "p.png", { type: "image/png" })); dispatchEvent(` +
			event + `); }); }`))
		c.waitUntil(`window.was !== location.search && ` + isPictureSearch + ` && ` + hasTwenty)
	}
}

// useWall begins without a photo. It shows random items, more items, other items, and items
// that pass a filter, each with the count and with the state in the address.
func useWall(c *chrome, address string) {
	c.t.Helper()
	c.open(address, 390, "light")
	c.waitUntil(`document.querySelectorAll(".hit").length === 20 && document.querySelector("#filter").placeholder`)
	if top := eval[float64](c, `document.querySelector(".hits").getBoundingClientRect().top`); top > 450 {
		c.t.Errorf("the items begin at %g", top)
	}
	c.checkContains("the status", c.text("#status"), "481 items: 20 of them, drawn at random")
	c.checkContains("the example", eval[string](c, `document.querySelector("#filter").placeholder`), "price < ", " and sold")
	if there := eval[string](c, `document.querySelector("#id").placeholder`); !strings.Contains(there, "photo_") {
		c.t.Errorf("the id %q is shown", there)
	}
	checkNamed(c)
	first := hitIDs(c)
	c.click("#more")
	c.waitUntil(`document.querySelectorAll(".hit").length === 40`)
	c.waitUntil(`document.activeElement === document.querySelectorAll(".hit")[20]`)
	more := hitIDs(c)
	if !slices.Equal(more[:20], first) || len(slices.Compact(slices.Sorted(slices.Values(more)))) != 40 {
		c.t.Errorf("after %q come %q", first, more)
	}
	c.click("#others")
	c.waitUntil(`new URLSearchParams(location.search).get("seed") === "2" && document.querySelectorAll(".hit").length === 20`)
	if slices.Equal(hitIDs(c), first) {
		c.t.Error("other items are the same")
	}
	c.do(chromedp.SendKeys(chromedp.CSS("#filter"), "price < 4 and sold"+kb.Enter))
	c.waitUntil(`document.querySelector("#status").textContent.includes("16 of 481 items pass price < 4 and sold")`)
	some := hitIDs(c)
	if len(some) != 16 || eval[bool](c, `!document.querySelector("#further").hidden`) {
		c.t.Errorf("of 16 there are %q, and more", some)
	}
	// It is the same after loading again, and after Back.
	c.do(chromedp.Evaluate[chromedp.Void](`window.old = true; location.reload()`))
	c.waitUntil(`!window.old && document.querySelectorAll(".hit").length === 16`)
	if now := hitIDs(c); !slices.Equal(now, some) {
		c.t.Errorf("loaded again %q, before %q", now, some)
	}
	c.do(chromedp.Focus(chromedp.CSS(".hit")))
	c.key(kb.Enter)
	c.waitUntil(`new URLSearchParams(location.search).get("id") && document.querySelector("#status").textContent.includes("neighbours")`)
	c.do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	c.waitUntil(`document.querySelectorAll(".hit").length === 16`)
	c.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#filter").value = "price > 1e9"`),
		chromedp.Focus(chromedp.CSS("#filter")))
	c.key(kb.Enter)
	c.waitUntil(`document.querySelector("#status").textContent === "0 of 481 items pass price > 1e9"`)
}

// useDatabase uses a database, which cannot draw and count items, and one without items.
func useDatabase(c *chrome, of func(query string) string) {
	c.t.Helper()
	c.open(of("collection=database&k=10"), 1300, "light")
	c.waitUntil(`document.querySelectorAll(".hit").length === 10 && document.querySelector("#filter").placeholder`)
	c.checkContains("the status", c.text("#status"), "Items: the first 10 by their ids.")
	c.click("#more")
	c.waitUntil(`document.querySelectorAll(".hit").length === 20`)
	if eval[bool](c, `document.querySelector("#others").checkVisibility()`) {
		c.t.Error("a database draws no others")
	}
	c.open(of("collection=database&filter=price = 7"), 1300, "light")
	c.waitUntil(`document.querySelector("#status").textContent.startsWith("8 of 480 items pass price = 7.")`)
	c.open(of("collection=nothing"), 1300, "light")
	c.waitUntil(`document.querySelector("#status").textContent === "0 items"`)
	if n := eval[int](c, `document.querySelectorAll(".hit").length`); n != 0 {
		c.t.Errorf("%d items of none", n)
	}
}

// useCopies searches by an item with a copy under another name. The copy is left out of the
// answer, and a link leads to it.
func useCopies(c *chrome, address string) {
	c.open(address, 1300, "light")
	c.waitUntil(`document.querySelectorAll(".hit").length === 20`)
	if found := hitIDs(c); slices.Contains(found, "copies of it.jpg") {
		c.t.Errorf("a copy is among %q", found)
	}
	c.checkContains("the answer", c.text("#answer"), "Already here? Yes", "This very picture is here",
		"copies of it.jpg")
	c.click("#answer .large a")
	c.waitUntil(`new URLSearchParams(location.search).get("id") === "copies of it.jpg"`)
}

// useUnknown asks for an id that does not exist, and sees similar ids.
func useUnknown(c *chrome, address string) {
	c.open(address, 390, "light")
	c.waitUntil(`!document.querySelector("#error").hidden`)
	c.checkContains("the error", c.text("#error"), "No item of colours is called “photo_012”.")
	c.waitUntil(`document.querySelectorAll(".hit").length === 10`)
	c.checkContains("the status", c.text("#status"), "Items with a name like it:")
	if eval[bool](c, `!document.querySelector("#query").hidden`) {
		c.t.Error("there is a place for a photo that is not there")
	}
	checkLegible(c, 390)
}

// useCamera takes a photo with the browser's test camera, after one cancelled attempt.
func useCamera(c *chrome, address string) {
	c.open(address, 1300, "light")
	c.waitUntil(`document.querySelector("#about").textContent.includes("481 items in colours")`)
	for _, button := range []string{"#cameraDialog button:last-child", "#shoot"} {
		c.click("#take")
		c.waitUntil(`document.querySelector("#cameraDialog").open && !document.querySelector("#shoot").disabled`)
		checkNamed(c)
		c.saveScreenshot("use-serve-camera")
		c.click(button)
		c.waitUntil(`!document.querySelector("#cameraDialog").open && !document.querySelector("#seen").srcObject`)
	}
	c.waitUntil(isPictureSearch + ` && ` + hasTwenty)
	if w := eval[int](c, `document.querySelector("#shown").naturalWidth`); w < 320 {
		c.t.Errorf("a photo %d wide", w)
	}
}

// useCompare compares the neighbours of two networks, each with notes.
func useCompare(c *chrome, address string) {
	c.open(address, 1300, "dark")
	c.waitUntil(`document.querySelectorAll(".list .notes").length === 2`)
	c.checkContains("the page", c.text("#lists"), "colours", "points")
	c.checkContains("the notes", c.text(".list:nth-child(2) .notes"), "neighbours are of")
	c.checkContains("the status", c.text("#status"), "are found by both")
}

// useServedMap uses the lasso on the map of all items, and searches from it.
func useServedMap(c *chrome, address string) {
	c.open(address, 1300, "light")
	c.waitUntil(`document.querySelector(".hit")`)
	c.click("#showMap")
	c.waitUntil(`document.querySelector("#mapPlace canvas")`)
	c.waitUntil(`document.querySelector(".map output").textContent === "481 items"`)
	if n := eval[int](c, `document.querySelectorAll(".legend button").length`); n != 8 {
		c.t.Errorf("%d classes in the legend", n)
	}
	c.do(chromedp.Evaluate[chromedp.Void](`window.saved = null; { const make = URL.createObjectURL;
		URL.createObjectURL = b => { if (b.type === "text/csv") b.text().then(s => window.saved = s); return make(b); }; }`))
	c.click(".tools button:last-child")
	p := c.middleOf(".map canvas")
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
	c.waitUntil(`/^\d+ of 481 items$/.test(document.querySelector(".map output").textContent)`)
	c.click(".map .status button:last-child")
	c.waitUntil(`window.saved`)
	csv := eval[string](c, `window.saved`)
	chosen := eval[int](c, `parseInt(document.querySelector(".map output").textContent)`)
	c.checkContains("the CSV", csv, "row,path,x,y,label,price,sold\n", "/photo_")
	if n := strings.Count(csv, "\n"); n != chosen+1 {
		c.t.Errorf("%d lines of CSV for %d items", n, chosen)
	}
	// A number colours it in ranges.
	c.do(chromedp.Evaluate[chromedp.Void](`{ const s = document.querySelector(".map select"); s.value = 1; s.dispatchEvent(new Event("change")); }`))
	c.waitUntil(`document.querySelectorAll(".legend button").length === 9`)
	c.saveScreenshot("use-serve-map")
	c.do(chromedp.Focus(chromedp.CSS(".map canvas")))
	c.key("n")
	c.key(kb.Enter)
	c.waitUntil(`document.querySelector(".card.pinned .button-search")`)
	at := eval[string](c, `document.querySelector(".card.pinned p").textContent`)
	c.click(".card.pinned .button-search")
	c.waitUntil(fmt.Sprintf(`new URLSearchParams(location.search).get("id") === %q`, at))
}
