package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// Description of kindred in every package.
const (
	summary  = "Metric learning: train embeddings, search, measure, decide"
	homepage = "https://github.com/kindred-ml/kindred"
	terms    = "Apache-2.0"
)

// packager is a format of packages for Linux.
type packager struct {
	nfpm.Packager
	zsh     string // the folder of completions for zsh
	copying string // the file of the licence, in the folder of the documents
	fish    string // the folder of completions for fish
}

var packagers = []packager{
	{deb.Default, "/usr/share/zsh/vendor-completions", "copyright", "/usr/share/fish/vendor_completions.d"},
	{rpm.DefaultRPM, "/usr/share/zsh/site-functions", "LICENSE", "/usr/share/fish/vendor_completions.d"},
}

// packages writes the packages of a system, if it has any.
func (r *release) packages(b build) error {
	if b.system.os != "linux" {
		return nil
	}
	for _, p := range packagers {
		name, content, err := r.pack(p, b)
		if err != nil {
			return err
		}
		if err := r.write(name, content); err != nil {
			return err
		}
	}
	return nil
}

// pack makes a package. The library reads the files from a folder.
func (r *release) pack(p packager, b build) (name string, content []byte, err error) {
	dir, err := os.MkdirTemp(r.work, "package")
	if err != nil {
		return "", nil, err
	}
	contents, err := r.contents(p, b)
	if err != nil {
		return "", nil, err
	}
	info := &nfpm.Info{
		Name: "kindred", Arch: b.system.arch, Platform: "linux", Version: r.plain(), Section: "science",
		Priority: "optional", Maintainer: "The kindred authors <https://github.com/kindred-ml/kindred/issues>",
		Description: summary, Homepage: homepage, License: terms, MTime: r.source.when, DisableGlobbing: true,
	}
	for i, f := range contents {
		source := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(source, f.content, 0o666); err != nil {
			return "", nil, err
		}
		info.Contents = append(info.Contents, &files.Content{Source: source, Destination: f.name,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.source.when}})
	}
	info.RPM.BuildHost = "kindred" // not the machine's name
	info = nfpm.WithDefaults(info)
	var out bytes.Buffer
	if err := p.Package(info, &out); err != nil {
		return "", nil, err
	}
	return p.ConventionalFileName(info), out.Bytes(), nil
}

// contents returns the files of a package by their names in it.
func (r *release) contents(p packager, b build) ([]file, error) {
	const docs = "/usr/share/doc/kindred/"
	out := []file{{"/usr/bin/kindred", 0o755, b.binary}, {docs + "THIRD-PARTY.txt", 0o644, b.notice}}
	places := map[string]string{
		"README.md": docs + "README.md", "CHANGELOG.md": docs + "CHANGELOG.md", "LICENSE": docs + p.copying,
		"completions/kindred.bash": "/usr/share/bash-completion/completions/kindred",
		"completions/kindred.zsh":  p.zsh + "/_kindred", "completions/kindred.fish": p.fish + "/kindred.fish",
	}
	for _, f := range r.shared {
		to, content := places[f.name], f.content
		if page, ok := strings.CutPrefix(f.name, "man/"); ok {
			var err error
			if content, err = gzipped(f.content); err != nil {
				return nil, err
			}
			to = "/usr/share/man/man1/" + page + ".gz"
		}
		if to != "" {
			out = append(out, file{to, 0o644, content})
		}
	}
	return out, nil
}
