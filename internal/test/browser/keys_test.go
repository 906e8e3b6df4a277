package browser

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kindred-ml/kindred/internal/page"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve"
	"github.com/kindred-ml/kindred/store"
)

// TestServeKeys uses the page of a server that asks for keys. The page asks again after a
// wrong key, shows pictures, which an img cannot fetch with a key, and searches by the
// picture in a second collection, which does not have the item.
func TestServeKeys(t *testing.T) {
	c := startChrome(t)
	secret, line, err := serve.NewKey("reader", serve.Read)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := serve.OpenKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	names := writePhotos(t, dir)[:3*perClass]
	most, few := &storetest.Memory{Dim: 3}, &storetest.Memory{Dim: 3}
	for i, n := range names {
		k := i / perClass
		it := store.Item{ID: n, Path: filepath.Join(dir, filepath.FromSlash(n)),
			Columns: map[string]any{"label": className(k)}}
		it.Vector = []float32{0.47 + 0.001*float32(i%perClass), float32(40+2*k) / 255, float32(200-2*k) / 255}
		stores := []*storetest.Memory{most, few}
		if i%perClass == 0 {
			stores = stores[:1]
		}
		for _, m := range stores {
			if err := m.Put(t.Context(), []store.Item{it}, store.Insert); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := serve.New(serve.Options{Page: page.Handler(), Limits: serve.Limits{Rate: -1}, Keys: keys,
		Collections: []serve.Collection{
			{Name: "most", Store: most, Embedder: meanColour{}, Folders: []string{dir}},
			{Name: "few", Store: few, Embedder: meanColour{}, Folders: []string{dir}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	lacking := names[perClass]
	address := listening.URL + "/?versus=few&id=" + strings.ReplaceAll(lacking, "/", "%2F")
	for _, scheme := range []string{"light", "dark"} {
		c.open(address, map[string]int64{"light": 1300, "dark": 400}[scheme], scheme)
		c.waitUntil(`document.querySelector("#keyDialog")?.open`)
		checkLegible(c, map[string]int64{"light": 1300, "dark": 400}[scheme])
		checkNamed(c)
		c.saveScreenshot("keys-" + scheme)
		if scheme == "dark" {
			break // the tab keeps the key until it is closed
		}
		c.do(chromedp.SendKeys(chromedp.CSS("#key"), "not-the-key"+kb.Enter))
		c.waitUntil(`document.querySelector("#keyDialog")?.open && document.querySelector("#key").value === ""`)
		c.do(chromedp.SendKeys(chromedp.CSS("#key"), secret+kb.Enter))
		c.waitUntil(`!document.querySelector("#keyDialog") && document.querySelectorAll(".list").length === 2`)
		c.waitUntil(`[...document.querySelectorAll(".list")].every(l => l.querySelector(".hit img")?.naturalWidth > 0)`)
		second := eval[[]string](c, `[...document.querySelectorAll(".list:nth-child(2) .hit")].map(h => h.dataset.id)`)
		if len(second) != 20 || !strings.HasPrefix(second[0], className(1)) || slices.Contains(second, lacking) {
			t.Errorf("the collection that lacks %s finds %q", lacking, second)
		}
		c.checkContains("the status", c.text("#status"), "are found by both")
		checkLegible(c, 1300)
		c.saveScreenshot("keys-compare")
		c.do(chromedp.Evaluate[chromedp.Void](`sessionStorage.clear()`))
	}
}

// TestServeRate: a page with more pictures than the server's rate allows at once shows all of them.
func TestServeRate(t *testing.T) {
	c, dir := startChrome(t), t.TempDir()
	m := &storetest.Memory{Dim: 3}
	for _, n := range writePhotos(t, dir)[:40] {
		it := store.Item{ID: n, Path: filepath.Join(dir, filepath.FromSlash(n)), Vector: []float32{1, 2, 3}}
		if err := m.Put(t.Context(), []store.Item{it}, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	s, err := serve.New(serve.Options{Page: page.Handler(), Limits: serve.Limits{Rate: 20, Burst: 25},
		Collections: []serve.Collection{{Name: "most", Store: m, Folders: []string{dir}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	c.open(listening.URL+"/?k=50", 1300, "light")
	c.do(chromedp.EmulateViewport(1300, 3000))
	c.waitUntil(`document.querySelectorAll(".hit").length === 40 &&
		[...document.querySelectorAll(".hit")].every(h => h.querySelector("img")?.naturalWidth > 0)`)
}
