package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// page holds the commands to run and the pictures to take.
type page struct {
	commands []string
	shots    []shot
}

// shot is a picture of a page in a window of a given size.
type shot struct {
	address       string // file below the folder of the commands, or an http address
	width, height int    // size of the window
	picture       string // file, relative to the page's folder
}

var (
	fenced       = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	comment      = regexp.MustCompile(`\s+#.*`)
	shownPattern = regexp.MustCompile(`(?m)^<!-- (\S+) (\d+)x(\d+) -->\n!\[[^\]]+\]\((gallery/[\w.-]+\.jpg)\)$`)
	picture      = regexp.MustCompile(`!\[`)
)

// parsePage reads the page's commands and pictures.
func parsePage(text string) (page, error) {
	var p page
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			if line = strings.TrimSpace(comment.ReplaceAllString(line, "")); line != "" {
				p.commands = append(p.commands, line)
			}
		}
	}
	for _, m := range shownPattern.FindAllStringSubmatch(text, -1) {
		width, err := strconv.Atoi(m[2])
		if err != nil {
			return page{}, err
		}
		height, err := strconv.Atoi(m[3])
		if err != nil {
			return page{}, err
		}
		p.shots = append(p.shots, shot{m[1], width, height, m[4]})
	}
	if n := len(picture.FindAllString(text, -1)); n != len(p.shots) || n == 0 {
		return page{}, fmt.Errorf("%d pictures, but %d comments such as <!-- found/search.html 1000x640 -->", n,
			len(p.shots))
	}
	return p, nil
}
