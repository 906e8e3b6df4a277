package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// section is a part of the contents. Pages are Markdown files by their paths in the
// repository. A path that ends in "/*" means all files of a folder that no section names,
// ordered by name.
type section struct {
	Title string
	Pages []string
}

// contentsFile is the page whose headings and lists are the contents of the site, too.
const contentsFile = "docs/README.md"

// readContents returns the sections of contentsFile, one for each heading, with the page of each line of its lists. A
// link to a folder means all of its pages that are not named. README and the contents come first.
func readContents(root string) ([]section, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(contentsFile)))
	if err != nil {
		return nil, err
	}
	var out []section
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			out = append(out, section{Title: strings.TrimSpace(title)})
			continue
		}
		item, ok := strings.CutPrefix(line, "- [")
		if !ok {
			continue
		}
		_, to, _ := strings.Cut(item, "](")
		to, _, ok = strings.Cut(to, ")")
		if !ok || len(out) == 0 {
			return nil, fmt.Errorf("%s: %q is not a line of a list below a heading that begins with a link",
				contentsFile, strings.TrimSpace(line))
		}
		page := path.Join(path.Dir(contentsFile), to)
		if strings.HasSuffix(to, "/") {
			page += "/*"
		}
		last := &out[len(out)-1]
		last.Pages = append(last.Pages, page)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no headings", contentsFile)
	}
	out[0].Pages = slices.Insert(out[0].Pages, 0, "README.md", contentsFile)
	return out, nil
}

// listPages returns the sections with their pages' paths. Every Markdown file below docs must be
// in a section.
func listPages(root string, contents []section) ([]section, error) {
	all, err := markdownFiles(root)
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, s := range contents {
		for _, p := range s.Pages {
			named[p] = true
		}
	}
	taken := map[string]bool{}
	var out []section
	for _, s := range contents {
		var pages []string
		for _, p := range s.Pages {
			folder, whole := strings.CutSuffix(p, "/*")
			if !whole {
				pages = append(pages, p)
				continue
			}
			for _, file := range all {
				if path.Dir(file) == folder && !named[file] {
					pages = append(pages, file)
				}
			}
		}
		for _, p := range pages {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(p))); err != nil {
				return nil, fmt.Errorf("the contents name a page that does not exist: %w", err)
			}
			taken[p] = true
		}
		out = append(out, section{s.Title, pages})
	}
	for _, file := range all {
		if !taken[file] {
			return nil, fmt.Errorf("%s is in no section of the contents: add it to %s", file, contentsFile)
		}
	}
	return out, nil
}

// markdownFiles lists the Markdown files below docs, by name.
func markdownFiles(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".md" {
			return err
		}
		rel, err := filepath.Rel(root, file)
		files = append(files, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(files)
	return files, err
}

// pageAddress returns the address of a page or a picture of the repository on the site. README is
// the start, docs is the root, and Markdown becomes HTML.
func pageAddress(file string) string {
	switch file {
	case "README.md":
		return "index.html"
	case contentsFile:
		return "contents.html"
	}
	file = strings.TrimPrefix(file, "docs/")
	if folder, ok := strings.CutSuffix(file, "README.md"); ok {
		return folder + "index.html"
	}
	if name, ok := strings.CutSuffix(file, ".md"); ok {
		if !strings.Contains(name, "/") {
			name = strings.ToLower(name)
		}
		return name + ".html"
	}
	return file
}
