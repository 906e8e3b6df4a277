package remotedata

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// A server of S3 answers with pages of no more than pageKeys keys, however many are asked for,
// and a key has no more than maxKey bytes. pageBytes and pageTags fit such a page with all
// that may be said of an object.
const (
	pageKeys  = 1000
	maxKey    = 1024
	pageBytes = 8 << 20
	pageTags  = 33 * pageKeys
)

// sparePages is how many pages may have fewer than leastKeys keys on average: a server passes
// over what was deleted.
const (
	sparePages = 1000
	leastKeys  = 10
)

// listingGuard watches over what a server answers about a bucket, as far as its client does not:
// an answer without end, and pages without end.
type listingGuard struct {
	http.RoundTripper
	stop  context.CancelCauseFunc // of the listing
	token string                  // of the last page
	pages int
	keys  int // taken of all pages so far
}

// CloseIdleConnections closes those that no request is on.
func (l *listingGuard) CloseIdleConnections() {
	if t, ok := l.RoundTripper.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// RoundTrip has a request answered. Those for objects have no parameters, and are left alone.
func (l *listingGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	if len(q) == 0 {
		return l.RoundTripper.RoundTrip(req)
	}
	page, token := q.Get("list-type") != "" && l.stop != nil, q.Get("continuation-token")
	if page && l.pages > 0 && token == l.token {
		return nil, l.endListing(fmt.Errorf("the server names page %d of the list as its own next page", l.pages))
	}
	resp, err := l.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if page && resp.StatusCode == http.StatusOK {
		l.token = token
		if l.pages++; l.pages > sparePages+l.keys/leastKeys {
			resp.Body.Close()
			return nil, l.endListing(fmt.Errorf("the server has sent a list of %d pages with no more than %d keys",
				l.pages,
				l.keys))
		}
	}
	resp.Body = &answer{resp.Body, l, pageBytes, pageTags}
	return resp, nil
}

// endListing ends a listing for good: an error alone would have the client ask again.
func (l *listingGuard) endListing(err error) error {
	err = permanentError{err}
	if l.stop != nil {
		l.stop(err)
	}
	return err
}

// answer is the body of an answer in XML.
type answer struct {
	io.ReadCloser
	of          *listingGuard
	bytes, tags int // that are left
}

func (a *answer) Read(b []byte) (int, error) {
	n, err := a.ReadCloser.Read(b)
	a.bytes -= n
	// A tag of a few bytes becomes an object of hundreds.
	if a.tags -= bytes.Count(b[:n], []byte("<")); a.bytes < 0 || a.tags < 0 {
		return 0, a.of.endListing(fmt.Errorf("the server's answer is larger than a page of %d keys can be", pageKeys))
	}
	return n, err
}
