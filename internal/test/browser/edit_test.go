package browser

import (
	"context"
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/page"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve"
	"github.com/kindred-ml/kindred/store"
)

const (
	posters    = 24 // classes of the shop
	perPoster  = 6
	calibrated = 60 // classes of its calibration
)

// posterLabel returns the label of a class of the shop: they differ at the end.
func posterLabel(k int) string {
	return fmt.Sprintf("posters of birds/of the northern woods/in winter no. %02d", k)
}

// shadeOf returns a colour of a class, near those of the same class.
func shadeOf(rng *rand.Rand, k int) color.RGBA {
	of := rand.New(rand.NewPCG(uint64(k), 7))
	near := func() uint8 { return uint8(10 + of.IntN(230) + rng.IntN(7)) }
	return color.RGBA{near(), near(), near(), 255}
}

func colourVector(c color.RGBA) []float32 {
	return []float32{float32(c.R) / 255, float32(c.G) / 255, float32(c.B) / 255}
}

// writePlain writes a picture of one colour.
func writePlain(t *testing.T, path string, c color.RGBA) {
	t.Helper()
	im := image.NewRGBA(image.Rect(0, 0, 120, 90))
	draw.Draw(im, im.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, im); err != nil {
		t.Fatal(err)
	}
}

// shop is a server with keys. Its collection shop has a calibration and follows a folder in which photos are missing;
// other has the same network.
type shop struct {
	address, writer, reader string
	dir                     string
	shop, other             networkStore
	items                   []store.Item
}

// networkStore is a store whose items were embedded by a network with a name.
type networkStore struct{ *storetest.Memory }

// Info implements store.Store.
func (n networkStore) Info(ctx context.Context) (store.Info, error) {
	info, err := n.Memory.Info(ctx)
	info.Network = "runs/colours"
	return info, err
}

