package remotedata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/app/remote/download"
)

// web asks servers of files.
type web struct{ client *http.Client }

func newWeb() *web {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout, t.DisableCompression = 16, 15*time.Second, true
	return &web{&http.Client{Transport: t, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) >= 10 {
			return permanentError{errors.New("redirected ten times")}
		}
		// Hosts of data sets have them on others, as repositories of models and releases do.
		if err := download.CheckRedirect(via[len(via)-1].URL, req.URL, false); err != nil {
			return permanentError{err}
		}
		return nil
	}}}
}

// blob is a file whose size and content are not known yet.
func (w *web) blob(u *url.URL) *blob {
	b := &blob{name: u.Redacted(), size: -1}
	b.get = func(ctx context.Context, b *blob, from, n int64) (io.ReadCloser, string, error) {
		return w.get(ctx, u, b, from, n)
	}
	return b
}

// head asks what is to be known of a file.
func (w *web) head(ctx context.Context, u *url.URL) (*blob, error) {
	b := w.blob(u)
	for k, wait := 1, firstPause; ; k, wait = k+1, 2*wait {
		resp, err := w.ask(ctx, http.MethodHead, u, nil)
		var last permanentError
		switch {
		case err == nil:
			resp.Body.Close()
			b.size, b.ranges = resp.ContentLength, resp.Header.Get("Accept-Ranges") == "bytes"
			b.state = stateFromHeader(resp.Header)
			if tag := resp.Header.Get("ETag"); strings.HasPrefix(tag, `"`) { // a strong one
				b.etag = strings.Trim(tag, `"`)
			}
			return b, nil
		case errors.As(err, &last) || k == maxTries || ctx.Err() != nil:
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (w *web) get(ctx context.Context, u *url.URL, b *blob, from, n int64) (io.ReadCloser, string, error) {
	header := http.Header{}
	if n >= 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+n-1))
	}
	if b.etag != "" {
		header.Set("If-Match", `"`+b.etag+`"`)
	}
	resp, err := w.ask(ctx, http.MethodGet, u, header)
	if err != nil {
		return nil, "", err
	}
	if n >= 0 && resp.StatusCode != http.StatusPartialContent {
		resp.Body.Close()
		return nil, "", permanentError{errors.New("the server does not support ranges of a file: download it")}
	}
	if n < 0 && resp.StatusCode == http.StatusPartialContent {
		resp.Body.Close()
		return nil, "",
			permanentError{fileError{errors.New("the server answers with a part of the file instead of the whole " +
				"file")}}
	}
	if n < 0 && resp.ContentLength >= 0 && b.size >= 0 && resp.ContentLength != b.size {
		resp.Body.Close()
		return nil, "", permanentError{errChanged}
	}
	if err := b.check(resp.Header, from, n); err != nil {
		resp.Body.Close()
		return nil, "", err
	}
	return resp.Body, "", nil
}

// ask sends a request; answers other than the file are errors.
func (w *web) ask(ctx context.Context, method string, u *url.URL, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, permanentError{err}
	}
	if header != nil {
		req.Header = header
	}
	resp, err := w.client.Do(req)
	if err != nil {
		if outer := (*url.Error)(nil); errors.As(err, &outer) { // which repeats the address
			err = outer.Err
		}
		return nil, err
	}
	switch c := resp.StatusCode; {
	case c == http.StatusOK || c == http.StatusPartialContent:
		return resp, nil
	case c == http.StatusPreconditionFailed:
		err = permanentError{errChanged}
	case c >= 500 || c == http.StatusTooManyRequests || c == http.StatusRequestTimeout:
		err = fmt.Errorf("the server answers %s", resp.Status)
	default:
		err = permanentError{fileError{fmt.Errorf("the server answers %s", resp.Status)}}
	}
	resp.Body.Close()
	return nil, err
}
