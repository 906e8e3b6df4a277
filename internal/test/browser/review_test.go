package browser

import (
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/page"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve"
)

// writeDoubtful writes 120 pictures of two classes, birds with three sub-classes and fish, with prices and
// embeddings that separate them. Every tenth label is wrong.
func writeDoubtful(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	x := matrix.New(120, 6)
	label, split, paths := make([]string, 120), make([]string, 120), make([]string, 120)
	price := make([]string, 120)
	for i := range x.Rows {
		kind := i % 3
		label[i], split[i] = "bird", []string{"train", "test"}[i/2%2]
		if i >= 60 {
			label[i], kind = "fish", 3
		}
		if i%10 == 4 {
			label[i] = map[string]string{"bird": "fish", "fish": "bird"}[label[i]]
		}
		for j := range x.Cols {
			x.Row(i)[j] = float32(rng.NormFloat64())
		}
		x.Row(i)[kind] += 14
		im := image.NewRGBA(image.Rect(0, 0, 96, 72))
		for y := range 72 {
			for u := range 96 {
				c := [4]color.RGBA{{200, 90, 40, 255}, {60, 160, 60, 255}, {210, 180, 40, 255},
					{50, 90, 190, 255}}[kind]
				if (u-48)*(u-48)+(y-36)*(y-36) < 300+10*rng.IntN(40) {
					c = color.RGBA{uint8(20 * kind), uint8(rng.IntN(90)), 30, 255}
				}
				im.SetRGBA(u, y, c)
			}
		}
		paths[i] = fmt.Sprintf("%s/photo_%03d.jpg", label[i], i)
		price[i] = strconv.Itoa(i)
		path := filepath.Join(dir, "photos", filepath.FromSlash(paths[i]))
		writeFile(t, path, "")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := jpeg.Encode(f, im, nil); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	table, err := embedding.NewTable(x, paths, []embedding.Column{embedding.NewColumn("label", label),
		embedding.NewColumn("split", split), embedding.NewColumn("price", price)})
	if err != nil {
		t.Fatal(err)
	}
	if err := embedding.Write(filepath.Join(dir, "E.csv"), table); err != nil {
		t.Fatal(err)
	}
}

// savedCSV presses a key of the page and returns the rows of the CSV file that it saves.
func savedCSV(c *chrome, key string) [][]string {
	c.t.Helper()
	eval[bool](c, `(() => { window.saved = null; if (!window.make) window.make = URL.createObjectURL;
		URL.createObjectURL = b => { b.text().then(s => window.saved = s); return window.make(b); }; return true; })()`)
	c.key(key)
	c.waitUntil(`window.saved`)
	rows, err := csv.NewReader(strings.NewReader(eval[string](c, `window.saved`))).ReadAll()
	if err != nil {
		c.t.Fatal(err)
	}
	return rows
}

// A person splits a class, relabels ten items, undoes one decision, comes back later and
// saves a manifest for kindred train.
func TestReview(t *testing.T) {
	c := startChrome(t)
	dir := t.TempDir()
	run := buildKindred(t, dir)
	writeDoubtful(t, dir)
	run("clean", "E.csv", "--data", "photos", "--out", "suspects")
	run("discover", "E.csv", "--data", "photos", "--out", "kinds")
	suspects, kinds := filepath.Join(dir, "suspects", "review.html"), filepath.Join(dir, "kinds", "review.html")
	for _, width := range []int64{1300, 400} {
		for scheme, page := range map[string]string{"light": suspects, "dark": kinds} {
			c.open(page, width, scheme)
			// The title is there at once and stays, and the first card begins on the first screen.
			title := `(() => { const b = document.querySelector("#title").getBoundingClientRect();
				return b.top >= 0 && b.bottom < 80; })()`
			c.waitUntil(`document.querySelector("article.here")?.getBoundingClientRect().top < 700 && ` + title)
			eval[bool](c, `(scrollTo(0, 2000), true)`)
			c.waitUntil(title)
			checkLegible(c, width)
			c.saveScreenshot(fmt.Sprintf("review-%d-%s", width, scheme))
		}
	}
	relabelTen(c, suspects)
	splitKind(c, kinds, dir)
	// Without results the page has a sentence, and no buttons.
	run("discover", "E.csv", "--data", "photos", "--level", "1e-9", "--out", "none")
	c.open(filepath.Join(dir, "none", "review.html"), 400, "light")
	c.waitUntil(`document.querySelector("#cards").textContent === "There is nothing to decide."`)
	c.checkContains("the lead", c.text("#lead"), "No class has sub-classes",
		"kindred discover with --level 0.3")
	if n := eval[int](c,
		`[...document.querySelectorAll("button, kbd")].filter(e => e.checkVisibility()).length`); n != 0 {
		t.Errorf("%d buttons and keys, and nothing to decide", n)
	}
	c.checkQuiet()
	run("train", "--data", "manifest.csv", "--set", "data.outside=true", "--set", "sample.name=hierarchical", "--set",
		"train.epochs=1", "--set", "network.pretrained=none", "--set", "data.size=24", "--out", "trained")
}

// The same on the page of a server, which several people use.
func TestReviewServed(t *testing.T) {
	if testing.Short() {
		t.Skip("opens pages in a browser, which takes a minute")
	}
	dir := t.TempDir()
	run := buildKindred(t, dir)
	writeDoubtful(t, dir)
	run("clean", "E.csv", "--data", "photos", "--out", "suspects")
	run("discover", "E.csv", "--data", "photos", "--out", "kinds")
	c := startChrome(t)
	relabelTen(c, serveReview(t, filepath.Join(dir, "suspects")))
	kinds := serveReview(t, filepath.Join(dir, "kinds", "review.html"))
	splitKind(c, kinds, dir)
	checkLegible(c, 1300)
	c.checkQuiet()
	othersDecide(c, kinds)
}

// serveReview serves a written page, or the page in a folder.
func serveReview(t *testing.T, path string) (address string) {
	t.Helper()
	s, err := serve.New(serve.Options{Page: page.Handler(), Review: path, Limits: serve.Limits{Rate: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	return listening.URL + "/review"
}

// othersDecide opens the server's page in a new browser, finds the earlier decisions, and
// sees the decisions that somebody else makes meanwhile.
func othersDecide(c *chrome, address string) {
	c.t.Helper()
	c.open(strings.TrimSuffix(address, "review"), 1300, "light") // which leads to the review
	c.waitUntil(`document.querySelectorAll("article.split").length === 2`)
	eval[bool](c, `(() => { localStorage.clear(); sessionStorage.clear(); return true; })()`)
	c.open(address, 1300, "light")
	c.waitUntil(`document.querySelectorAll("article.split").length === 2`)
	decisions := strings.TrimSuffix(address, "review") + "v1/review/decisions"
	eval[bool](c, fmt.Sprintf(`(async () => {
		const there = await (await fetch(%[1]q)).json();
		const put = await fetch(%[1]q, {method: "PUT", headers: {"Content-Type": "application/json"},
			body: JSON.stringify({...there, done: {}, past: []})});
		return put.ok;
	})()`, decisions))
	c.key("d")
	c.waitUntil(`document.querySelector("#progress").textContent.includes("Somebody else")`)
	if n := eval[int](c, `document.querySelectorAll("article.split, article.drop").length`); n != 0 {
		c.t.Errorf("%d articles are marked, and nothing is decided", n)
	}
	c.key("a")
	c.waitUntil(`document.querySelector("#progress").textContent.startsWith("1 of ")`)
	c.waitUntil(`!("sending" in document.body.dataset)`)
	if n := eval[int](c, fmt.Sprintf(`fetch(%q).then(a => a.json()).then(d => Object.keys(d.done).length)`,
		decisions)); n != 1 {
		c.t.Errorf("%d decisions are kept, want 1", n)
	}
}

// relabelTen relabels ten suspects by keys, with an undo and a reload in between.
func relabelTen(c *chrome, page string) {
	c.t.Helper()
	c.open(page, 1300, "light")
	c.waitUntil(`document.querySelector("article.here")`)
	labels := eval[int](c, `[...document.querySelectorAll("article p")].
		filter(p => p.textContent.startsWith("label: ")).length`)
	if labels != 12 {
		c.t.Errorf("%d labels are suspected, want 12", labels)
	}
	before := savedCSV(c, "m")
	if len(before) != 121 || strings.Join(before[0], ",") != "path,label,split,price" {
		c.t.Fatalf("%d lines of manifest, %q", len(before), before[0])
	}
	for range 10 {
		c.key("r")
	}
	c.waitUntil(`document.querySelector("#progress").textContent.startsWith("10 of ")`)
	c.key("u")
	c.waitUntil(`document.querySelector("#progress").textContent.startsWith("9 of ")`)
	c.saveScreenshot("review-relabelled")
	c.waitUntil(`!("sending" in document.body.dataset)`)
	c.open(page, 1300, "light") // progress is kept
	c.waitUntil(`document.querySelector("#progress").textContent.startsWith("9 of ")`)
	if n := eval[int](c, `document.querySelectorAll("article.relabel").length`); n != 9 {
		c.t.Errorf("%d articles are marked after a reload", n)
	}
	c.key("r") // the undo moved to this card
	c.key("d") // the next card is dropped
	c.waitUntil(`document.querySelector("#progress").textContent.startsWith("11 of ")`)
	after := savedCSV(c, "m")
	changed := 0
	left := map[string]string{}
	for _, row := range after[1:] {
		left[row[0]] = row[1]
	}
	for _, row := range before[1:] {
		if now, ok := left[row[0]]; ok && now != row[1] {
			changed++
		}
	}
	if len(after) != 120 || changed != 10 {
		c.t.Errorf("%d lines of manifest, of which %d have another label", len(after), changed)
	}
	if log := savedCSV(c, "l"); len(log) != 12 || strings.Join(log[0], ",") != "time,action,path,from,to,reason" ||
		log[1][1] != "relabel" || log[11][1] != "drop" || log[1][3] == log[1][4] {
		c.t.Errorf("the log: %q", log)
	}
}

// splitKind splits two sub-classes off, undoes one, gives another a new name and saves the
// manifest in dir.
func splitKind(c *chrome, page, dir string) {
	c.t.Helper()
	c.open(page, 1300, "light")
	c.waitUntil(`document.querySelector("article.here")`)
	c.key("s")
	c.key("s")
	c.key("u")
	c.key("e")
	c.waitUntil(`document.querySelector("#ask").open`)
	eval[bool](c, `(() => { document.querySelector("#label").value = "wren, small"; return true; })()`)
	c.click(`#ask button[value="ok"]`)
	c.waitUntil(`document.querySelector("#progress").textContent.startsWith("2 of ")`)
	c.saveScreenshot("review-split")
	c.waitUntil(`!("sending" in document.body.dataset)`)
	c.open(page, 1300, "light")
	c.waitUntil(`document.querySelectorAll("article.split").length === 2`)
	// All sub-classes of the class at once, and undone.
	c.key("S")
	c.waitUntil(`document.querySelectorAll("article.split").length > 2`)
	c.key("u")
	c.waitUntil(`document.querySelectorAll("article.split").length === 2`)
	rows := savedCSV(c, "m")
	if strings.Join(rows[0], ",") != "path,label,coarse,split,price" || rows[2][4] != "1" {
		c.t.Errorf("the manifest has columns %q", rows[0])
	}
	count := map[string]int{}
	var text strings.Builder
	for _, row := range rows[1:] {
		if row[1] != row[2] {
			count[row[1]+" of "+row[2]]++
		}
	}
	w := csv.NewWriter(&text)
	if err := w.WriteAll(rows); err != nil {
		c.t.Fatal(err)
	}
	if len(count) != 2 || count["wren, small of bird"] < 5 {
		c.t.Errorf("split off: %v", count)
	}
	writeFile(c.t, filepath.Join(dir, "manifest.csv"), text.String())
}
