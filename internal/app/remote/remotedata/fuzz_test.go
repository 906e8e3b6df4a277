package remotedata

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// fixedTransport is a transport that has one answer to everything.
type fixedTransport struct {
	status int
	header http.Header
	length int64 // Content-Length; -1: none
	body   []byte
}

func (s *fixedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{Status: http.StatusText(s.status), StatusCode: s.status, Header: s.header,
		ContentLength: s.length, Body: io.NopCloser(bytes.NewReader(s.body)), Request: r}, nil
}

// FuzzAnswers asks a server that may answer anything for a file or a range of it: what it
// is believed to have sent is what was asked for, as far as it says what that is.
func FuzzAnswers(f *testing.F) {
	f.Add(206, "bytes 2-4/10", "\"a\"", "", int64(3), []byte("cde"), int64(10), int64(2), int64(3))
	f.Add(206, "bytes 2-4/*", "W/\"b\"", "", int64(-1), []byte("cdefgh"), int64(10), int64(2), int64(3))
	f.Add(206, "bytes 2-4/11", "", "", int64(3), []byte("cde"), int64(10), int64(2), int64(3))
	f.Add(200, "", "", "Mon, 02 Jan 2006 15:04:05 GMT", int64(5), []byte("abcde"), int64(5), int64(0), int64(-1))
	f.Add(200, "", "", "", int64(-1), []byte("abcdef"), int64(5), int64(0), int64(-1))
	f.Add(200, "", "", "", int64(-1), []byte("abc"), int64(5), int64(0), int64(-1))
	f.Add(206, "bytes 0-2/9", "", "", int64(3), []byte("abc"), int64(-1), int64(0), int64(-1))
	f.Add(200, "", "", "", int64(1)<<60, []byte("abc"), int64(-1), int64(0), int64(-1))
	f.Add(412, "", "", "", int64(0), []byte(""), int64(3), int64(0), int64(-1))
	f.Fuzz(func(t *testing.T, status int, span, etag, modified string, length int64, body []byte, size, from,
		n int64) {
		if n = max(n, -1); n > 1<<16 || n == 0 || from < 0 || from > 1<<40 || size > 1<<40 || length < -1 {
			return
		}
		if n < 0 {
			from = 0
		}
		s := &fixedTransport{status, http.Header{}, length, body}
		for name, value := range map[string]string{"Content-Range": span, "ETag": etag, "Last-Modified": modified} {
			if value != "" {
				s.header.Set(name, value)
			}
		}
		u := &url.URL{Scheme: "https", Host: "host", Path: "/set.zip"}
		w := &web{&http.Client{Transport: s}}
		b := w.blob(u)
		b.size, b.etag, b.state = max(size, -1), "a", contentState{etag: "a", modified: "Mon, 02 Jan 2006 15:04:05 GMT"}
		var content []byte
		var err error
		budgettest.CheckBounded(t, len(body)+int(max(n, 0)), func() {
			content,
				err = b.readOnce(context.Background(), from, n)
		})
		if err != nil {
			if len(err.Error()) > 1000+len(span) {
				t.Fatalf("%d bytes of message", len(err.Error()))
			}
			return
		}
		tag := strings.Trim(strings.TrimPrefix(s.header.Get("ETag"), "W/"), `"`)
		r, ok := parseContentRange(s.header.Get("Content-Range"))
		switch {
		case tag != "" && tag != "a":
			t.Fatalf("the content of another state, %q", tag)
		case tag == "" && modified != "" && s.header.Get("Last-Modified") != b.state.modified:
			t.Fatalf("the content of another time, %q", modified)
		case n < 0 && (status != 200 || b.size >= 0 && int64(len(content)) != b.size || !bytes.Equal(content, body)):
			t.Fatalf("%d with %q was taken for the whole of %d bytes: %q", status, body, b.size, content)
		case n >= 0 && (status != 206 || !ok || r.first != from || r.last != from+n-1):
			t.Fatalf("%d with the range %q was taken for %d bytes from %d", status, span, n, from)
		case n >= 0 && (int64(len(content)) != n || !bytes.HasPrefix(body, content)):
			t.Fatalf("%q of %q are %d bytes", content, body, n)
		}
	})
}
