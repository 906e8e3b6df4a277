package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ClientOptions adjust a Client. The zero value is a client without a key, for the first
// collection.
type ClientOptions struct {
	// Key is sent with every request.
	Key string
	// Collection is the collection of the requests; "": the server's first.
	Collection string
	// HTTP sends the requests; nil: a client without a time limit of its own, so that the context
	// limits the time to the last byte of the answer. Unless HTTP has a CheckRedirect, redirects are
	// errors, as they could send the key to another server.
	HTTP *http.Client
	// MaxAnswer is the most bytes of an answer; default 64 MiB. Maps of many million items
	// need more.
	MaxAnswer int64
	// Retries is how often a request is sent again; 0 means 4 times, below 0 never.
	Retries int
	// MaxWait is the longest wait before a retry; default 30 s. If the server asks for a longer
	// wait, its answer is the error.
	MaxWait time.Duration
}

// Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	base string
	opt  ClientOptions
}

// Error is the problem of a request that the server refused or failed to answer.
type Error struct {
	Problem
	// RetryAfter is the wait that the server asks for; 0 if it does not.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s (%d %s)", e.Detail, e.Status, e.Code)
	if e.Fix != "" {
		text += ": " + e.Fix
	}
	return text
}

// NewClient returns a client of the server at an address such as http://127.0.0.1:7700.
func NewClient(address string, opt ClientOptions) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("the address %q: must be http:// or https://, a host and a port", address)
	}
	client := http.Client{}
	if opt.HTTP != nil {
		client = *opt.HTTP
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	opt.HTTP = &client
	opt.MaxAnswer = cmp.Or(opt.MaxAnswer, 64<<20)
	opt.Retries = cmp.Or(opt.Retries, 4)
	opt.MaxWait = cmp.Or(opt.MaxWait, 30*time.Second)
	return &Client{base: strings.TrimSuffix(address, "/"), opt: opt}, nil
}

// request is one request, which may be sent several times.
type request struct {
	method, path string
	query        url.Values
	kind         string // media type of the body
	body         []byte
	// once means that the request must not arrive twice, because adding the same item again would be a
	// conflict.
	once       bool
	allowsNull bool // null means a missing value in the answer's lists
}

// maxProblemBytes bounds what is read of an answer that is an error.
const maxProblemBytes = 1 << 20

// errTooLong is the error for an answer that is too long. A retry would not help.
var errTooLong = errors.New("the answer is too long")

// do sends a request, with retries, and reads the answer into out.
func (c *Client) do(ctx context.Context, r request, out any) error {
	body, err := c.readBytes(ctx, r)
	if err != nil {
		return err
	}
	if err := decodeAnswer(body, out, r.allowsNull); err != nil {
		return c.invalidAnswerError(r, fmt.Errorf("cannot be read: %w", err))
	}
	return nil
}

// invalidAnswerError returns the error for an answer that kindred serve would not give.
func (c *Client) invalidAnswerError(r request, what error) error {
	return fmt.Errorf("%s %s: the answer of %s %w: check what listens there, and whether a proxy changes answers",
		r.method, r.path, c.base, what)
}

func (c *Client) readBytes(ctx context.Context, r request) ([]byte, error) {
	for try := 0; ; try++ {
		body, err := c.send(ctx, r)
		if err == nil {
			return body, nil
		}
		wait, again := c.retry(err, r.once, try)
		if !again || ctx.Err() != nil {
			return nil, err
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// retry reports whether a failed request is sent again, and returns the wait before.
func (c *Client) retry(err error, once bool, try int) (wait time.Duration, again bool) {
	if try >= c.opt.Retries {
		return 0, false
	}
	// The wait doubles each time, and is random so that not all clients retry at the same moment.
	wait = min(c.opt.MaxWait, 200*time.Millisecond<<min(try, 20))
	wait = wait/2 + rand.N(wait/2+1)
	var refused *Error
	if errors.Is(err, errTooLong) {
		return 0, false
	}
	if !errors.As(err, &refused) {
		return wait, !once // no server, or a broken connection: the request may have arrived
	}
	if refused.Status != http.StatusTooManyRequests && refused.Status != http.StatusServiceUnavailable {
		return 0, false
	}
	if refused.Code == "late" && once || refused.RetryAfter > c.opt.MaxWait {
		return 0, false // the request was processed partly, or the wait is too long
	}
	return max(wait, refused.RetryAfter), true
}

// send sends a request once.
func (c *Client) send(ctx context.Context, r request) ([]byte, error) {
	query := url.Values{}
	for name, values := range r.query {
		query[name] = values
	}
	if c.opt.Collection != "" {
		query.Set("collection", c.opt.Collection)
	}
	target := c.base + r.path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, nil)
	if err != nil {
		return nil, err
	}
	if r.body != nil {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(r.body)), int64(len(r.body))
		req.Header.Set("Content-Type", r.kind)
	}
	if c.opt.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.opt.Key)
	}
	res, err := c.opt.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		body, err := io.ReadAll(io.LimitReader(res.Body, maxProblemBytes))
		if err != nil && ctx.Err() != nil {
			return nil, c.incompleteAnswerError(r, err)
		}
		return nil, c.problemError(res, body)
	}
	if res.ContentLength <= c.opt.MaxAnswer {
		body, err := io.ReadAll(io.LimitReader(res.Body, c.opt.MaxAnswer+1))
		if err != nil {
			return nil, c.incompleteAnswerError(r, err)
		}
		if int64(len(body)) <= c.opt.MaxAnswer {
			return body, nil
		}
	}
	return nil, fmt.Errorf("%s %s: %w: more than %d bytes from %s; raise ClientOptions.MaxAnswer", r.method, r.path,
		errTooLong, c.opt.MaxAnswer, c.base)
}

// incompleteAnswerError returns the error for an incomplete answer.
func (c *Client) incompleteAnswerError(r request, err error) error {
	return fmt.Errorf("%s %s: incomplete answer of %s: %w", r.method, r.path, c.base, err)
}

// problemError returns the error for an answer with an error status. If kindred did not write the answer (but a
// proxy, for example), the error has its status and the beginning of its text.
func (c *Client) problemError(res *http.Response, body []byte) *Error {
	e := &Error{}
	if t, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); t != "application/problem+json" ||
		decodeAnswer(body, &e.Problem, false) != nil {
		e.Problem = Problem{Code: "unknown", Title: http.StatusText(res.StatusCode),
			Detail: fmt.Sprintf("the server answered %q", strings.ToValidUTF8(string(body[:min(len(body), 200)]), "?")),
			Fix:    fmt.Sprintf("check what listens at %s: it does not answer like kindred serve", c.base)}
		if res.StatusCode/100 == 3 {
			e.Fix = fmt.Sprintf("it leads to %.200q, where nothing was sent, the key least of all: if that is the "+
				"server, give the client that address", res.Header.Get("Location"))
		}
	}
	e.Status = res.StatusCode
	const most = math.MaxInt32 // most seconds, within a time.Duration
	if seconds, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 64); err == nil ||
		errors.Is(err, strconv.ErrRange) {
		e.RetryAfter = time.Duration(min(seconds, most)) * time.Second
	}
	return e
}
