package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
)

// maxBytes bounds a file whose size nobody has said.
const maxBytes = 16 << 30

// Client downloads files. Zero fields are the stated defaults.
type Client struct {
	// Connect bounds the wait for a server's answer (default 6 s), Stall a pause
	// within a transfer (default 15 s).
	Connect, Stall time.Duration
	// Tries is the number of attempts that may pass without a new byte (default
	// 3). A server that cannot be reached at all is not asked again.
	Tries int
	// Pause is the wait before the second attempt; it doubles with each that
	// brings nothing (default 1 s).
	Pause time.Duration
	// Progress, if set, is told the bytes that are here and their number in the
	// end, 0 if the server does not say.
	Progress func(done, total int64)

	files atomic.Files // tests record what is done by it
	step  int64        // in place of durableStep; 0: that
}

// File is what to download and where to.
type File struct {
	URL  string
	Path string
	// Bytes is its size, if that is known: any other is an error before the
	// transfer.
	Bytes int64
	// MaxBytes bounds the size where that is not known exactly. A server that announces or
	// sends more is an error, which leaves nothing on the disk. 0 bounds nothing but
	// what comes from servers that do not announce a size, at 16 GiB.
	MaxBytes int64
	// IsUserURL says that the address is a user's and not one of the program's, whose servers
	// may send on to those that hold their files. It is the place that was named, and a
	// redirection to another host is an error.
	IsUserURL bool
	// Check, if set, examines the whole file before it gets its name.
	Check func(path string) error
}

// UnreachableError says that a server could not be asked.
type UnreachableError struct {
	Host string
	Err  error
}

func (u *UnreachableError) Error() string { return u.Host + " cannot be reached: " + u.Err.Error() }
func (u *UnreachableError) Unwrap() error { return u.Err }

// StatusError says that a server answered with something other than the file.
type StatusError struct {
	URL  string
	Code int
	Text string // "404 Not Found"
}

func (s *StatusError) Error() string { return fmt.Sprintf("%s: the server answers %s", s.URL, s.Text) }

// isTemporary tells the answers that may be others in a moment.
func (s *StatusError) isTemporary() bool {
	return s.Code >= 500 || s.Code == http.StatusTooManyRequests || s.Code == http.StatusRequestTimeout
}

// finalError is an error that another attempt would not change.
type finalError struct{ error }

func (f finalError) Unwrap() error { return f.error }

// Get downloads f. After an error, f.Path is as it was; what has arrived stays
// under its name with .part for the next call, unless it is what is wrong, or the server
// said nothing to know the file by.
func (c *Client) Get(ctx context.Context, f File) error {
	part, err := openPart(c.files, f.Path)
	if err != nil {
		return err
	}
	defer part.close()
	if err := c.fill(ctx, f, part); err != nil {
		return err
	}
	for resumed := part.resumed; f.Check != nil; resumed = false {
		err := f.Check(part.Name())
		if err == nil {
			break
		}
		if e := part.restart(""); e != nil {
			return errors.Join(err, e)
		}
		if !resumed {
			part.remove()
			return err
		}
		// The beginning, from an earlier call, may have been another file's.
		if err := c.fill(ctx, f, part); err != nil {
			return err
		}
	}
	return part.rename(f.Path)
}

// fill makes the part whole, in as many attempts as it takes.
func (c *Client) fill(ctx context.Context, f File, part *part) error {
	if f.Bytes > 0 && part.size == f.Bytes {
		return nil // a call that ended before it could check
	}
	pause := cmp.Or(c.Pause, time.Second)
	client := c.http(f.IsUserURL)
	defer client.CloseIdleConnections()
	for idle := 1; ; idle++ {
		before := part.size
		err := c.attempt(ctx, client, f, part)
		var done finalError
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err == nil || errors.As(err, &done) {
			return err
		}
		if part.size > before {
			idle, pause = 0, cmp.Or(c.Pause, time.Second)
		} else if idle >= cmp.Or(c.Tries, 3) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// attempt asks once, for what is missing.
func (c *Client) attempt(ctx context.Context, client *http.Client, f File, part *part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return finalError{err}
	}
	if part.size > 0 && part.tag != "" {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", part.size))
		req.Header.Set("If-Range", part.tag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return c.unreachable(req.URL, err, part)
	}
	defer resp.Body.Close()
	var total int64 // of the file; 0 if unknown
	switch resp.StatusCode {
	case http.StatusPartialContent:
		if total, err = contentRange(resp.Header.Get("Content-Range"), part.size); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", f.URL, err), part.restart(""))
		}
	case http.StatusOK:
		if err := part.restart(contentTag(resp.Header)); err != nil {
			return finalError{err}
		}
		total = max(0, resp.ContentLength)
	case http.StatusRequestedRangeNotSatisfiable:
		if resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", part.size) {
			return nil // all of it was here
		}
		return errors.Join(&StatusError{f.URL, resp.StatusCode, resp.Status}, part.restart(""))
	default:
		s := &StatusError{f.URL, resp.StatusCode, resp.Status}
		if s.isTemporary() {
			return s
		}
		return finalError{s}
	}
	if f.Bytes > 0 && total > 0 && total != f.Bytes {
		return finalError{fmt.Errorf("%s: the server's file has %d bytes, the official one %d", f.URL, total, f.Bytes)}
	}
	if f.MaxBytes > 0 && total > f.MaxBytes {
		return finalError{errors.Join(fmt.Errorf("%s: the server's file has %d bytes, and at most %d are expected",
			f.URL,
			total, f.MaxBytes), part.restart(""))}
	}
	return c.receive(ctx, cancel, resp.Body, f, part, total)
}

