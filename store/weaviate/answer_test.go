package weaviate

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
		err = s.graph(t.Context(), "{}", &struct{}{})
		if err == nil || len(err.Error()) > 5000 || !strings.Contains(err.Error(), "wrong") {
			t.Errorf("status %d, %.30s: %.300v", status, body, err)
		}
		h.Close()
	}
}