// startShop starts a shop.
func startShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{dir: t.TempDir(), shop: networkStore{&storetest.Memory{Dim: 3}},
		other: networkStore{&storetest.Memory{Dim: 3}}}
	photos, rng := filepath.Join(s.dir, "photos"), rand.New(rand.NewPCG(1, 2))
	x, labels := matrix.New(calibrated*perPoster, 3), []int64{}
	for i := range posters * perPoster {
		k := i / perPoster
		c := shadeOf(rng, k)
		it := store.Item{ID: fmt.Sprintf("no%02d/photo_%03d.png", k, i), Vector: colourVector(c),
			Columns: map[string]any{"label": posterLabel(k), "price": float64(i % 10)}}
		it.Path = filepath.Join(photos, filepath.FromSlash(it.ID))
		writePlain(t, it.Path, c)
		s.items = append(s.items, it)
	}
	for i := range calibrated * perPoster {
		k := 1000 + i/perPoster
		copy(x.Row(i), colourVector(shadeOf(rng, k)))
		labels = append(labels, int64(k))
	}
	says, err := decide.Calibrate(t.Context(), x, labels, decide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for m, items := range map[networkStore][]store.Item{s.shop: s.items, s.other: s.items[len(s.items)-1:]} {
		if err := m.Put(t.Context(), items, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	lines := ""
	for right, to := range map[serve.Permission]*string{serve.Read: &s.reader, serve.Write: &s.writer} {
		secret, line, err := serve.NewKey(fmt.Sprintf("key%d", right), right)
		if err != nil {
			t.Fatal(err)
		}
		*to = secret
		lines += line + "\n"
	}
	keyFile := filepath.Join(s.dir, "keys")
	writeFile(t, keyFile, lines)
	keys, err := serve.OpenKeys(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Page: page.Handler(), Limits: serve.Limits{Rate: -1}, Keys: keys,
		Collections: []serve.Collection{
			{Name: "shop", Store: s.shop, Embedder: meanColour{}, Folders: []string{photos}, Calibration: says,
				Uploads: filepath.Join(s.dir, "uploads"), FolderSync: missingState(t, s.items[:30])},
			{Name: "other", Store: s.other, Embedder: meanColour{}, Uploads: filepath.Join(s.dir, "others")},
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	s.address = listening.URL + "/"
	return s
}

// missingState is the state of following a folder in which the photos of items are missing.
func missingState(t *testing.T, items []store.Item) *serve.FolderSync {
	t.Helper()
	dir, p := t.TempDir(), &serve.PendingRemovals{ID: "missing", Items: posters * perPoster}
	for _, it := range items {
		p.Removed = append(p.Removed, it.ID)
	}
	writeFile(t, filepath.Join(dir, mirror.RemovalsFileName), `{"format": 1, "pending": "missing"}`)
	removals, err := mirror.OpenRemovals(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := serve.NewFolderSync("/home/owner/photos", "/home/owner/photos",
		func(p *serve.PendingRemovals, remove bool) error {
			return removals.Decide((*mirror.Pending)(p), remove)
		})
	f.ReportCompared(serve.SyncResult{Pending: p, LeftOut: []data.LeftOut{
		{Reason: "no decoder", Count: 7, First: []string{"a.heic", "b.heic"}}, {Reason: "no image", Count: 1,
			First: []string{"c.jpg"}}}})
	return f
}

// key types a key into the dialog.
func (s *shop) key(c *chrome, key string) {
	c.t.Helper()
	c.waitUntil(`document.querySelector("#keyDialog")?.open`)
	c.do(chromedp.SendKeys(chromedp.CSS("#key"), key+kb.Enter))
}

// dropPicture drops a picture of one colour on an element.
func dropPicture(c *chrome, selector, colour string) {
	c.t.Helper()
	eval[bool](c, fmt.Sprintf(`(async () => {
		const d = new DataTransfer(), k = document.createElement("canvas"), g = k.getContext("2d");
		[k.width, k.height] = [120, 90];
		g.fillStyle = %q;
		g.fillRect(0, 0, 120, 90);
		d.items.add(new File([await new Promise(f => k.toBlob(f))], "dropped.png", { type: "image/png" }));
		return !document.querySelector(%q).dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true }));
	})()`, colour, selector))
}

// TestServeEdits uses the page as the owner of a shop does, at both widths and in both schemes, and as a visitor.
func TestServeEdits(t *testing.T) {
	c, script := startChrome(t), readAxe(t)
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d-%s", width, scheme), func(t *testing.T) {
				c.t = t
				s := startShop(t)
				looked := func(name string) {
					c.t.Helper()
					checkLegible(c, width)
					checkNamed(c)
					checkAccessible(c, script)
					c.saveScreenshot(fmt.Sprintf("edit-%s-%d-%s", name, width, scheme))
					c.do(chromedp.EmulateViewport(width, 900))
				}
				open := func(query string) {
					c.t.Helper()
					c.open("about:blank", width, scheme)
					c.open(s.address+strings.NewReplacer(" ", "%20", "/", "%2F").Replace(query), width, scheme)
				}
				open("")
				typeWrongKey(c, s, looked)
				type act = func(c *chrome, s *shop, open, looked func(string))
				for _, use := range []act{usePending, useSelection, useRelabel, useRemoval, useMove, useAdding,
					useLasso, useCategories, useIdentify, useOrder, useErrors} {
					use(c, s, open, looked)
				}
				c.do(chromedp.Evaluate[chromedp.Void](`sessionStorage.clear()`))
				open("")
				useAsReader(c, s, looked)
				c.do(chromedp.Evaluate[chromedp.Void](`sessionStorage.clear()`))
			})
		}
	}
}

// typeWrongKey types a wrong key, and then the writer's, which the tab keeps.
func typeWrongKey(c *chrome, s *shop, looked func(string)) {
	c.t.Helper()
	s.key(c, "not-the-key")
	c.waitUntil(`document.querySelector("#keyDialog")?.open && !document.querySelector("#keyWrong").hidden`)
	c.checkContains("the dialog", c.text("#keyDialog"), "The key is wrong")
	looked("wrong-key")
	if eval[int](c, `sessionStorage.length`) > 0 {
		c.t.Error("the tab keeps a wrong key")
	}
	s.key(c, s.writer)
	c.waitUntil(`document.querySelectorAll(".hit").length === 20 && sessionStorage.length === 1`)
}

// usePending sees that photos are missing, and keeps their items.
func usePending(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	open("")
	c.waitUntil(`document.querySelectorAll("#pending li").length === 8`)
	c.checkContains("the change", c.text("#pending"), "30 photos of 144 are no longer in the folder",
		"6 of posters", "no. 00", "no. 04", "Remove 30 items", "Keep them")
	c.checkContains("the head", c.text("#following"), "Following /home/owner/photos")
	c.click("#leftOut summary")
	c.checkContains("the head", c.text("#leftOut"), "8 files left out", "no decoder: a.heic, b.heic and 5 more")
	looked("pending")
	c.click("#pending button:nth-of-type(2)")
	c.waitUntil(`document.querySelector("#pending").hidden && document.querySelectorAll("#lists .hit").length === 20`)
}

// waitSelected waits for a number of selected items.
func waitSelected(c *chrome, n int) {
	c.t.Helper()
	s := "s"
	if n == 1 {
		s = ""
	}
	c.waitUntil(fmt.Sprintf(`!document.querySelector("#selection").hidden && document.querySelector("#chosenCount").textContent === "%d item%s selected"`, n, s))
}

// useSelection selects by clicks, with Shift, and by keys.
func useSelection(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	open("?sort=name")
	c.waitUntil(`document.querySelectorAll(".hit").length === 20`)
	c.click("li:nth-child(2) > .pick")
	waitSelected(c, 1)
	eval[bool](c, `document.querySelector("li:nth-child(5) > .pick").dispatchEvent(new MouseEvent("click", { shiftKey: true, bubbles: true, cancelable: true }))`)
	waitSelected(c, 4)
	if got := eval[[]string](c,
		`[...document.querySelectorAll(".chosen .hit")].map(h => h.dataset.id)`); !slices.Equal(got, hitIDs(c)[1:5]) {
		c.t.Errorf("selected %q", got)
	}
	looked("selected")
	c.do(chromedp.Focus(chromedp.CSS("li:nth-child(3) > .hit")))
	c.key("x")
	waitSelected(c, 3)
	c.key(" ")
	waitSelected(c, 4)
	c.key(kb.Escape)
	c.waitUntil(`document.querySelector("#selection").hidden && !document.querySelector(".pick:checked")`)
	c.do(chromedp.Focus(chromedp.CSS(".hit")))
	for range 3 {
		c.do(chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift)))
	}
	waitSelected(c, 4)
	// What is chosen stays while more items come, and is downloaded as it is shown.
	c.click("#more")
	c.waitUntil(`document.querySelectorAll(".hit").length === 40 && document.querySelectorAll(".pick:checked").length === 4`)
	keepSaved(c)
	c.click(`#selection [data-save="manifest"]`)
	rows := savedRows(c)
	if len(rows) != 5 || !slices.Equal(rows[0], []string{"path", "label", "price"}) ||
		!strings.HasPrefix(rows[1][0], s.dir) {
		c.t.Errorf("the manifest is %q", rows)
	}
	c.click("#save summary")
	c.click(`#save [data-save="csv"]`)
	if rows = savedRows(c); len(rows) != 41 || !slices.Equal(rows[0], []string{"id", "path", "label", "price"}) {
		c.t.Errorf("the table is %q", rows)
	}
	c.click("#chooseNone")
	c.waitUntil(`document.querySelector("#selection").hidden`)
}

