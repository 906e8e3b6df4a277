package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// TestDocumentHasEveryRoute: the document and the table have the same routes, with the same parameters.
func TestDocumentHasEveryRoute(t *testing.T) {
	c, s := newContract(t), newServer(t, Options{})
	have, takes := map[string]bool{}, map[string][]string{}
	for _, rt := range s.table() {
		have[rt.pattern], takes[rt.pattern] = true, rt.parameterNames
	}
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			var documented []string
			for _, p := range op.Parameters {
				if p.Value.In == "query" && p.Value.Name != "collection" {
					documented = append(documented, p.Value.Name)
				}
			}
			if !slices.Equal(documented, takes[method+" "+path]) {
				t.Errorf("%s %s takes %q, the document has %q", method, path, takes[method+" "+path], documented)
			}
			if !have[method+" "+path] {
				t.Errorf("the document has %s %s, the table does not", method, path)
			}
			delete(have, method+" "+path)
		}
	}
	for pattern := range have {
		t.Errorf("the table has %s, the document does not", pattern)
	}
	if !strings.HasPrefix(c.doc.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %s", c.doc.OpenAPI)
	}
}

// TestEveryAnswer brings about every answer that the document has, of every route,
// and holds each to its schema.
func TestEveryAnswer(t *testing.T) {
	c := newContract(t)
	checkUsual(t, c)
	checkRefused(t, c)
	checkFailing(t, c)
	checkReview(t, c)
	checkWithoutPlace(t, c)
	var missing []string
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				if name := fmt.Sprintf("%s %s %s", method, path, status); !c.seen[name] {
					missing = append(missing, name)
				}
			}
		}
	}
	slices.Sort(missing)
	for _, name := range missing {
		t.Errorf("the document has the answer %s, which nothing brought about", name)
	}
	if len(c.seen) < 100 {
		t.Errorf("only %d answers seen: %v", len(c.seen), slices.Sorted(maps.Keys(c.seen)))
	}
}

// checkWithoutPlace sends a request of each route over a connection that has no place: it is told so, but
// whoever asks whether the process answers.
func checkWithoutPlace(t *testing.T, contract *contract) {
	s := newServer(t, Options{})
	for _, rt := range s.table() {
		method, path, _ := strings.Cut(rt.pattern, " ")
		r := httptest.NewRequest(method, strings.NewReplacer("{id}", "a", "{digest}", "b").Replace(path), nil)
		r = r.WithContext(context.WithValue(r.Context(), refusedKey{}, true))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		want := http.StatusServiceUnavailable
		if path == "/healthz" {
			want = http.StatusOK
		}
		res := w.Result()
		if res.StatusCode != want || res.Header.Get("Connection") != "close" ||
			(want != 200) != (res.Header.Get("Retry-After") == "1") {
			t.Errorf("%s: %d, %v", rt.pattern, res.StatusCode, res.Header)
		}
		contract.check(t, s, r, nil, res, w.Body.Bytes())
	}
}

