package layout

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

const inatExample = `{"info": {"year": [2021, {"x": null}]}, "images": [{"id": 7, "file_name": "a.jpg", "width": 3}, {}],
	"annotations": [{"id": 1, "image_id": 7, "category_id": 2}], "licenses": [], "categories": [
	{"id": 2, "name": "wren", "supercategory": "bird"}]}`

// What is read is what encoding/json makes of the whole.
func TestParseINat(t *testing.T) {
	got, err := parseINat("x.json", []byte(inatExample))
	var want struct {
		Images      []inatImage      `json:"images"`
		Annotations []inatAnnotation `json:"annotations"`
		Categories  []inatCategory   `json:"categories"`
	}
	if e := json.Unmarshal([]byte(inatExample), &want); e != nil {
		t.Fatal(e)
	}
	if err != nil || !reflect.DeepEqual(got, &inatJSON{want.Images, want.Annotations, want.Categories}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "[]", "{", `{"images": 3}`, `{"images": [3]}`, `{"images": [{}`,
		inatExample + "x", `{"images": [{"id": "x"}]}`, `{"info": [}`, `{"info": `} {
		if j, err := parseINat("x.json", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "x.json: ") {
			t.Errorf("%q: %+v, %v", text, j, err)
		}
	}
}

// Entries of two characters take many times that: the limit ends them, not the system.
func TestINatWithinBudget(t *testing.T) {
	budgettest.Limit(t, 32<<20)
	for _, list := range []string{"images", "annotations", "categories"} {
		text := `{"` + list + `": [` + strings.Repeat("{},", 1<<20) + `{}]}`
		_, err := parseINat("x.json", []byte(text))
		var over *budget.Error
		if !errors.As(err, &over) || over.What != "x.json" {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// FuzzINat reads any text as annotations, as encoding/json would.
func FuzzINat(f *testing.F) {
	f.Add(inatExample)
	f.Add(`{"images": [{"id": 7, "file_name": "a.jpg"}], "images": []}`)
	f.Fuzz(func(t *testing.T, text string) {
		j, err := parseINat("x.json", []byte(text))
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is taken: %+v", text, j)
		}
	})
}
