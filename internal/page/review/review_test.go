package review

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"image"
	"strings"
	"testing"
)

// Names of any kind are text: none ends the script or turns the direction around.
func TestNamesAreText(t *testing.T) {
	p := Page{Title: "a <b> & c", Lead: "x</p>", Items: []Item{{Path: "a\u202eb</script><script>alert(1)</script>",
		Name: "n", Label: "two\nlines", Split: "train"}}}
	p.Cards = []Card{{Items: []int{0}, Title: "<i>", Reason: "</script>", Suggested: "\u2066x", Score: 0.123,
		Pictures: []Picture{{Image: image.NewGray(image.Rect(0, 0, 300, 200))}, {Caption: "none"}}}}
	b, err := p.HTML()
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if strings.Count(text, "<script") != 2 || strings.Count(text, "</script>") != 2 ||
		strings.ContainsAny(text, "\u202e\u2066") {
		t.Error("a name is more than text")
	}
	for _, want := range []string{"a &lt;b&gt; &amp; c", `a\u202eb\u003c/script\u003e`, `"score":"0.12"`,
		"data:image/jpeg;base64,"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	sum := sha256.Sum256([]byte(Script))
	if policy := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';"; !strings.Contains(
		html.UnescapeString(text), policy) || !strings.Contains(text, "<script>"+Script+"</script>") {
		t.Error("the policy of the page does not allow its script")
	}
	again, err := p.HTML()
	if err != nil || string(again) != text {
		t.Error("the same page has other bytes")
	}
}

func TestMistakes(t *testing.T) {
	p := Page{Items: []Item{{Path: "a"}}, Cards: []Card{{Title: "t", Items: []int{1}}}}
	if err := p.WriteFiles(t.TempDir()); err == nil {
		t.Error("a card about an item that is not there")
	}
	empty := Page{}
	if _, err := empty.HTML(); err != nil {
		t.Error(err)
	}
}