// checkUsual uses a server as it is meant to be used, and makes the mistakes that each
// route answers by itself.
//
// Long: a list of requests, one after the other.
func checkUsual(t *testing.T, contract *contract) {
	dir := t.TempDir()
	photo := filepath.Join(dir, "photo.png")
	if err := os.WriteFile(photo, encodePNG(t, plainPicture(300, 200, red)), 0o666); err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(dir, "broken.png")
	if err := os.WriteFile(odd, encodePNG(t, plainPicture(30, 20, red))[:60], 0o666); err != nil {
		t.Fatal(err)
	}
	things := newFilledStore(t, 20)
	err := things.Put(t.Context(), []store.Item{{ID: "photo", Path: photo, Vector: []float32{1, 0, 0}},
		{ID: "odd", Path: odd, Vector: []float32{1, 0, 0}}}, store.Insert)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, Options{Limits: Limits{Body: 1 << 20, Items: 100},
		Collections: []Collection{{Name: "things", Store: things, Embedder: &colourEmbedder{}, Folders: []string{dir},
			Calibration: calibrateSpots(t)},
			{Name: "vectors", Store: &storetest.Memory{Dim: 3}}}})
	do := &caller{t: t, s: s, contract: contract}
	v := map[string]any{"vector": []float32{1, 0, 0}}
	item := map[string]any{"items": []any{map[string]any{"id": "new", "vector": []float32{1, 2, 3}}}}

	for _, target := range []string{"/healthz", "/readyz", "/openapi.json", "/metrics", "/v1/info", "/v1/items",
		"/v1/items?limit=2&after=blue%2F001&vectors=true&filter=label+%3D+%22red%22", "/v1/items/red%2F001", "/v1/map",
		"/v1/items/photo/picture", "/v1/items/photo/thumbnail?size=64"} {
		do.get(target).want(t, 200)
	}
	checkIdentify(t, do)
	for _, ask := range []string{"/v1/search", "/v1/explain"} {
		do.json("POST", ask, v).want(t, 200)
		do.json("POST", ask, map[string]any{"id": "red/001", "least": 0.5}).want(t, 200)
		do.json("POST", ask, map[string]any{"id": "red/001", "k": 3, "filter": `price < 10 and label = "red"`,
			"columns": []string{"label"}, "vectors": true}).want(t, 200)
		do.form("POST", ask, encodeJPEG(t, plainPicture(40, 40, blue)), "k", "5", "columns", "label,price").want(t, 200)
		do.json("POST", ask, map[string]any{"id": "nothing"}).want(t, 404, "not_found")
		do.json("POST", ask+"?collection=other", v).want(t, 404, "not_found")
		do.do("POST", ask, "application/json", []byte(`{"vector":`)).want(t, 400, "bad_request")
		do.do("POST", ask, "text/plain", []byte(`hello`)).want(t, 415, "unsupported_media_type")
		do.do("POST", ask, "application/json", make([]byte, 2<<20)).want(t, 413, "too_large")
		do.json("POST", ask, map[string]any{"vector": []float32{1}}).want(t, 422, "invalid")
		do.json("POST", ask, map[string]any{"id": "red/001", "filter": "price <"}).want(t, 422, "invalid")
		do.form("POST", ask, []byte("no picture")).want(t, 422, "bad_picture")
		do.form("POST", ask+"?collection=vectors", encodeJPEG(t, plainPicture(40, 40, blue))).want(t, 422, "invalid")
	}
	do.json("POST", "/v1/items", item).want(t, 201)
	do.json("POST", "/v1/items", item).want(t, 409, "conflict")
	do.json("PUT", "/v1/items", item).want(t, 200)
	do.form("POST", "/v1/items", encodePNG(t, plainPicture(9, 9, green)), "columns", `{"label":"green"}`).want(t, 201)
	do.form("PUT", "/v1/items/mine", encodePNG(t, plainPicture(9, 9, green))).want(t, 200)
	do.json("PUT", "/v1/items/mine", api.Change{Columns: map[string]any{"price": 3}}).want(t, 200)
	for _, write := range [][2]string{{"POST", "/v1/items"}, {"PUT", "/v1/items"}, {"PUT", "/v1/items/x"},
		{"DELETE", "/v1/items"}} {
		do.json(write[0], write[1]+"?collection=other", item).want(t, 404, "not_found")
		do.do(write[0], write[1], "application/json", []byte(`[`)).want(t, 400, "bad_request")
		do.do(write[0], write[1], "text/plain", []byte(`hello`)).want(t, 415, "unsupported_media_type")
		do.do(write[0], write[1], "application/json", make([]byte, 2<<20)).want(t, 413, "too_large")
	}
	do.json("PUT", "/v1/items/nothing", map[string]any{}).want(t, 404, "not_found")
	do.json("PUT", "/v1/items/mine", map[string]any{"vector": []int{1}}).want(t, 422, "invalid")
	do.json("POST", "/v1/items", api.Items{}).want(t, 422, "invalid")
	do.json("PUT", "/v1/items", api.Items{}).want(t, 422, "invalid")
	do.do("DELETE", "/v1/items", "", nil).want(t, 422, "invalid")
	do.json("DELETE", "/v1/items?id=mine", api.IDs{IDs: []string{"new", "nothing"}}).want(t, 200)
	do.do("DELETE", "/v1/items/red%2F019", "", nil).want(t, 200)
	do.do("DELETE", "/v1/items/red%2F019", "", nil).want(t, 404, "not_found")

	checkEditing(t, do)
	checkOwning(t, contract)

	do.get("/v1/items?limit=x").want(t, 400, "bad_request")
	do.get("/v1/items?filter=what").want(t, 422, "invalid")
	for _, target := range []string{"/v1/items?collection=other", "/v1/items/nothing", "/v1/items/red%2F001/picture",
		"/v1/items/odd/picture", "/v1/items/red%2F001/thumbnail", "/v1/map?collection=other",
		"/v1/map/points?collection=other", "/v1/map/ids?collection=other", "/v1/map/column?collection=other"} {
		if target == "/v1/items/odd/picture" {
			do.get(target).want(t, 200) // its header is whole
			continue
		}
		do.get(target).want(t, 404, "not_found")
	}
	do.get("/v1/items/odd/thumbnail").want(t, 422, "bad_picture")
	do.get("/v1/items/photo/thumbnail?size=1").want(t, 400, "bad_request")
	for _, what := range []string{"picture", "thumbnail"} {
		tag := do.get("/v1/items/photo/"+what).want(t, 200).Header.Get("Etag")
		again := *do
		again.header = http.Header{"If-None-Match": {tag}}
		a := again.get("/v1/items/photo/"+what).want(t, 304)
		if a.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
			a.Header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
			t.Errorf("the %s may be shown by pages of other sites: %v", what, a.Header)
		}
	}
	m := waitForMap(t, do, "things")
	for _, target := range []string{"points", "ids", "column?name=label", "column?name=price", "column?name=sold"} {
		sep := "?"
		if strings.Contains(target, "?") {
			sep = "&"
		}
		do.get("/v1/map/"+target).want(t, 400, "bad_request")
		do.get("/v1/map/"+target+sep+"version=999").want(t, 410, "outdated")
		do.get(fmt.Sprintf("/v1/map/%s%sversion=%d", target, sep, m.Version)).want(t, 200)
	}
}

