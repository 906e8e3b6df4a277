package weaviate

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// An answer in which a number is missing, or half a character, is not understood.
func TestDamagedAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		`{"class":"A","vector":[1,null]}`:                "null in a list",
		`{"class":"A","properties":{"item":"x\ud800"}}`:  "is half of a character",
		`{"class":"A","vector":[1,2],"additional":null}`: "",
	} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, answer)
		}))
		s, err := connect("weaviate://"+strings.TrimPrefix(h.URL, "http://"), "a")
		if err != nil {
			t.Fatal(err)
		}
		var o object
		err = s.call(t.Context(), http.MethodGet, "/v1/objects/A/x", nil, &o)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", answer, o, err)
		}
		h.Close()
	}
	columns, err := json.Marshal(`{"label":"\ud800"}`)
	if err != nil {
		t.Fatal(err)
	}
	var p properties
	if err := json.Unmarshal([]byte(`{"`+idProp+`":"=x=","`+columnsProp+`":`+string(columns)+`}`), &p); err != nil {
		t.Fatal(err)
	}
	if it, _, err := p.item(); err == nil {
		t.Errorf("%+v", it)
	}
}

// What an engine says is wrong is repeated cut, however much it says.
func TestAnswersAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for body, status := range map[string]int{
		`{"error":[{"message":"wrong"},{"message":"` + long + `"}]}`: http.StatusBadRequest,
		"wrong " + long: http.StatusBadRequest,
		`{"errors":[{"message":"wrong"},{"message":"` + long + `"}]}`: http.StatusOK,
	} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}))
		s, err := connect("weaviate://"+strings.TrimPrefix(h.URL, "http://"), "a")
		if err != nil {
			t.Fatal(err)
		}
		err = s.queryGraphQL(t.Context(), "{}", &struct{}{})
		if err == nil || len(err.Error()) > 5000 || !strings.Contains(err.Error(), "wrong") {
			t.Errorf("status %d, %.30s: %.300v", status, body, err)
		}
		h.Close()
	}
}

// An item is the same again once it was an object of Weaviate, and a hit of a search.
func TestItemsAsObjects(t *testing.T) {
	s := &Store{class: "A"}
	for _, it := range []store.Item{
		{ID: "x", Vector: []float32{1, 2.5}}, {ID: "Ä=", Path: "p", Vector: []float32{0}},
		{ID: "=", Path: "=", Columns: map[string]any{"n": 1.5, "b": false, "s": "", "ß": "é"}, Vector: []float32{-1}},
	} {
		o, err := s.newObject(&it)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var back object
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		got, is, err := back.Properties.item()
		if got.Vector = back.Vector; !is || err != nil || !reflect.DeepEqual(got, it) {
			t.Errorf("%+v came back as %+v, %v, %v", it, got, is, err)
		}
		has, _ := o.Properties[hasProp].([]string)
		if slices.Contains(has, pathProp) != (it.Path != "") || len(has) != 2+len(it.Columns)+min(len(it.Path), 1) ||
			back.Class != "A" {
			t.Errorf("%+v is said to have %q", it, has)
		}
		// A hit has what a search adds beside its properties.
		o.Properties["_additional"] = map[string]any{"id": o.ID, "distance": 0.25, "vector": it.Vector}
		if text, err = json.Marshal(o.Properties); err != nil {
			t.Fatal(err)
		}
		r := row{}
		r.extra.Vector = []float32{7, 7, 7, 7}
		if err := json.Unmarshal(text, &r); err != nil || r.extra.ID != o.ID || r.extra.Distance != 0.25 ||
			!reflect.DeepEqual(r.extra.Vector, it.Vector) {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
		if got, is, err := r.properties.item(); err != nil || !is || got.ID != it.ID || got.Path != it.Path {
			t.Errorf("%s: %+v, %v, %v", text, got, is, err)
		}
	}
	for _, text := range []string{`[]`, `{"_additional":1}`, `{"_additional":{"vector":"x"}}`} {
		if err := json.Unmarshal([]byte(text), &row{}); err == nil {
			t.Errorf("%s is a hit", text)
		}
	}
	if it, is, err := (properties{idProp: "="}).item(); is || err != nil {
		t.Errorf("%+v, %v", it, err)
	}
}
