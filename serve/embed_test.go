package serve

import (
	"context"
	"errors"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
)

// What fails with one picture is not tried again for the same one.
func TestOnePictureFailsOnce(t *testing.T) {
	calls := 0
	e := &colourEmbedder{before: func(int) error { calls++; return errors.New("an odd picture") }}
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: newFilledStore(t, 5), Embedder: e}}})
	(&caller{t: t, s: s}).form("POST", "/v1/search", encodePNG(t, plainPicture(8, 8, red))).want(t, 500, "internal")
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

// stubbornEmbedder is an embedder whose decoder goes on after its context has ended, until it is let go.
type stubbornEmbedder struct {
	colourEmbedder
	now, most atomic.Int32
	release   chan struct{}
}

func (e *stubbornEmbedder) Decode(ctx context.Context, p *imaging.Picture, maxPixels int) (*imaging.Image, error) {
	n := e.now.Add(1)
	defer e.now.Add(-1)
	for most := e.most.Load(); n > most && !e.most.CompareAndSwap(most, n); most = e.most.Load() {
	}
	<-ctx.Done()
	<-e.release
	return nil, ctx.Err()
}

// TestDecoders: no more pictures are decoded at a time than there are cores, those that are decoded in a sandbox leave
// a core to the rest of the server, and a request keeps its memory and its place until its decoder has ended, also
// beyond its time.
func TestDecoders(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	for name, places := range map[string]int{"png-rgb.png": cores, "avif.avif": max(1, cores-1)} {
		t.Run(name, func(t *testing.T) { testDecoders(t, name, places) })
	}
}

func testDecoders(t *testing.T, name string, places int) {
	picture, err := os.ReadFile("../data/imaging/testdata/formats/" + name)
	if err != nil {
		t.Fatal(err)
	}
	e := &stubbornEmbedder{release: make(chan struct{})}
	s := newServer(t, Options{Limits: Limits{Time: 100 * time.Millisecond},
		Collections: []Collection{{Name: "things", Store: newFilledStore(t, 5), Embedder: e}}})
	requests := 3 * places
	ended := make(chan int, requests)
	for range requests {
		go func() { ended <- (&caller{t: t, s: s}).form("POST", "/v1/search", picture).StatusCode }()
	}
	for range requests - places { // those that wait for a place are answered in time
		if status := <-ended; status != http.StatusServiceUnavailable {
			t.Errorf("waiting: %d", status)
		}
	}
	if n := e.now.Load(); int(n) != places || s.memory.bytesInUse() == 0 || len(s.requestSlots) != places {
		t.Errorf("%d decoders, %d bytes and %d places in use", n, s.memory.bytesInUse(), len(s.requestSlots))
	}
	close(e.release)
	for range places {
		<-ended
	}
	if n := e.most.Load(); int(n) != places || s.memory.bytesInUse() != 0 ||
		len(s.requestSlots)+len(s.decoders.all) != 0 {
		t.Errorf("in the end: up to %d decoders, %d bytes and %d places in use", n, s.memory.bytesInUse(),
			len(s.requestSlots)+len(s.decoders.all))
	}
}
