// Command gallery takes the pictures of docs/gallery.md: it runs the commands of the page in a
// folder with photos, opens what they wrote in a browser, and keeps what the browser shows.
//
//	go run ./docs/gallery -kindred bin/kindred -photos DIR
//
// The commands are those of the page's blocks of sh, in their order; kindred serve goes on until
// all pictures are taken. A comment above a picture says what is opened, and in a window of what
// size:
//
//	<!-- found/search.html 1000x640 -->
//	![what it shows](gallery/search.jpg)
//
// DIR has a folder of photos for each class. Up to -each of a class are taken, and the first
// photo that is left over is photo.jpg.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	kindred := flag.String("kindred", filepath.Join("bin", "kindred"), "the program")
	photos := flag.String("photos", "", "folder of photos, one folder a class")
	settings := flag.String("settings", "", "settings of the training, as in network.freeze=body, with spaces between")
	each := flag.Int("each", 60, "photos of a class")
	page := flag.String("page", filepath.Join("docs", "gallery.md"), "the page")
	browser := flag.String("browser", "chromium", "the browser")
	flag.Parse()
	if err := take(*kindred, *photos, *settings, *page, *browser, *each); err != nil {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

func take(kindred, photos, settings, file, browser string, each int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	work, err := os.MkdirTemp("", "gallery")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := choose(photos, work, each); err != nil {
		return err
	}
	for i, line := range p.commands {
		for _, s := range strings.Fields(settings) {
			if strings.HasPrefix(line, "kindred train ") {
				p.commands[i] += " --set '" + s + "'"
			}
		}
	}
	stop, err := run(kindred, work, p.commands)
	defer stop()
	if err != nil {
		return err
	}
	for _, s := range p.shots {
		to := filepath.Join(filepath.Dir(file), filepath.FromSlash(s.picture))
		if err := s.take(browser, work, to); err != nil {
			return err
		}
		fmt.Println(to)
	}
	return nil
}
