package review

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// FuzzRead reads any bytes as the data of a page: they are refused with the path, or have as
// many cards as they say, in JSON.
func FuzzRead(f *testing.F) {
	p := Page{Title: "a <b> & c", Lead: "x</p>", Items: []Item{{Path: "a</script>", Label: "<i>"}, {Path: "b"}}}
	p.Cards = []Card{{Items: []int{1}, Title: "t"}, {Items: []int{0}, Title: "</h1>"}}
	whole, err := p.JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-20])
	head := `{"title":"a","lead":"b","key":"kindred-review-0123456789abcdef","data":`
	for _, data := range []string{"null", `{"paths":["a"],"label":[0],"cards":[{}]}`, `{"paths":["a"],"label":[]}`,
		`{"cards":[]} {}`, ""} {
		f.Add([]byte(head + data + "}"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), DataName)
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		var s *Saved
		var err error
		budgettest.CheckBounded(t, len(text), func() { s, err = Read(path) })
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
