package remotedata

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
)

// carelessServer is a server that knows nothing of If-Match and gives, once it has changed,
// what there is then.
type carelessServer struct {
	before, after []byte
	changed       atomic.Bool
	// header changes that of an answer, before and after.
	header func(h http.Header, changed bool)
}

func (c *carelessServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	changed, content := c.changed.Load(), c.before
	if changed {
		content = c.after
	}
	r.Header.Del("If-Match")
	c.header(w.Header(), changed)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// twoBlocks is an archive of the pictures in which the list of entries lies in another
// block than they do.
func twoBlocks(t *testing.T, all map[string][]byte) []byte {
	t.Helper()
	noise := make([]byte, 3*blockBytes)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	z := newZip(t, all)
	end := bytes.LastIndex(z, []byte("PK\x05\x06"))
	list := int(z[end+16]) | int(z[end+17])<<8 | int(z[end+18])<<16
	out := slices.Concat(z[:list], noise, z[list:])
	at := uint32(list + len(noise))
	copy(out[end+len(noise)+16:], []byte{byte(at), byte(at >> 8), byte(at >> 16), byte(at >> 24)})
	return out
}

// TestArchiveThatChanges: an archive that changes between two ranges is an error of all
// of it that says so, by whatever the server tells of it; one that does not is none.
func TestArchiveThatChanges(t *testing.T) {
	all := newPictures(t)
	before := twoBlocks(t, all)
	other := bytes.Clone(before)
	for i := range 2000 { // of the pictures
		other[i] ^= 0x55
	}
	longer := append(bytes.Clone(before), 0)
	set := func(key, a, b string) func(http.Header, bool) {
		return func(h http.Header, changed bool) {
			h.Set(key, a)
			if changed {
				h.Set(key, b)
			}
		}
	}
	for name, c := range map[string]struct {
		after  []byte
		header func(http.Header, bool)
		want   string // "" for none
	}{
		"ETag":      {other, set("ETag", `"a"`, `"b"`), "it has changed since it was listed"},
		"weak ETag": {other, set("ETag", `W/"a"`, `W/"b"`), "it has changed since it was listed"},
		"time": {other, set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT", "Mon, 02 Jan 2006 15:04:06 GMT"),
			"it has changed"},
		"size":          {longer, func(http.Header, bool) {}, "it has changed since it was listed"},
		"made weak":     {before, set("ETag", `"a"`, `W/"a"`), ""},
		"no ETag later": {before, set("ETag", `"a"`, ""), ""},
	} {
		s := &carelessServer{before: before, after: c.after, header: c.header}
		server := httptest.NewServer(s)
		d, err := Open(t.Context(), server.URL+"/set.zip", data.OpenOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.changed.Store(true)
		var im imaging.Image
		err = d.Image(t.Context(), 0, &im, &imaging.Decoder{})
		var source *data.SourceError
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &source)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		server.Close()
	}
}

// TestWrongRange: bytes of another place than was asked for are none, even where they
// are as many.
func TestWrongRange(t *testing.T) {
	content := twoBlocks(t, newPictures(t))
	shifted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var first, last int
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); n == 2 && first > 0 {
			first, last = first-1, last-1
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(content)))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(content[first : last+1])
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
	server := httptest.NewServer(shifted)
	defer server.Close()
	_, err := Open(t.Context(), server.URL+"/set.zip", data.OpenOptions{})
	if err == nil || !strings.Contains(err.Error(), "the server answers with the range \"bytes ") {
		t.Errorf("%v", err)
	}
}

// TestWholeFile: a file that has become longer than it was listed with, of which the server
// announces nothing, is not read as its beginning, nor is a part that nobody asked for.
func TestWholeFile(t *testing.T) {
	u := &url.URL{Scheme: "https", Host: "host", Path: "/a.png"}
	for want, s := range map[string]*fixedTransport{
		"it has changed since it was listed": {200, http.Header{}, -1, []byte("abcdef")},
		"with a part of the file":            {206, http.Header{"Content-Range": {"bytes 0-4/9"}}, 5, []byte("abcde")},
		"":                                   {200, http.Header{}, -1, []byte("abcde")},
	} {
		b := (&web{&http.Client{Transport: s}}).blob(u)
		b.size = 5
		content, err := b.readAll(t.Context())
		if want == "" && (err != nil || string(content) != "abcde") ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %q, %v", want, content, err)
		}
	}
}

// TestDamagedEntry: the CRC-32 of an entry is compared with that of its content, which
// is all that tells another picture from it. The other entries can still be read.
func TestDamagedEntry(t *testing.T) {
	all := newPictures(t)
	content := newZip(t, all)
	// The CRC-32 stands in the list of entries, 30 bytes before the name.
	content[bytes.LastIndex(content, []byte("class0/0.png"))-30] ^= 1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	d, err := Open(t.Context(), server.URL+"/set.zip", data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range d.Names {
		var im imaging.Image
		err := d.Image(t.Context(), i, &im, &imaging.Decoder{})
		var source *data.SourceError
		if (err != nil) != (name == "class0/0.png") || errors.As(err, &source) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParseContentRange: what RFC 9110 has, and nothing near it.
func TestParseContentRange(t *testing.T) {
	for text, want := range map[string]contentRange{
		"bytes 0-0/1": {0, 0, 1}, "bytes 100-999/1000": {100, 999, 1000}, "BYTES 5-6/*": {5, 6, -1},
	} {
		if got, ok := parseContentRange(text); !ok || got != want {
			t.Errorf("%q: %v %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "bytes", "bytes */7", "bytes 3-2/9", "bytes 0-9/9", "bytes -1-2/9",
		"bytes +1-2/9",
		"bytes 1-2", "bytes 1-2/", "bytes 1-2/x", "bytes  1-2/9", "lines 1-2/9", "bytes 1-2/9 ", "bytes 1-2/-9",
		"bytes 1-99999999999999999999/*"} {
		if got, ok := parseContentRange(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// FuzzContentRange reads any text, and again what it made of it.
func FuzzContentRange(f *testing.F) {
	for _, text := range []string{"bytes 0-0/1", "bytes 100-999/1000", "bytes 5-6/*", "bytes */7", "bytes 3-2/9"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := parseContentRange(text)
		if !ok {
			return
		}
		if r.first < 0 || r.first > r.last || r.total >= 0 && r.last >= r.total {
			t.Fatalf("%q: %v", text, r)
		}
		whole := "*"
		if r.total >= 0 {
			whole = fmt.Sprint(r.total)
		}
		if again, ok := parseContentRange(fmt.Sprintf("bytes %d-%d/%s", r.first, r.last, whole)); !ok || again != r {
			t.Fatalf("%q: %v, then %v", text, r, again)
		}
	})
}
