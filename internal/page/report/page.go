package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/webmap"
)

// Page is a self-contained HTML document: no network, light and dark, readable
// on a phone and on paper.
type Page struct {
	Title string
	// Lead is a paragraph under the title: what this is and what came out.
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
	html(r *renderer) (template.HTML, error)
}

// functions of the templates.
var functions = template.FuncMap{"short": shortPath, "middle": shortName, "unbroken": unbroken}

//go:embed page
var pageFiles embed.FS

type renderer struct {
	t *template.Template
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

func (r *renderer) execute(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	if err := r.t.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	return template.HTML(b.String()), nil
}

// HTML returns the page.
func (p Page) HTML() ([]byte, error) {
	t, err := template.New("").Funcs(functions).ParseFS(pageFiles, "page/*.html")
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	css, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	r := &renderer{t: t}
	type section struct {
		ID     string
		Title  string
		Blocks []template.HTML
	}
	data := struct {
		Page
		CSS      template.CSS
		Scripts  []template.JS
		Sections []section
		Contents bool
	}{Page: p, CSS: template.CSS(webmap.Style + string(css))}
	for i, s := range p.Sections {
		out := section{ID: fmt.Sprintf("s%d", i+1), Title: s.Title}
		for _, b := range s.Blocks {
			h, err := b.html(r)
			if err != nil {
				return nil, fmt.Errorf("section %q: %w", s.Title, err)
			}
			out.Blocks = append(out.Blocks, h)
		}
		data.Sections = append(data.Sections, out)
		data.Contents = data.Contents || (i >= 3 && s.Title != "")
	}
	for _, name := range r.scripts {
		js, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		if name == mapsScript {
			data.Scripts = append(data.Scripts, template.JS(webmap.Script))
		}
		data.Scripts = append(data.Scripts, template.JS(js))
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "page.html", data); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return []byte(escape.Shown(b.String())), nil
}

// WriteFile writes the page to path.
func (p Page) WriteFile(path string) error {
	html, err := p.HTML()
	if err != nil {
		return err
	}
	return atomic.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(html)
		return err
	})
}
