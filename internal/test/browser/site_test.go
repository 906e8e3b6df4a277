package browser

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSite opens pages of the documentation's site from a folder and searches in them.
func TestSite(t *testing.T) {
	c := startChrome(t)
	dir := t.TempDir()
	build := exec.Command("go", "run", "github.com/kindred-ml/kindred/docs/site", "-root",
		filepath.Join("..", "..", ".."),
		"-out", dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// README with its picture, wide tables, formulas, code beside code.
	for _, name := range []string{"index", "reproduction/defaults", "losses/multisimilarity", "coming-from/faiss"} {
		for _, width := range []int64{1300, 390} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s-%d-%s", filepath.Base(name), width, scheme), func(t *testing.T) {
					c.t = t
					c.open(filepath.Join(dir, name+".html"), width, scheme)
					c.waitUntil(`document.readyState === "complete"`)
					if wide := eval[float64](c, `document.documentElement.scrollWidth`); wide > float64(width) {
						t.Errorf("the page is %g wide in a window of %d: %s", wide, width, eval[string](c,
							`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 &&
							!e.parentElement.closest("pre, .wide")).slice(0, 3).map(e => e.outerHTML.slice(0, 120)).join("\n")`))
					}
					if n := eval[int](c, `[...document.images].filter(i => !i.naturalWidth).length`); n > 0 {
						t.Errorf("%d pictures are not shown", n)
					}
					open := eval[bool](c, `document.querySelector(".contents").open`)
					if open != (width > 800) {
						t.Errorf("contents open: %v in a window of %d", open, width)
					}
					c.checkQuiet()
					c.saveScreenshot(fmt.Sprintf("site-%s-%d-%s", filepath.Base(name), width, scheme))
				})
			}
		}
	}
	t.Run("search", func(t *testing.T) {
		c.t = t
		c.open(filepath.Join(dir, "losses", "triplet.html"), 1300, "light")
		c.key("/")
		c.waitUntil(`document.activeElement.id === "ask"`)
		c.key("shared label")
		c.waitUntil(`document.querySelector("#found p")?.textContent.includes("all of these words") || document.querySelectorAll("#found a").length > 0`)
		eval[bool](c, `(document.getElementById("ask").value = "", true)`)
		c.key("easy posit mini")
		c.waitUntil(`document.querySelectorAll("#found a").length > 3`)
		c.checkContains("the first hit", c.text("#found a"), "easy positives")
		if n := eval[int](c, `document.querySelectorAll("#found mark").length`); n == 0 {
			t.Error("nothing is marked")
		}
		c.saveScreenshot("site-search")
		c.key("\r") // from a page in a folder to one in another
		c.waitUntil(`location.pathname.endsWith("policies.html") && document.readyState === "complete"`)
		eval[bool](c, `(document.getElementById("ask").focus(), true)`)
		c.key("zzyzx")
		c.waitUntil(`document.querySelector("#found p")?.textContent === "No passage has all of these words."`)
		c.key("\x1b")
		c.waitUntil(`document.getElementById("found").hidden`)
		c.checkQuiet()
	})
}
