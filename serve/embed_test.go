package serve

import (
	"errors"
	"testing"
)

// What fails with one picture is not tried again for the same one.
func TestOnePictureFailsOnce(t *testing.T) {
	calls := 0
	e := &colours{before: func(int) error { calls++; return errors.New("an odd picture") }}
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: filled(t, 5), Embedder: e}}})
	(&caller{t: t, s: s}).form("POST", "/v1/search", pngOf(t, plain(8, 8, red))).want(t, 500, "internal")
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}
