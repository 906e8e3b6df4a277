package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// licence matches the names of the files in which modules keep their licences and the
// notices that must go with them.
var licence = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// embedded returns the folders of the packages that a program is linked from and that hold a module of WebAssembly,
// which has licences of its own beside it. main is the path of the program's package.
func embedded(dir, main string) ([]string, error) {
	list, err := output(dir, nil, "go", "list", "-deps", "-f", "{{.Dir}}\t{{.EmbedFiles}}", main)
	if err != nil {
		return nil, err
	}
	var folders []string
	for line := range strings.Lines(list) {
		if folder, files, _ := strings.Cut(line, "\t"); strings.Contains(files, ".wasm.gz") {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

// notice collects the licences of Go, of all modules that a program is linked from, and of what is embedded. The
// licences require this of distributed binaries. dir is a folder of the program's module.
func notice(dir string, info *debug.BuildInfo) ([]byte, error) {
	root, err := output(dir, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s is linked from Go and the modules below. These are their licences.\n", info.Path)
	if err := licences(&b, "Go", info.GoVersion, root); err != nil {
		return nil, err
	}
	folders, err := moduleFolders(dir, info.Deps)
	if err != nil {
		return nil, err
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("module %s is replaced by %s: a release must use published modules", m.Path,
				m.Replace.Path)
		}
		if err := licences(&b, m.Path, m.Version, folders[m.Path]); err != nil {
			return nil, err
		}
	}
	modules, err := embedded(dir, info.Path)
	if err != nil {
		return nil, err
	}
	for _, folder := range modules {
		if err := licences(&b, "internal/format/"+filepath.Base(folder), "as embedded", folder); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// moduleFolders finds the modules in Go's cache, by path.
func moduleFolders(dir string, modules []*debug.Module) (map[string]string, error) {
	args := []string{"list", "-m", "-json=Path,Dir"}
	for _, m := range modules {
		args = append(args, m.Path)
	}
	folders := map[string]string{}
	if len(modules) == 0 {
		return folders, nil
	}
	text, err := output(dir, nil, "go", args...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list -m: %w", err)
		}
		folders[m.Path] = m.Dir
	}
}

// licences appends the licences in a module's folder. A module without a licence is an error.
func licences(b *bytes.Buffer, path, version, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("module %s: %w", path, err)
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licence.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("-", 100), path, version, e.Name(),
			bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("module %s %s has no licence in %s: check that it may be distributed", path, version, dir)
	}
	return nil
}