// keepSaved keeps the texts that the page saves as files.
func keepSaved(c *chrome) {
	c.t.Helper()
	c.do(chromedp.Evaluate[chromedp.Void](`window.saved = ""; { const make = URL.createObjectURL;
		URL.createObjectURL = b => { if (b.type === "text/csv") b.text().then(s => window.saved = s); return make(b); }; }`))
}

// savedRows returns the rows of the file that the page has saved.
func savedRows(c *chrome) [][]string {
	c.t.Helper()
	c.waitUntil(`window.saved`)
	rows, err := csv.NewReader(strings.NewReader(eval[string](c,
		`(() => { const s = window.saved; window.saved = ""; return s; })()`))).ReadAll()
	if err != nil {
		c.t.Error(err)
	}
	return rows
}

// waitChanged waits for what the page says of a change.
func waitChanged(c *chrome, text string) {
	c.t.Helper()
	c.waitUntil(fmt.Sprintf(`document.querySelector("#changed").textContent === %q`, text))
}

// labelOf returns the label of an item of the shop.
func (s *shop) labelOf(t *testing.T, id string) any {
	t.Helper()
	it, err := s.shop.Get(t.Context(), id)
	if err != nil {
		t.Error(err)
	}
	return it.Columns["label"]
}

// selectFirst selects the first items of the page by their ids.
func selectFirst(c *chrome, n int) []string {
	c.t.Helper()
	c.waitUntil(`document.querySelectorAll(".hit").length >= 20`)
	for i := range n {
		c.click(fmt.Sprintf("li:nth-child(%d) > .pick", i+1))
	}
	waitSelected(c, n)
	return hitIDs(c)[:n]
}

