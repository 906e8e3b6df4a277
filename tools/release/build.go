package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// file is a file of an archive or of a package.
type file struct {
	name    string // path with slashes
	mode    fs.FileMode
	content []byte
}

// build is the program for one system.
type build struct {
	system system
	path   string // path of the binary
	binary []byte
	info   *debug.BuildInfo
	notice []byte // licences of the linked modules
}

// tags leave out gRPC's page of traces and formats of figures that kindred does not write. The
// Makefile explains them.
const tags = "grpcnotrace,minimal"

// flags of every build: a static binary without paths of this machine.
var static = []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath"}

// compile builds the program for a system and returns its path.
func (r *release) compile(s system) (string, error) {
	path := filepath.Join(r.work, s.os+"-"+s.arch, s.binary())
	_, err := output(r.source.dir, append([]string{"GOOS=" + s.os, "GOARCH=" + s.arch}, static...), "go", "build",
		"-tags", tags, "-ldflags", "-s -w", "-o", path, "./cmd/kindred")
	return path, err
}

// build builds the program for a system and reads the information that the Go tool wrote into it.
func (r *release) build(s system) (build, error) {
	b := build{system: s}
	var err error
	if b.path, err = r.compile(s); err != nil {
		return b, err
	}
	if b.binary, err = os.ReadFile(b.path); err != nil {
		return b, err
	}
	if b.info, err = buildinfo.Read(bytes.NewReader(b.binary)); err != nil {
		return b, err
	}
	if v := b.info.Main.Version; v != r.version {
		return b, fmt.Errorf("the program says that it is %s, not %s: has git been told to stay away "+
			"(-buildvcs=false)?", v, r.version)
	}
	b.notice, err = notice(r.source.dir, b.info)
	return b, err
}

// shells are the shells for which the program writes completions.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// sharedFiles are the documents, the manual pages and the completions, which a build for
// this machine writes.
func (r *release) sharedFiles() ([]file, error) {
	var files []file
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md"} {
		content, err := os.ReadFile(filepath.Join(r.source.dir, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, content})
	}
	program, err := r.compile(system{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	pages := filepath.Join(r.work, "man")
	date := fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.source.when.Unix())
	if _, err := output(r.work, []string{date}, program, "man", pages); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(pages)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(pages, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{"man/" + e.Name(), 0o644, content})
	}
	for _, shell := range shells {
		text, err := output(r.work, nil, program, "completion", shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"completions/kindred." + shell, 0o644, []byte(text + "\n")})
	}
	return files, nil
}
