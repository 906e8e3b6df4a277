// Command gallery takes the pictures of docs/gallery.md. It runs the commands of the page in a
// folder with photos, opens the pages that they wrote in a browser, and keeps screenshots.
//
//	go run ./docs/gallery -kindred bin/kindred -photos DIR
//
// The commands are in the page's blocks of sh and run in order; kindred serve runs until all
// pictures are taken. A comment above a picture has the page to open and the size of the window:
//
//	<!-- found/search.html 1000x640 -->
//	![what it shows](gallery/search.jpg)
//
// DIR has a folder of photos for each class. Up to -each photos of a class are used, and the
// first remaining photo is photo.jpg.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	kindred := flag.String("kindred", filepath.Join("bin", "kindred"), "kindred program to run")
	photos := flag.String("photos", "", "folder of photos, one folder a class")
	settings := flag.String("settings", "", "settings of the training, separated by spaces")
	each := flag.Int("each", 60, "largest number of photos of a class")
	page := flag.String("page", filepath.Join("docs", "gallery.md"), "Markdown page with the commands")
	browser := flag.String("browser", "chromium", "browser to run")
	flag.Parse()
	if err := takePictures(*kindred, *photos, *settings, *page, *browser, *each); err != nil {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

func takePictures(kindred, photos, settings, file, browser string, each int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p, err := parsePage(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	work, err := os.MkdirTemp("", "gallery")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := choosePhotos(photos, work, each); err != nil {
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