// checkEditing makes the requests of PATCH, labels and kept pictures, and their mistakes.
func checkEditing(t *testing.T, do *caller) {
	price := map[string]any{"columns": map[string]any{"price": 1.5, "sold": nil}}
	do.json("PATCH", "/v1/items/red%2F001", price).want(t, 200)
	do.json("PATCH", "/v1/items", map[string]any{"ids": []string{"red/002"}, "columns": price["columns"]}).want(t, 200)
	for _, target := range []string{"/v1/items", "/v1/items/red%2F001"} {
		do.json("PATCH", target+"?collection=other", price).want(t, 404, "not_found")
		do.do("PATCH", target, "application/json", []byte(`[`)).want(t, 400, "bad_request")
		do.do("PATCH", target, "text/plain", []byte(`hello`)).want(t, 415, "unsupported_media_type")
		do.do("PATCH", target, "application/json", make([]byte, 2<<20)).want(t, 413, "too_large")
		do.json("PATCH", target, map[string]any{}).want(t, 422, "invalid")
	}
	do.json("PATCH", "/v1/items/nothing", price).want(t, 404, "not_found")
	for _, target := range []string{"/v1/labels",
		"/v1/labels?column=sold&filter=price+%3C+5&limit=1&from=1&sort=name"} {
		do.get(target).want(t, 200)
	}
	do.get("/v1/labels?limit=0").want(t, 400, "bad_request")
	do.get("/v1/labels?column=what").want(t, 422, "invalid")
	do.get("/v1/labels?collection=other").want(t, 404, "not_found")
	var kept api.Picture
	do.form("POST", "/v1/pictures", encodeJPEG(t, plainPicture(40, 40, blue))).want(t, 201).into(t, &kept)
	do.get("/v1/pictures/"+kept.Picture).want(t, 200)
	do.get("/v1/pictures/abc").want(t, 404, "not_found")
	do.form("POST", "/v1/pictures", nil).want(t, 400, "bad_request")
	do.form("POST", "/v1/pictures", []byte("no picture")).want(t, 422, "bad_picture")
	do.json("POST", "/v1/pictures", price).want(t, 415, "unsupported_media_type")
	do.do("POST", "/v1/pictures", "multipart/form-data", make([]byte, 2<<20)).want(t, 413, "too_large")
	for _, ask := range []string{"/v1/search", "/v1/explain", "/v1/identify"} {
		do.json("POST", ask, map[string]any{"picture": kept.Picture}).want(t, 200)
		do.json("POST", ask, map[string]any{"picture": "abc"}).want(t, 404, "not_found")
	}
	do.json("POST", "/v1/search", map[string]any{"picture": kept.Picture, "id": "red/001"}).want(t, 422, "invalid")
}

