// Package page is the page of kindred serve: the user drops, pastes or takes a photo,
// crops it, searches with it, and goes on from neighbour to neighbour; it has filters,
// categories, a map of all items, and a comparison with a second collection. Who may write
// selects items and relabels, moves, removes and adds.
//
//	s, err := serve.New(serve.Options{Collections: collections, Page: page.Handler()})
//
// At /review it has the page for decisions about sub-classes and suspects.
//
// It is plain HTML, CSS and JavaScript, embedded in the program. It loads nothing from
// elsewhere and uses the server's API like any other client. It writes the texts of
// items as text, never as markup.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/internal/page/theme"
	"github.com/kindred-ml/kindred/internal/page/webmap"
)

//go:embed index.html
var index string

//go:embed page.css
var style string

// scripts are the page's modules, and server.js, which the pages share: it sends requests and asks the user for a key.
//
//go:embed *.js
var scripts embed.FS

// contentPolicy lets the page load only its own files, and forbids other pages to frame it.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// asset is a file of the page.
type asset struct{ kind, text string }

// Handler serves the page at / and its files beside it. It takes GET and HEAD, and
// answers 404 for other paths.
func Handler() http.Handler {
	assets := map[string]asset{
		"/":         {"text/html; charset=utf-8", index},
		"/page.css": {"text/css; charset=utf-8", theme.Style + webmap.Style + style},
		"/map.js":   {"text/javascript; charset=utf-8", webmap.Script},
		// The review page; it asks the server for its data.
		"/review":     {"text/html; charset=utf-8", reviewPage()},
		"/review.css": {"text/css; charset=utf-8", theme.Style + review.Style},
		"/review.js":  {"text/javascript; charset=utf-8", review.Script},
	}
	files, err := scripts.ReadDir(".")
	for _, f := range files {
		text, failed := scripts.ReadFile(f.Name())
		err = errors.Join(err, failed)
		assets["/"+f.Name()] = asset{"text/javascript; charset=utf-8", string(text)}
	}
	if err != nil {
		panic(err) // cannot happen: the files are embedded
	}
	tags := map[string]string{}
	for path, a := range assets {
		sum := sha256.Sum256([]byte(a.text))
		tags[path] = `"` + hex.EncodeToString(sum[:8]) + `"`
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := assets[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", a.kind)
		h.Set("ETag", tags[r.URL.Path])
		h.Set("Cache-Control", "no-cache") // the browser asks each time; the tag usually answers
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader([]byte(a.text)))
	})
}

func reviewPage() string {
	text, err := review.LivePage()
	if err != nil {
		return err.Error() // cannot happen: the template is embedded and tested
	}
	return string(text)
}
