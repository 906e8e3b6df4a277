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
	"flag"
	"fmt"
	"log"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

func main() {
	log.SetFlags(0)
	root := flag.String("root", ".", "folder of the repository")
	out := flag.String("out", filepath.Join("dist", "site"), "folder of the site")
	flag.Parse()
	files, err := buildSite(*root)
	if err != nil {
		log.Fatal(err)
	}
	size := 0
	for _, content := range files {
		size += len(content)
	}
	if err := atomic.WriteAll(*out, files); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d files, %.1f MB; open %s\n", len(files), float64(size)/1e6, filepath.Join(*out, "index.html"))
}