// checkOwning makes the requests that a collection that follows a folder answers otherwise.
func checkOwning(t *testing.T, contract *contract) {
	dir := t.TempDir()
	text := []byte(`{"format": 1, "pending": "x", "since": "2026-05-01T12:00:00Z"}`)
	if err := os.WriteFile(filepath.Join(dir, mirror.RemovalsFileName), text, 0o666); err != nil {
		t.Fatal(err)
	}
	removals, err := mirror.OpenRemovals(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := NewFolderSync("photos", "/photos", func(p *PendingRemovals, remove bool) error {
		return removals.Decide((*mirror.Pending)(p), remove)
	})
	m := newFilledStore(t, 2)
	own := store.Item{ID: "own", Path: "/photos/own.jpg", Vector: []float32{1, 0, 0}}
	if err := m.Put(t.Context(), []store.Item{own}, store.Insert); err != nil {
		t.Fatal(err)
	}
	do := &caller{t: t, contract: contract, s: newServer(t, Options{Limits: Limits{Body: 1 << 20},
		Collections: []Collection{{Name: "things", Store: m, Embedder: &colourEmbedder{},
			FolderSync: f}}})}
	do.json("DELETE", "/v1/items", api.IDs{IDs: []string{"red/001", "own"}}).want(t, 409, "conflict")
	do.do("DELETE", "/v1/items/own", "", nil).want(t, 409, "conflict")
	do.form("PUT", "/v1/items/own", encodeJPEG(t, plainPicture(9, 9, red))).want(t, 409, "conflict")
	own.Vector = []float32{0, 1, 0}
	do.json("PUT", "/v1/items", api.Items{Items: []store.Item{own}}).want(t, 409, "conflict")
	do.json("DELETE", "/v1/items", api.IDs{IDs: []string{"red/001"}, Keep: true}).want(t, 200)
	const pending = "/v1/sync/pending"
	if got := do.get(pending).want(t, 200); string(got.body) != `{"pending":null}` {
		t.Error(string(got.body))
	}
	decision := api.PendingDecision{ID: "x", Decision: "keep"}
	do.json("POST", pending, decision).want(t, 409, "conflict")
	do.json("POST", pending+"?collection=other", decision).want(t, 404, "not_found")
	do.get(pending+"?collection=other").want(t, 404, "not_found")
	do.get(pending+"?from=x").want(t, 400, "bad_request")
	f.ReportCompared(SyncResult{Pending: &PendingRemovals{ID: "x", Items: 7,
		Removed: []string{"gone", "own", "red/000"}}})
	var waits api.PendingAnswer
	do.get(pending+"?from=1&limit=1").want(t, 200).into(t, &waits)
	if p := waits.Pending; p == nil || p.Removed != 3 || p.Items != 7 || p.Next != 2 ||
		!slices.Equal(p.List, []api.PendingItem{{ID: "own", Path: "/photos/own.jpg"}}) {
		t.Errorf("%+v", p)
	}
	do.json("POST", pending, api.PendingDecision{ID: "y", Decision: "remove"}).want(t, 409, "conflict")
	do.json("POST", pending, decision).want(t, 200)
	do.json("POST", pending, decision).want(t, 409, "conflict")
	<-f.CompareRequests()
	do.do("DELETE", "/v1/items/own", "", nil).want(t, 200) // its photo is missing
	do.json("POST", pending, api.PendingDecision{ID: "x", Decision: "what"}).want(t, 422, "invalid")
	do.do("POST", pending, "application/json", []byte(`[`)).want(t, 400, "bad_request")
	do.do("POST", pending, "text/plain", []byte(`hello`)).want(t, 415, "unsupported_media_type")
	do.do("POST", pending, "application/json", make([]byte, 2<<20)).want(t, 413, "too_large")
}

// waitForMap waits for the map of a collection.
func waitForMap(t *testing.T, do *caller, collection string) api.Map {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var m api.Map
		do.get("/v1/map?collection="+collection).want(t, 200).into(t, &m)
		if m.State == "ready" {
			return m
		}
		if m.State == "failed" {
			t.Fatal(m.Error)
		}
	}
	t.Fatal("no map")
	return api.Map{}
}

