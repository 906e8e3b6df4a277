package serve

import (
	"context"
	"fmt"
	"image/color"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/store"
)

// newNumberedStore is a store of vectors of dim numbers, all of them value, whose items are called after it.
func newNumberedStore(t *testing.T, name string, dim, value int) *storetest.Memory {
	t.Helper()
	m := &storetest.Memory{Dim: dim}
	for i := range 3 {
		v := make([]float32, dim)
		v[0] = float32(value)
		if err := m.Put(t.Context(), []store.Item{{ID: fmt.Sprint(name, i), Vector: v}}, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// slowEmbedder is an embedder that waits to be told.
type slowEmbedder struct {
	dim     int
	started chan struct{}
	release chan struct{}
}

func (e *slowEmbedder) Decode(context.Context, *imaging.Picture, int) (*imaging.Image, error) {
	return &imaging.Image{}, nil
}

func (e *slowEmbedder) Embed(_ context.Context, pictures []*imaging.Image) (*matrix.Dense, error) {
	e.started <- struct{}{}
	<-e.release
	return matrix.New(len(pictures), e.dim), nil
}

// TestReplace: a request under way finishes with the collection that it began with, of another dimension; a later one
// has the new collection; Replace returns when the old one is no longer used. Changes wait while they are paused.
func TestReplace(t *testing.T) {
	old := &slowEmbedder{2, make(chan struct{}), make(chan struct{})}
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: newNumberedStore(t, "old", 2, 1),
		Embedder: old}}})
	do, picture := caller{t: t, s: s}, encodePNG(t, plainPicture(4, 4, color.White))
	first := make(chan string)
	go func() { first <- string(do.form(http.MethodPost, "/v1/search", picture).body) }()
	<-old.started
	resume := s.Pause("things")
	defer resume()
	replaced := make(chan error)
	now := &slowEmbedder{3, make(chan struct{}, 9), make(chan struct{})}
	close(now.release)
	stored := newNumberedStore(t, "new", 3, 2)
	changed := make(chan int)
	go func() {
		changed <- do.do(http.MethodPost, "/v1/items", "application/json",
			[]byte(`{"items":[{"id":"late","vector":[1,2,3]}]}`)).StatusCode
	}()
	go func() { replaced <- s.Replace(Collection{Name: "things", Store: stored, Embedder: now}) }()
	if code := <-changed; code != http.StatusCreated { // it waited for the new collection
		t.Errorf("the change: %d", code)
	}
	if text := string(do.form(http.MethodPost, "/v1/search", picture).body); !strings.Contains(text, `"new0"`) {
		t.Errorf("a later request: %s", text)
	}
	select {
	case err := <-replaced:
		t.Fatalf("replaced while it is used: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	old.release <- struct{}{}
	if text := <-first; !strings.Contains(text, `"old0"`) {
		t.Errorf("the request under way: %s", text)
	}
	if err := <-replaced; err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(Collection{Name: "others", Store: stored}); err == nil {
		t.Error("a collection that is not there was replaced")
	}
}

// TestPauseEnds: changes go on after a pause without another collection, and are refused with the way out when it
// lasts.
func TestPauseEnds(t *testing.T) {
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: newNumberedStore(t, "old", 2, 1)}}})
	s.Pause("others")()
	resume := s.Pause("things")
	add := func(ctx context.Context, id string) int {
		body := strings.NewReader(`{"items":[{"id":"` + id + `","vector":[1,2]}]}`)
		r := httptest.NewRequest(http.MethodPost, "/v1/items", body).WithContext(ctx)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if code := add(ctx, "a"); code != http.StatusServiceUnavailable {
		t.Errorf("while it is paused: %d", code)
	}
	done := make(chan int)
	go func() { done <- add(t.Context(), "b") }()
	resume()
	resume()
	if code := <-done; code != http.StatusCreated {
		t.Errorf("after it: %d", code)
	}
}
