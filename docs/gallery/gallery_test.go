package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	p, err := parsePage("# a\n\n```sh\nkindred a --b c   # why\n\nkindred serve d\n```\n\n" +
		"<!-- d/e.html 10x20 -->\n![f](gallery/g.jpg)\n\n```text\nkindred h\n```\n")
	want := page{[]string{"kindred a --b c", "kindred serve d"}, []shot{{"d/e.html", 10, 20, "gallery/g.jpg"}}}
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{"", "![f](gallery/g.jpg)\n", "<!-- d 1x2 -->\n![f](elsewhere/g.jpg)\n"} {
		if _, err := parsePage(bad); err == nil || !strings.Contains(err.Error(), "pictures") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestPage checks that every picture of the page exists, and no other.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "gallery.md"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsePage(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range p.shots {
		want = append(want, filepath.Base(s.picture))
		if _, err := os.Stat(filepath.Join("..", s.picture)); err != nil {
			t.Error(err)
		}
	}
	there, err := filepath.Glob("*.jpg")
	if err != nil || len(there) != len(want) {
		t.Errorf("there are %v, and the page shows %v (%v)", there, want, err)
	}
}

func TestChoose(t *testing.T) {
	from, work := t.TempDir(), t.TempDir()
	for _, class := range []string{"a", "b"} {
		for k := range 3 {
			path := filepath.Join(from, class, fmt.Sprintf("%d.jpg", k))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(class+fmt.Sprint(k)), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := choosePhotos(from, work, 2); err != nil {
		t.Fatal(err)
	}
	copied, err := filepath.Glob(filepath.Join(work, "photos", "*", "*"))
	if err != nil || len(copied) != 4 {
		t.Errorf("%v, %v", copied, err)
	}
	if text, err := os.ReadFile(filepath.Join(work, "photo.jpg")); err != nil || string(text) != "a2" {
		t.Errorf("the photo is %q, %v", text, err)
	}
	if err := choosePhotos(from, t.TempDir(), 3); err == nil || !strings.Contains(err.Error(), "more than 3") {
		t.Errorf("no photo is left: %v", err)
	}
}