// everyRoute calls f for every route with a request that it takes.
func everyRoute(t *testing.T, s *Server, f func(method, target, kind string, body []byte, rt route)) {
	targets := map[string]string{"{id}": "red%2F001", "{digest}": "abc"}
	for _, rt := range s.table() {
		method, path, _ := strings.Cut(rt.pattern, " ")
		for name, value := range targets {
			path = strings.ReplaceAll(path, name, value)
		}
		kind, body := "", []byte(nil)
		switch {
		case strings.HasSuffix(path, "/search"), strings.HasSuffix(path, "/explain"):
			kind, body = "application/json", []byte(`{"vector":[1,0,0]}`)
		case rt.pattern == "POST /v1/pictures":
			kind, body = encodeForm(t, encodeJPEG(t, plainPicture(9, 9, red)))
		case method == "PATCH":
			kind, body = "application/json", []byte(`{"columns":{"price":-1}}`)
			if path == "/v1/items" {
				body = []byte(`{"ids":["red/001"],"columns":{"price":-1}}`)
			}
		case rt.pattern == "POST /v1/sync/pending":
			kind, body = "application/json", []byte(`{"id":"x","decision":"keep"}`)
		case strings.HasSuffix(path, "/identify"):
			kind, body = "application/json", []byte(`{"vectors":[[1,0,0]]}`)
		case rt.pattern == "PUT /v1/review/decisions":
			kind, body = "application/json", []byte(`{"version":0,"done":{},"past":[],"at":0}`)
		case rt.pattern == "DELETE /v1/items":
			kind, body = "application/json", []byte(`{"ids":["red/001"]}`)
		case rt.pattern == "PUT /v1/items/{id}":
			kind, body = "application/json", []byte(`{"vector":[1,0,0]}`)
		case rt.body:
			kind, body = "application/json", []byte(`{"items":[{"id":"red/001","vector":[1,0,0]}]}`)
		}
		f(method, path, kind, body, rt)
	}
}

// checkRefused meets every answer that keeps a request from its handler.
func checkRefused(t *testing.T, contract *contract) {
	keyFile, readKey, _ := keyFile(t)
	keys, err := OpenKeys(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, Options{Keys: keys, Local: true})
	do := &caller{t: t, s: s, contract: contract}
	everyRoute(t, s, func(method, target, kind string, body []byte, rt route) {
		if !rt.open {
			do.do(method, target, kind, body).want(t, 401, "unauthorized")
		}
		if rt.permission == Write {
			reader := &caller{t: t, s: s, contract: contract, key: readKey}
			reader.do(method, target, kind, body).want(t, 403, "forbidden")
		}
		other := &caller{t: t, s: s, contract: contract, header: http.Header{"Host": {"kindred.example"}}}
		other.do(method, target, kind, body).want(t, 421, "wrong_host")
	})
	open := newServer(t, Options{})
	foreign := &caller{t: t, s: open, contract: contract, header: http.Header{"Sec-Fetch-Site": {"cross-site"}}}
	everyRoute(t, open, func(method, target, kind string, body []byte, rt route) {
		if method != "GET" {
			foreign.do(method, target, kind, body).want(t, 403, "forbidden")
		}
	})
	strict := &caller{t: t, s: open, contract: contract}
	everyRoute(t, open, func(method, target, kind string, body []byte, rt route) {
		if !strings.HasPrefix(target, "/v1/") {
			strict.do(method, target+"?flter=a", kind, body)
			return
		}
		for _, q := range []string{"?flter=a", "?collection=a&collection=b"} {
			strict.do(method, target+q, kind, body).want(t, 400, "bad_request")
		}
	})
	everyRoute(t, open, func(method, target, kind string, body []byte, rt route) {
		if rt.open {
			return
		}
		slow := newServer(t, Options{Limits: Limits{Rate: 1e-9, Burst: 1}})
		do := &caller{t: t, s: slow, contract: contract}
		do.do(method, target, kind, body)
		if a := do.do(method, target, kind, body).want(t, 429, "rate_limited"); a.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	})
}

