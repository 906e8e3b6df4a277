package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed page.html
var pageText string

//go:embed site.css
var style string

//go:embed site.js
var script string

// view is the input of the template of a page.
type view struct {
	Title, Home, Root string // Root leads from the page to the start's folder: "" or "../"
	Body              template.HTML
	Sections          []viewSection
	Headings          []heading // headings of the page, of the second level
	Source            string
	Before, After     *viewPage
}

type viewSection struct {
	Title string
	Open  bool // contains the page itself
	Pages []viewPage
}

type viewPage struct {
	Title, Address string
	Here           bool
}

// entry is a passage in the form that the script searches.
type entry struct {
	Address string `json:"u"`
	Page    string `json:"p"`
	Heading string `json:"h"`
	Text    string `json:"t"`
}

// buildSite returns all files of the site by their addresses.
func buildSite(root string) (map[string][]byte, error) {
	sections, err := readContents(root)
	if err == nil {
		sections, err = listPages(root, sections)
	}
	if err != nil {
		return nil, err
	}
	var order []string
	for _, s := range sections {
		order = append(order, s.Pages...)
	}
	pages, err := renderAll(root, order)
	if err != nil {
		return nil, err
	}
	if err := checkLinks(order, pages); err != nil {
		return nil, err
	}
	tmpl, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"site.css": []byte(style), "site.js": []byte(script)}
	for i, file := range order {
		v := newView(sections, pages, file)
		if i > 0 {
			v.Before = neighbourLink(pages[order[i-1]], file)
		}
		if i+1 < len(order) {
			v.After = neighbourLink(pages[order[i+1]], file)
		}
		var b bytes.Buffer
		if err := tmpl.Execute(&b, v); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if _, twice := files[pageAddress(file)]; twice {
			return nil, fmt.Errorf("%s and another page would both be written to %s", file, pageAddress(file))
		}
		files[pageAddress(file)] = b.Bytes()
		for _, picture := range pages[file].Pictures {
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(picture)))
			if err != nil {
				return nil, err
			}
			files[pageAddress(picture)] = content
		}
	}
	files["words.js"], err = searchScript(order, pages)
	return files, err
}

// renderAll reads and renders the pages.
func renderAll(root string, order []string) (map[string]*renderedPage, error) {
	known := map[string]bool{}
	for _, file := range order {
		known[file] = true
	}
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return !errors.Is(err, fs.ErrNotExist) && filepath.IsLocal(filepath.FromSlash(name))
	}
	pages := map[string]*renderedPage{}
	for _, file := range order {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		if pages[file], err = render(file, content, known, exists); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// checkLinks checks that every link to a heading leads to one.
func checkLinks(order []string, pages map[string]*renderedPage) error {
	for _, file := range order {
		for _, l := range pages[file].Links {
			there := func(h heading) bool { return h.ID == l.ID }
			if l.ID != "" && !slices.ContainsFunc(pages[l.File].Headings, there) {
				return fmt.Errorf("%s: the link to %s#%s leads to no heading", file, l.File, l.ID)
			}
		}
	}
	return nil
}

// newView returns a page with the contents beside it.
func newView(sections []section, pages map[string]*renderedPage, file string) *view {
	p := pages[file]
	v := &view{Title: p.Title, Body: template.HTML(p.HTML), Source: source + file}
	v.Root = strings.Repeat("../", strings.Count(pageAddress(file), "/"))
	v.Home = v.Root + "index.html"
	for _, h := range p.Headings {
		if h.Level == 2 {
			v.Headings = append(v.Headings, h)
		}
	}
	for _, s := range sections {
		vs := viewSection{Title: s.Title}
		for _, other := range s.Pages {
			entry := *neighbourLink(pages[other], file)
			entry.Here = other == file
			vs.Open = vs.Open || entry.Here
			vs.Pages = append(vs.Pages, entry)
		}
		v.Sections = append(v.Sections, vs)
	}
	return v
}

// neighbourLink returns a link to a page from another page.
func neighbourLink(p *renderedPage, from string) *viewPage {
	return &viewPage{Title: p.Title, Address: relativeAddress(from, p.File)}
}

// searchScript returns all passages as a script, because a page that was opened from a folder may
// load scripts but no data files.
func searchScript(order []string, pages map[string]*renderedPage) ([]byte, error) {
	var all []entry
	for _, file := range order {
		p := pages[file]
		for _, s := range p.Passages {
			to := pageAddress(file)
			if s.ID != "" && s.Heading != p.Title {
				to += "#" + s.ID
			}
			all = append(all, entry{to, p.Title, s.Heading, s.Text})
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return append(append([]byte("window.words = "), text...), ";\n"...), nil
}
