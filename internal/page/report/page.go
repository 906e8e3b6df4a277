package report

import (
	"bytes"
	"embed"
	"fmt"
	"slices"

	g "maragu.dev/gomponents"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/theme"
	"github.com/kindred-ml/kindred/internal/page/webmap"
)

// Page is a self-contained HTML document. It needs no network, follows the light or
// dark scheme, and is readable on a phone and on paper.
type Page struct {
	Title string
	// Lead is a paragraph under the title: what the page shows, and the result.
	Lead     string
	Sections []Section
	// Footer is small print: version, date, command line.
	Footer string
}

// Section is a heading with blocks. Sections with a title are listed at the top
// of pages that have more than three.
type Section struct {
	Title  string
	Blocks []Block
}

// Block is a part of a section: Text, Verdict, Table, Figures, Retrieval,
// Steps, Settings, Code or Turn.
type Block interface {
	html(r *renderer) (g.Node, error)
}

//go:embed page
var pageFiles embed.FS

type renderer struct {
	// scripts are the files that the page's blocks need, each once.
	scripts []string
	// thumbs are the elements of the thumbnails that are on the page.
	thumbs map[*Thumbs]string
}

// use puts a script of the folder page on the page.
func (r *renderer) use(script string) {
	if !slices.Contains(r.scripts, script) {
		r.scripts = append(r.scripts, script)
	}
}

// HTML returns the page.
func (p Page) HTML() ([]byte, error) {
	style, err := pageFile("page.css")
	if err != nil {
		return nil, err
	}
	r := &renderer{}
	d := document{Page: p, style: theme.Style + webmap.Style + style}
	for i, s := range p.Sections {
		out := section{id: fmt.Sprintf("s%d", i+1), title: s.Title}
		for _, b := range s.Blocks {
			node, err := b.html(r)
			if err != nil {
				return nil, fmt.Errorf("section %q: %w", s.Title, err)
			}
			out.blocks = append(out.blocks, node)
		}
		d.sections = append(d.sections, out)
		d.contents = d.contents || (i >= 3 && s.Title != "")
	}
	for _, name := range r.scripts {
		js, err := pageFile(name)
		if err != nil {
			return nil, err
		}
		if name == mapsScript {
			d.scripts = append(d.scripts, webmap.Script)
		}
		d.scripts = append(d.scripts, js)
	}
	var b bytes.Buffer
	if err := d.node().Render(&b); err != nil {
		return nil, err
	}
	return []byte(escape.Printable(b.String())), nil
}

func pageFile(name string) (string, error) {
	text, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		return "", err
	}
	return string(text), nil
}

// WriteFile writes the page to path.
func (p Page) WriteFile(path string) error {
	html, err := p.HTML()
	if err != nil {
		return err
	}
	return atomic.WriteFile(path, atomic.Bytes(html))
}