// checkFailing meets the answers of a server that has too much to do, or whose store fails.
func checkFailing(t *testing.T, contract *contract) {
	m := newFilledStore(t, 3)
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: m}},
		Limits: Limits{Concurrent: 1, Time: 30 * time.Millisecond}})
	do := &caller{t: t, s: s, contract: contract}
	s.requestSlots <- struct{}{} // somebody takes the only place
	everyRoute(t, s, func(method, target, kind string, body []byte, rt route) {
		if !rt.open {
			if a := do.do(method, target, kind, body); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
				t.Errorf("%s %s: %d", method, target, a.StatusCode)
			}
		}
	})
	<-s.requestSlots

	s = newServer(t, Options{Collections: []Collection{{Name: "things", Store: m, Calibration: calibrateSpots(t)}}})
	do = &caller{t: t, s: s, contract: contract}
	m.Fault(func(string) error { return errors.New("the engine is on fire") })
	do.get("/readyz").want(t, 503, "not_ready")
	everyRoute(t, s, func(method, target, kind string, body []byte, rt route) {
		if rt.open || strings.HasPrefix(target, "/v1/map/") || strings.HasPrefix(target, "/v1/review") ||
			target == "/metrics" || strings.HasPrefix(target, "/v1/pictures") || rt.pattern == "GET /v1/sync/pending" {
			return // they ask no store
		}
		a := do.do(method, target, kind, body).want(t, 500, "internal")
		if strings.Contains(string(a.body), "fire") {
			t.Errorf("%s %s tells strangers what went wrong inside: %s", method, target, a.body)
		}
	})
	m.Fault(func(method string) error {
		if method == "Put" || method == "Delete" {
			return fmt.Errorf("writing a segment: %w", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
		}
		return nil
	})
	everyRoute(t, s, func(method, target, kind string, body []byte, rt route) {
		if strings.HasPrefix(target, "/v1/review") {
			do.do(method, target, kind, body).want(t, 404, "not_found") // this server has no page to review
		} else if strings.HasPrefix(target, "/v1/pictures") || strings.HasPrefix(target, "/v1/sync") {
			return // they write nothing into the store
		} else if rt.permission == Write {
			do.do(method, target, kind, body).want(t, 507, "disk_full")
		} else if !strings.HasPrefix(target, "/v1/map/") && !strings.Contains(target, "picture") &&
			!strings.Contains(target, "thumbnail") {
			do.do(method, target, kind, body).want(t, 200) // reading goes on
		}
	})
	m.Fault(nil)
	checkSlowBodies(t, contract)
}

// checkSlowBodies sends bodies that do not arrive in time.
func checkSlowBodies(t *testing.T, contract *contract) {
	s := newServer(t, Options{Limits: Limits{Time: 50 * time.Millisecond}})
	address := startServer(t, s)
	everyRoute(t, s, func(method, target, kind string, _ []byte, rt route) {
		if !rt.body {
			return
		}
		status, header, body, err := sendSlowly(address, method, target, kind)
		if err != nil || status != 408 {
			t.Fatalf("%s %s: %d %s, %v", method, target, status, body, err)
		}
		r, err := http.NewRequest(method, "http://"+address+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		contract.check(t, s, r, nil, &http.Response{StatusCode: status, Header: header}, body)
		var p api.Problem
		if err := json.Unmarshal(body, &p); err != nil || p.Code != "timeout" {
			t.Errorf("%s: %v", body, err)
		}
	})
}
