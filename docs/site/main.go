// Command site makes a static site of README and the pages below docs:
//
//	go run ./docs/site -out dist/site
//
// Every page has the contents at its side, its own headings, and a search that needs no
// server: the site is read from a folder as well as from a web server, and loads nothing
// from elsewhere. A link that leads nowhere is an error, and so is a page that the contents
// do not name. The same pages give the same bytes.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

func main() {
	log.SetFlags(0)
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", filepath.Join("dist", "site"), "folder of the site")
	flag.Parse()
	files, err := site(*root)
	if err != nil {
		log.Fatal(err)
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		size += len(files[name])
		if err := write(filepath.Join(*out, filepath.FromSlash(name)), files[name]); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%d files, %.1f MB; open %s\n", len(files), float64(size)/1e6, filepath.Join(*out, "index.html"))
}

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomic.WriteFile(path, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(content))
		return err
	})
}