// useRelabel gives items another label, one of which has it already, and undoes it by the keyboard.
func useRelabel(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	open("?sort=name")
	ids := selectFirst(c, 3)
	before := s.labelOf(c.t, ids[0])
	c.do(chromedp.Focus(chromedp.CSS("#newLabel")))
	c.waitUntil(fmt.Sprintf(`document.querySelectorAll("#labels option").length === %d`, posters))
	c.do(chromedp.SendKeys(chromedp.CSS("#newLabel"), `say "one", two`))
	looked("relabel")
	c.key(kb.Enter)
	waitChanged(c, `3 items relabelled “say "one", two”`)
	if got := s.labelOf(c.t, ids[0]); got != `say "one", two` {
		c.t.Errorf("the label is %q", got)
	}
	c.waitUntil(`document.querySelector(".chosen .cols").innerText.includes("say") && document.activeElement !== document.body`)
	looked("relabelled")
	c.click("li:nth-child(4) > .pick")
	waitSelected(c, 4)
	c.do(chromedp.SendKeys(chromedp.CSS("#newLabel"), `say "one", two`+kb.Enter))
	waitChanged(c, `1 item relabelled “say "one", two”; 3 had this label already`)
	for _, text := range []string{`Undone: 1 item relabelled “say "one", two”; 3 had this label already`,
		`Undone: 3 items relabelled “say "one", two”`} {
		c.do(chromedp.Focus(chromedp.CSS(".hit")))
		c.do(chromedp.KeyEvent("z", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
		waitChanged(c, text)
	}
	looked("undone")
	if got := s.labelOf(c.t, ids[0]); got != before {
		c.t.Errorf("after undoing, the label is %q, before it was %q", got, before)
	}
	// An item that someone has removed meanwhile does not keep the others from being undone.
	c.do(chromedp.SendKeys(chromedp.CSS("#newLabel"), "other"+kb.Enter))
	waitChanged(c, "4 items relabelled “other”")
	if _, err := s.shop.Delete(c.t.Context(), ids[1:2]); err != nil {
		c.t.Fatal(err)
	}
	c.click("#undo")
	waitChanged(c, "Undone: 4 items relabelled “other”; 1 item is not there any more")
	i := slices.IndexFunc(s.items, func(it store.Item) bool { return it.ID == ids[1] })
	if err := s.shop.Put(c.t.Context(), s.items[i:i+1], store.Insert); err != nil {
		c.t.Fatal(err)
	}
	s.checkUnchanged(c)
}

// useRemoval removes items and brings them back.
func useRemoval(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	open("?sort=name")
	ids := selectFirst(c, 2)
	c.click("#remove")
	waitChanged(c, "2 items removed")
	looked("removed")
	if info, _ := s.shop.Info(c.t.Context()); info.Items != posters*perPoster-2 {
		c.t.Errorf("%d items are left", info.Items)
	}
	if slices.Contains(hitIDs(c), ids[0]) {
		c.t.Error("a removed item is shown")
	}
	c.click("#undo")
	waitChanged(c, "Undone: 2 items removed")
	s.checkUnchanged(c)
}

// checkUnchanged checks that the shop is as it was.
func (s *shop) checkUnchanged(c *chrome) {
	c.t.Helper()
	for _, want := range s.items {
		it, err := s.shop.Get(c.t.Context(), want.ID)
		if err != nil || it.Path != want.Path || it.Columns["label"] != want.Columns["label"] ||
			!slices.Equal(it.Vector, want.Vector) {
			c.t.Errorf("%s is %v (%v)", want.ID, it, err)
		}
	}
	if info, _ := s.shop.Info(c.t.Context()); info.Items != posters*perPoster {
		c.t.Errorf("the shop has %d items", info.Items)
	}
	if info, _ := s.other.Info(c.t.Context()); info.Items != 1 {
		c.t.Errorf("the other collection has %d items", info.Items)
	}
}

// useMove moves items to the other collection and back. If one of them is there already, none is moved.
func useMove(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	last := s.items[len(s.items)-2:]
	open(fmt.Sprintf(`?sort=name&filter=id in ("%s", "%s")`, last[0].ID, last[1].ID))
	c.waitUntil(`document.querySelectorAll(".hit").length === 2`)
	c.click("li:nth-child(1) > .pick")
	c.click("li:nth-child(2) > .pick")
	waitSelected(c, 2)
	c.click("#move button")
	c.waitUntil(`!document.querySelector("#error").hidden`)
	c.checkContains("the error", c.text("#error"), "Nothing was moved: other has an item “"+last[1].ID+"” already")
	s.checkUnchanged(c)
	open("?sort=name")
	ids := selectFirst(c, 2)
	c.click("#move button")
	waitChanged(c, "2 items moved to other")
	for _, id := range ids {
		it, err := s.other.Get(c.t.Context(), id)
		if err != nil || it.Columns["label"] == nil || !strings.HasPrefix(it.Path, filepath.Join(s.dir, "others")) {
			c.t.Errorf("%s is %v in the other collection (%v)", id, it, err)
		}
		if _, err := s.shop.Get(c.t.Context(), id); err == nil {
			c.t.Errorf("%s is in both collections", id)
		}
	}
	looked("moved")
	c.click("#undo")
	waitChanged(c, "Undone: 2 items moved to other")
	s.checkUnchanged(c)
}

// useAdding drops photos: two new ones, one that is here, and one that is no picture.
func useAdding(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	open("")
	c.waitUntil(`document.querySelectorAll(".hit").length === 20`)
	c.click("#addPhotos")
	c.waitUntil(`document.querySelector("#addDialog").open`)
	looked("add")
	dropPicture(c, "#addDialog", "rgb(1 2 3)")
	c.waitUntil(`document.querySelectorAll("#addFiles li").length === 1 && document.querySelector("#addGo").textContent === "Add 1 photo"`)
	paths := []string{filepath.Join(s.dir, "a.png"), filepath.Join(s.dir, "b.png"), s.items[0].Path,
		filepath.Join(s.dir, "d.png")}
	writePlain(c.t, paths[0], color.RGBA{1, 2, 3, 255})
	writePlain(c.t, paths[1], color.RGBA{3, 2, 1, 255})
	writeFile(c.t, paths[3], "no picture")
	c.do(chromedp.SetUploadFiles(chromedp.CSS("#addInput"), paths))
	c.waitUntil(`document.querySelectorAll("#addFiles li").length === 4 && document.querySelector("#addGo").textContent === "Add 4 photos"`)
	c.do(chromedp.SendKeys(chromedp.CSS("#addLabel"), "drawings"+kb.Enter))
	c.waitUntil(`document.querySelector("#addStatus").textContent.includes("added")`)
	c.checkContains("the dialog", c.text("#addDialog"), "2 photos added, 2 not", "d.png: not an image",
		filepath.Base(s.items[0].Path)+" is here already: "+s.items[0].ID)
	looked("added")
	if got := s.labelOf(c.t, "drawings/a.png"); got != "drawings" {
		c.t.Errorf("the label is %v", got)
	}
	c.click("#addClose")
	c.click("#undo")
	waitChanged(c, "Undone: 2 photos added, 2 not")
	s.checkUnchanged(c)
}

// useLasso selects items on the map.
func useLasso(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	open("")
	c.waitUntil(`document.querySelectorAll(".hit").length === 20`)
	c.click("#showMap")
	c.waitUntil(fmt.Sprintf(`document.querySelector(".map output")?.textContent === "%d items"`, posters*perPoster))
	c.click(".tools button:last-child")
	p := c.middleOf(".map canvas")
	w := eval[float64](c, `document.querySelector(".map canvas").clientWidth`)/2 - 3
	h := eval[float64](c, `document.querySelector(".map canvas").clientHeight`)/2 - 3
	for i, d := range []place{{-w, -h}, {0, -h}, {0, h}, {-w, h}, {-w, 0}} {
		kind := input.DispatchMouseEventTypeMouseMoved
		if i == 0 {
			kind = input.DispatchMouseEventTypeMousePressed
		}
		c.mouse(kind, p.X+d.X, p.Y+d.Y)
	}
	c.mouse(input.DispatchMouseEventTypeMouseReleased, p.X-w, p.Y)
	c.waitUntil(`/^\d+ of 144 items$/.test(document.querySelector(".map output").textContent)`)
	n := eval[int](c, `parseInt(document.querySelector(".map output").textContent)`)
	c.click(".map .status button:nth-of-type(2)")
	waitSelected(c, n)
	looked("lasso")
	keepSaved(c)
	c.click(`#selection [data-save="manifest"]`)
	if rows := savedRows(c); len(rows) != n+1 {
		c.t.Errorf("the manifest of %d items has %d rows", n, len(rows))
	}
}

// useCategories narrows to a category. Its name ends where it differs from the others.
func useCategories(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	open("")
	c.waitUntil(`document.querySelectorAll(".hit").length === 20`)
	c.click("#viewCategories")
	c.waitUntil(fmt.Sprintf(`document.querySelectorAll(".category").length === %d`, posters))
	c.waitUntil(`[...document.querySelectorAll(".category")][0].querySelectorAll("img").length === 4`)
	names := eval[[]string](c, `[...document.querySelectorAll(".category b")].map(b => b.textContent)`)
	slices.Sort(names)
	for i, name := range slices.Compact(names) {
		if len(names) != posters || len(name) > 40 || !strings.HasPrefix(name, "posters") ||
			!strings.HasSuffix(name, fmt.Sprintf("no. %02d", i)) {
			c.t.Errorf("a category is called %q", name)
		}
	}
	c.checkContains("a card", c.text(".category"), "6 items")
	looked("categories")
	c.click(".category")
	c.waitUntil(`document.querySelectorAll(".hit").length === 6 && !location.search.includes("view=")`)
	c.checkContains("the status", c.text("#status"), "6 of 144 items pass label = ")
	c.do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	c.waitUntil(fmt.Sprintf(`document.querySelectorAll(".category").length === %d`, posters))
}

// useIdentify asks whether photos are here already. A link has the photo while the server keeps it.
func useIdentify(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	open("")
	c.waitUntil(`document.querySelectorAll(".hit").length === 20`)
	at := func(k, by int) string {
		v := s.items[k*perPoster].Vector
		shift := func(x float32) int { return int(255*x+0.5) + by }
		return fmt.Sprintf("rgb(%d %d %d)", shift(v[0]), shift(v[1]), shift(v[2]))
	}
	dropPicture(c, "#drop", "rgb(255 0 255)")
	c.waitUntil(`document.querySelector(".answer.no")`)
	c.checkContains("the answer", c.text("#answer"), "Already here? No", "Nothing here is likely enough the same thing")
	looked("identify-no")
	dropPicture(c, "#drop", at(5, 1))
	c.waitUntil(`document.querySelector(".answer.perhaps")`)
	c.checkContains("the answer", c.text("#answer"), "Already here? Perhaps", "05")
	looked("identify-perhaps")
	c.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{s.items[7].Path}))
	c.waitUntil(`document.querySelector(".answer.yes .large img")?.naturalWidth > 0`)
	c.checkContains("the answer", c.text("#answer"), "Already here? Yes", "This very picture is here",
		filepath.Base(s.items[7].ID))
	looked("identify-yes")
	open(strings.TrimPrefix(eval[string](c, `location.href`), s.address))
	c.waitUntil(`document.querySelector(".answer.yes") && document.querySelector("#shown").naturalWidth > 0`)
	c.click(".answer.yes .large a")
	c.waitUntil(`new URLSearchParams(location.search).get("id") === "` + s.items[7].ID +
		`" && document.querySelector(".answer")`)
	open("?picture=" + strings.Repeat("0", 64))
	c.waitUntil(`!document.querySelector("#error").hidden`)
	c.checkContains("the error", c.text("#error"), "no longer keeps the photo of this link")
	looked("gone")
}

