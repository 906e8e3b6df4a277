package main

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// drawPattern is a picture of a class: its pattern with a little noise.
func drawPattern(class, n int) image.Image {
	pattern, noise := rand.New(rand.NewPCG(uint64(class), 1)), rand.New(rand.NewPCG(uint64(class), uint64(n)+2))
	im := image.NewGray(image.Rect(0, 0, 8, 8))
	for k := range im.Pix {
		im.Pix[k] = uint8(20 + 200*pattern.Float64() + 20*noise.Float64())
	}
	return im
}

// TestDecisionsDocument runs the commands that docs/decisions.md begins with, as they stand
// there, on 40 classes, with the division that a reader gets.
func TestDecisionsDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "decisions.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```sh\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("docs/decisions.md does not begin with commands")
	}
	t.Chdir(t.TempDir())
	for c := range 40 {
		for i := range 8 {
			var b bytes.Buffer
			if err := png.Encode(&b, drawPattern(c, i)); err != nil {
				t.Fatal(err)
			}
			writeBytes(t, filepath.Join("photos", fmt.Sprintf("thing %d", c), fmt.Sprintf("%d.png", i)), b.Bytes())
		}
	}
	for name, class := range map[string]int{"photo.jpg": 3, "new-photos/a.jpg": 4, "new-photos/b.jpg": 99} {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, drawPattern(class, 50), &jpeg.Options{Quality: 98}); err != nil {
			t.Fatal(err)
		}
		writeBytes(t, name, b.Bytes())
	}
	if code, _, stderr := runArgs(t, "train", "--data", "photos", "--out", "runs/photos", "--set", "train.epochs=1",
		"--set", "network.name=mlp", "--set", "network.width=32"); code != exitOK {
		t.Fatal(stderr)
	}
	for line := range strings.Lines(block) {
		args := strings.Fields(line)
		code, out, stderr := runArgs(t, args[1:]...)
		if args[0] != "kindred" || code != exitOK {
			t.Fatalf("%s%s", line, stderr)
		}
		if args[1] == "identify" && args[2] == "photo.jpg" && !strings.Contains(out, "thing 3") {
			t.Errorf("%s%s", line, out)
		}
	}
	for _, name := range []string{"decisions.csv", "why/identify.html"} {
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), "thing 4") || !strings.Contains(string(text), "b.jpg") {
			t.Errorf("%s: %v %.400s", name, err, text)
		}
	}
}
