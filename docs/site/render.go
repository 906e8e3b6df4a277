package main

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// source is the address of files of the repository that are not pages of the site.
const source = "https://github.com/kindred-ml/kindred/blob/main/"

// heading is a line in the contents of a page.
type heading struct {
	ID, Text string
	Level    int
}

// renderedPage is a page as HTML, with its headings, links and texts for the rest of the site.
type renderedPage struct {
	File, Title string
	HTML        string
	Headings    []heading
	Passages    []passage
	Links       []link   // links to other pages of the site, and to headings of this page
	Pictures    []string // files of the repository
}

// link is a reference to a heading of a page; ID is "" for the page itself.
type link struct{ File, ID string }

// passage is a result of the search: the text below one heading.
type passage struct{ ID, Heading, Text string }

// converter makes HTML of Markdown as GitHub does: with tables, bare addresses, struck-out
// text and linkable headings. It leaves out HTML.
func converter() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// render makes a page of a Markdown file. pages are the files of the site; exists reports
// whether the repository has another file.
func render(file string, content []byte, pages map[string]bool, exists func(string) bool) (*renderedPage, error) {
	md := converter()
	doc := md.Parser().Parse(text.NewReader(content), parser.WithContext(parser.NewContext(parser.WithIDs(newSlugs()))))
	p := &renderedPage{File: file}
	var comments []ast.Node
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			h := heading{Text: plainText(n, content), Level: n.Level}
			if b, ok := id.([]byte); ok {
				h.ID = string(b)
			}
			if p.Title == "" && n.Level == 1 {
				p.Title = h.Text
			}
			p.Headings = append(p.Headings, h)
			p.Passages = append(p.Passages, passage{ID: h.ID, Heading: h.Text})
		case *ast.HTMLBlock:
			if text := string(n.Lines().Value(content)); !strings.HasPrefix(text, "<!--") {
				return ast.WalkStop, fmt.Errorf("%s: HTML is not shown, write Markdown for %.40q", file, text)
			}
			comments = append(comments, n)
			return ast.WalkSkipChildren, nil
		case *ast.RawHTML:
			return ast.WalkStop, fmt.Errorf("%s: HTML is not shown, write `code` for %q", file,
				n.Segments.Value(content))
		case *ast.Link:
			to, err := p.resolveLink(string(n.Destination), pages, exists)
			n.Destination = []byte(to)
			return ast.WalkContinue, err
		case *ast.Image:
			to, err := p.pictureAddress(string(n.Destination), exists)
			n.Destination = []byte(to)
			return ast.WalkContinue, err
		}
		if n.Type() == ast.TypeBlock && len(p.Passages) > 0 && isLeaf(n) {
			last := &p.Passages[len(p.Passages)-1]
			if _, is := n.(*ast.Heading); !is {
				last.Text = strings.TrimSpace(last.Text + " " + plainText(n, content))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	for _, c := range comments {
		c.Parent().RemoveChild(c.Parent(), c)
	}
	if p.Title == "" {
		return nil, fmt.Errorf("%s has no heading of the first level", file)
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, content, doc); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	p.HTML = wrapTables(b.String())
	return p, nil
}

// wrapTables lets each table scroll on narrow screens.
func wrapTables(html string) string {
	html = strings.ReplaceAll(html, "<table>", `<div class="wide" tabindex="0"><table>`)
	return strings.ReplaceAll(html, "</table>", "</table></div>")
}

// isLeaf reports whether a block holds text and no other blocks.
func isLeaf(n ast.Node) bool {
	return n.FirstChild() == nil || n.FirstChild().Type() == ast.TypeInline
}

// plainText returns the text of a node without markup.
func plainText(n ast.Node, content []byte) string {
	var b strings.Builder
	if lines := n.Lines(); n.Type() == ast.TypeBlock && n.FirstChild() == nil && lines != nil { // a block of code
		for i := range lines.Len() {
			line := lines.At(i)
			b.Write(line.Value(content))
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(content))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(content))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// resolveLink turns a link of the page into a link of the site. A file of the repository that is
// not a page of the site is linked at its source.
func (p *renderedPage) resolveLink(to string, pages map[string]bool, exists func(string) bool) (string, error) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return to, nil
	}
	file, id, _ := strings.Cut(to, "#")
	if file == "" {
		p.Links = append(p.Links, link{p.File, id})
		return to, nil
	}
	target := path.Join(path.Dir(p.File), file)
	if !exists(target) {
		return "", fmt.Errorf("%s: the link to %s leads nowhere", p.File, to)
	}
	if readme := path.Join(target, "README.md"); pages[readme] {
		target = readme
	}
	if !pages[target] {
		return source + target, nil
	}
	p.Links = append(p.Links, link{target, id})
	rel := relativeAddress(p.File, target)
	if id != "" {
		rel += "#" + id
	}
	return rel, nil
}

// pictureAddress returns the address of a picture of the page, which is copied to the site.
func (p *renderedPage) pictureAddress(to string, exists func(string) bool) (string, error) {
	if strings.Contains(to, "://") {
		return "", fmt.Errorf("%s: the picture %s would be loaded from elsewhere: keep a copy in docs", p.File, to)
	}
	target := path.Join(path.Dir(p.File), to)
	if !exists(target) {
		return "", fmt.Errorf("%s: there is no picture %s", p.File, to)
	}
	p.Pictures = append(p.Pictures, target)
	return relativeAddress(p.File, target), nil
}

// relativeAddress returns the address of a file of the repository relative to a page.
func relativeAddress(from, to string) string {
	rel, err := filepath.Rel(path.Dir(pageAddress(from)), pageAddress(to))
	if err != nil { // cannot happen for two addresses below one folder
		return pageAddress(to)
	}
	return filepath.ToSlash(rel)
}

// slugs gives headings the same names as GitHub: small letters, digits, hyphens and
// underscores, a hyphen for each space, and a number for a repeated name.
type slugs map[string]int

func newSlugs() slugs { return slugs{} }

// Generate implements parser.IDs.
func (s slugs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	name := b.String()
	n := s[name]
	s[name]++
	if n > 0 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	return []byte(name)
}

// Put implements parser.IDs.
func (s slugs) Put(value []byte) { s[string(value)]++ }