// useOrder sorts what is shown, asks for more, and opens an item by its link.
func useOrder(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	open("?id=" + s.items[9].ID)
	c.waitUntil(hasTwenty)
	eval[bool](c, `(() => { const s = document.querySelector("#sort"); s.value = "column price"; return s.dispatchEvent(new Event("change")); })()`)
	prices := `[...document.querySelectorAll(".hits dd:nth-of-type(2)")].map(d => +d.textContent)`
	c.waitUntil(`location.search.includes("sort=column+price") && ` + prices +
		`.every((p, i, all) => !i || all[i - 1] <= p)`)
	c.click("#more")
	c.waitUntil(`document.querySelectorAll(".hit").length === 40 && location.search.includes("k=40")`)
	if p := eval[[]float64](c, prices); !slices.IsSorted(p) {
		c.t.Errorf("prices %v", p)
	}
	address := eval[string](c, `document.querySelector(".hit").href`)
	if id := eval[string](c, `document.querySelector(".hit").dataset.id`); !strings.Contains(address,
		"id="+strings.ReplaceAll(id, "/", "%2F")) {
		c.t.Errorf("the link of %s is %s", id, address)
	}
	looked("results")
}

// useErrors sees what a wrong filter leads to.
func useErrors(c *chrome, s *shop, open, looked func(string)) {
	c.t.Helper()
	open("?filter=price <")
	c.waitUntil(`!document.querySelector("#error").hidden`)
	looked("error")
}

