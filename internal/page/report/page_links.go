package report

import (
	"fmt"
	"net/url"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// PageLinks links one page of several to the others.
type PageLinks struct {
	Pages []string // the names of all files in order; they are in one folder
	At    int      // index of this page, from 0
}

func (t PageLinks) html(*renderer) (g.Node, error) {
	if len(t.Pages) > 0 && (t.At < 0 || t.At >= len(t.Pages)) {
		return nil, fmt.Errorf("page %d of %d", t.At+1, len(t.Pages))
	}
	if len(t.Pages) < 2 {
		return nil, nil
	}
	var pages []g.Node
	for i, name := range t.Pages {
		number := strconv.Itoa(i + 1)
		if i == t.At {
			pages = append(pages, h.Li(h.B(h.Aria("current", "page"), g.Text(number))), line)
			continue
		}
		pages = append(pages, h.Li(h.A(h.Href("./"+url.PathEscape(name)), h.Aria("label", "Page "+number),
			g.Text(number))), line)
	}
	return g.Group{h.Nav(h.Class("turn"), h.Aria("label", "Pages"), h.Ol(pages...)), line}, nil
}
