package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// The film is well-formed XML with the output as text, and the sheet.
func TestFilm(t *testing.T) {
	s := session{commands: []command{
		{line: commands[0], took: 70 * time.Second, output: []printedLine{{time.Second, "<script>&\x1b[2J"},
			{65 * time.Second, strings.Repeat("long ", 40)}}},
		{line: commands[1], took: 2 * time.Second},
	}}
	for range 40 { // more than a screen
		s.commands[1].output = append(s.commands[1].output, printedLine{time.Second, "found"})
	}
	shots, sheet, gone, whole := s.script()
	for i := range shots[1:] {
		if shots[i+1].at < shots[i].at {
			t.Errorf("line %d comes before line %d", i+1, i)
		}
	}
	if sheet >= gone || gone >= whole || whole > time.Minute {
		t.Errorf("the sheet comes at %v and goes at %v of %v", sheet, gone, whole)
	}
	var b bytes.Buffer
	if err := s.write(&b); err != nil {
		t.Fatal(err)
	}
	svg := b.String()
	for _, want := range []string{"$ kindred train", "&lt;script&gt;", "(1 min 10 s)", "1 min 12 s in all",
		"translateY(-"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in %s", want, svg)
		}
	}
	d := xml.NewDecoder(&b)
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// README shows the recording of the commands that it documents.
func TestRecording(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile("../recording.svg")
	if err != nil {
		t.Fatal(err)
	}
	if len(svg) > 500_000 {
		t.Errorf("the recording takes %d bytes", len(svg))
	}
	if !strings.Contains(string(readme), "](docs/recording.svg)") {
		t.Error("README does not show it")
	}
	for _, c := range commands {
		if !strings.Contains(string(readme), c) || !strings.Contains(string(svg), c) {
			t.Errorf("%s is not in README and in the recording", c)
		}
	}
	if strings.Contains(string(svg), os.TempDir()) {
		t.Error("the recording names a folder of the machine that it was made on")
	}
	if !strings.Contains(string(svg), "data:image/jpeg") {
		t.Error("the recording does not show what was found")
	}
}