// useAsReader finds nothing on the page that is for the owner.
func useAsReader(c *chrome, s *shop, looked func(string)) {
	c.t.Helper()
	s.key(c, s.reader)
	c.waitUntil(`document.querySelectorAll(".hit").length === 20`)
	if shown := eval[[]string](c, `[...document.querySelectorAll("#pending, #following, #leftOut, #selection, #addPhotos, .pick, .writers")].
		filter(e => e.checkVisibility()).map(e => e.outerHTML.slice(0, 100))`); len(shown) > 0 {
		c.t.Errorf("a reader sees %q", shown)
	}
	if eval[bool](c, fmt.Sprintf(`[%q, "/home/owner"].some(s => document.documentElement.outerHTML.includes(s))`,
		s.dir)) {
		c.t.Error("a reader sees folders of the server")
	}
	looked("reader")
	c.do(chromedp.Focus(chromedp.CSS(".hit")))
	c.key("x")
	keepSaved(c)
	c.click("#save summary")
	c.click(`#save [data-save="csv"]`)
	if rows := savedRows(c); len(rows) != 21 || slices.Contains(rows[0], "path") {
		c.t.Errorf("a reader gets %q", rows)
	}
	if !eval[bool](c, `document.querySelector("#selection").hidden`) {
		c.t.Error("a reader has selected an item")
	}
}