// receive appends the body to the part.
func (c *Client) receive(ctx context.Context, cancel context.CancelCauseFunc, body io.Reader, f File, part *part,
	total int64) error {
	wait := cmp.Or(c.Stall, 15*time.Second)
	stalled := fmt.Errorf("%s: no data for %v", f.URL, wait)
	timer := time.AfterFunc(wait, func() { cancel(stalled) })
	defer timer.Stop()
	most := cmp.Or(f.Bytes, total, f.MaxBytes, maxBytes)
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			timer.Reset(wait)
			if part.size+int64(n) > most {
				return finalError{errors.Join(fmt.Errorf("%s: more than the %s of the file arrive", f.URL,
					budget.Format(most)), part.restart(""))}
			}
			if e := part.write(buf[:n], cmp.Or(c.step, durableStep)); e != nil {
				return finalError{e}
			}
			if c.Progress != nil {
				c.Progress(part.size, total)
			}
		}
		switch {
		case err == io.EOF && total > 0 && part.size < total:
			return fmt.Errorf("%s: the server ended after %d of %d bytes", f.URL, part.size, total)
		case err == io.EOF && f.Bytes > 0 && part.size < f.Bytes:
			return fmt.Errorf("%s: the server ended after %d of %d bytes", f.URL, part.size, f.Bytes)
		case err == io.EOF:
			return nil
		case errors.Is(context.Cause(ctx), stalled):
			return stalled
		case err != nil:
			return fmt.Errorf("%s: after %d bytes: %w", f.URL, part.size, err)
		}
	}
}

// unreachable names the host of a request without an answer. Where nothing has
// come yet, and the host was not even found or let nobody in, that is the end.
func (c *Client) unreachable(u *url.URL, err error, part *part) error {
	var outer *url.Error
	if errors.As(err, &outer) { // which repeats the address
		err = outer.Err
	}
	if done := (finalError{}); errors.As(err, &done) { // it was reached
		return finalError{fmt.Errorf("%s: %w", u.Redacted(), err)}
	}
	e := &UnreachableError{u.Hostname(), err}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && !part.moved {
		return finalError{e}
	}
	return e
}

// http answers or fails within the client's limits.
func (c *Client) http(given bool) *http.Client {
	connect := cmp.Or(c.Connect, 6*time.Second)
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: connect}).DialContext,
			TLSHandshakeTimeout:   connect,
			ResponseHeaderTimeout: connect,
			DisableCompression:    true, // sizes and ranges are of the file itself
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) >= 10 {
				return finalError{errors.New("redirected ten times")}
			}
			return CheckRedirect(via[len(via)-1].URL, req.URL, given)
		},
	}
}

// CheckRedirect returns an error unless a server at from may send on to another address: never
// from a protected connection to an open one, to another host only over a protected one, and
// not at all if the first address was given, as File.IsUserURL says.
func CheckRedirect(from, to *url.URL, given bool) error {
	safe, same := to.Scheme == "https", from.Hostname() == to.Hostname()
	switch {
	case from.Scheme == "https" && !safe:
		return finalError{fmt.Errorf("redirected to %s, which is not https", to.Redacted())}
	case from.Host == to.Host, same && safe:
		return nil
	case given:
		return finalError{fmt.Errorf("redirected to %s, on another host: give that address if it is the one you mean",
			to.Redacted())}
	case !same && !safe:
		return finalError{fmt.Errorf("redirected to %s, on another host and not https", to.Redacted())}
	}
	return nil
}

// contentRange reads "bytes 100-999/1000", which must start at from, and returns
// the size of the whole, 0 for "*".
func contentRange(text string, from int64) (int64, error) {
	var first, last, total int64
	if n, _ := fmt.Sscanf(text, "bytes %d-%d/%d", &first, &last, &total); n < 2 || first != from || last < first {
		return 0, fmt.Errorf("range %q does not start at %d", text, from)
	}
	return total, nil
}

// contentTag returns what tells this state of the file from others: a strong ETag, else
// the time of its last change, else "".
func contentTag(h http.Header) string {
	if etag := h.Get("ETag"); etag != "" && etag[0] == '"' {
		return etag
	}
	return h.Get("Last-Modified")
}
