package review

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/budgettest"
)

// FuzzRead reads any bytes as a page: it is refused with its path, or has as many cards as
// its data, which is JSON.
func FuzzRead(f *testing.F) {
	p := Page{Title: "a <b> & c", Lead: "x</p>", Items: []Item{{Path: "a</script>", Label: "<i>"}, {Path: "b"}}}
	p.Cards = []Card{{Items: []int{1}, Title: "t"}, {Items: []int{0}, Title: "</h1>"}}
	whole, err := p.HTML()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-200])
	head := `<h1>a</h1><p id="lead">b</p><script type="application/json" id="data" data-key="kindred-review-` +
		`0123456789abcdef">`
	for _, data := range []string{"null", `{"paths":["a"],"label":[0],"cards":[{}]}`, `{"paths":["a"],"label":[]}`,
		`{"cards":[]} {}`, ""} {
		f.Add([]byte(head + data + "</script>"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		var s *Saved
		var err error
		budgettest.Bounded(t, len(text), func() { s, err = Read(path) })
		if err != nil {
			if !strings.Contains(err.Error(), path) || len(err.Error()) > len(path)+1000 {
				t.Fatalf("%v", err)
			}
			return
		}
		var d pageData
		if err := json.Unmarshal(s.Data, &d); err != nil || len(d.Cards) != s.Cards || len(d.Paths) != len(d.Label) {
			t.Fatalf("%d cards of %s: %v", s.Cards, s.Data, err)
		}
	})
}
