package report

import (
	"fmt"
	"html/template"
	"net/url"
)

// Turn leads from one page of several to the others.
type Turn struct {
	Pages []string // the names of all files, in their order; they lie in one folder
	At    int      // this one, from 0
}

func (t Turn) html(r *renderer) (template.HTML, error) {
	type page struct {
		Address string
		Number  int
		Here    bool
	}
	var pages []page
	for i, name := range t.Pages {
		pages = append(pages, page{"./" + url.PathEscape(name), i + 1, i == t.At})
	}
	if len(pages) > 0 && (t.At < 0 || t.At >= len(pages)) {
		return "", fmt.Errorf("report: page %d of %d", t.At+1, len(pages))
	}
	return r.execute("turn", pages)
}
