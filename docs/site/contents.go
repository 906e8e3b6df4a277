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
// repository. A path that ends in "/*" means all files of a folder that are not named before,
// ordered by name.
type section struct {
	Title string
	Pages []string
}

// contents are the sections in the order in which a newcomer reads them.
func contents() []section {
	return []section{
		{"Begin", []string{"README.md", "docs/tutorial.md", "docs/glossary.md", "docs/gallery.md",
			"docs/python.md", "docs/extending.md"}},
		{"Use", []string{"docs/data.md", "docs/samples.md", "docs/training.md", "docs/weights.md", "docs/onnx.md",
			"docs/evaluation.md", "docs/reports.md", "docs/decisions.md", "docs/discover.md", "docs/index.md",
			"docs/serve.md", "docs/run-it-all-day.md", "docs/stores.md", "docs/sweep.md", "docs/jobs.md",
			"docs/machines.md", "docs/gpu.md"}},
		{"Coming from", []string{"docs/names.md", "docs/coming-from/*"}},
		{"What was measured", []string{"docs/reproduction/defaults.md", "docs/reproduction.md", "docs/cures.md",
			"docs/theory.md", "docs/bench.md"}},
		{"Each experiment", []string{"docs/reproduction/results/*"}},
		{"Losses", []string{"docs/losses/README.md", "docs/losses/*"}},
		{"Mining", []string{"docs/policies.md"}},
		{"How it is built", []string{"docs/design/architecture.md", "docs/design/*"}},
		{"The project", []string{"CHANGELOG.md", "docs/releases/*", "docs/api.md", "SECURITY.md",
			"CONTRIBUTING.md", "docs/*"}},
	}
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
			return nil, fmt.Errorf("%s is in no section of the contents: add it to docs/site/contents.go", file)
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
	if file == "README.md" {
		return "index.html"
	}
	file = strings.TrimPrefix(file, "docs/")
	if folder, ok := strings.CutSuffix(file, "README.md"); ok {
		return folder + "index.html"
	}
	if name, ok := strings.CutSuffix(file, ".md"); ok {
		if !strings.Contains(name, "/") {
			name = strings.ToLower(name)
		}
		if name == "index" { // the page on indexes, because index.html is the start
			name = "indexes"
		}
		return name + ".html"
	}
	return file
}
