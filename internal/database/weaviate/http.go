package weaviate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/database/driver"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/store"
)

// cluster is a cluster of machines. Each of them can answer every request.
type cluster struct {
	address *driver.Address
	http    http.Client
	// current counts the machines that failed: its value modulo their number is the machine
	// that gets the requests.
	current atomic.Int64
}

// attemptTimeout is the time limit for an answer of one machine. A machine that was killed during
// a write can keep the others waiting.
const attemptTimeout = 30 * time.Second

// maxAnswer is the largest number of bytes of an answer.
const maxAnswer = 1 << 30

func newCluster(a *driver.Address) *cluster {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 16
	return &cluster{address: a, http: http.Client{Transport: t, Timeout: attemptTimeout}}
}

// statusError is the error for an answer with an error status.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("Weaviate answers %d: %s", e.status, e.message)
}

// call sends a request with a body of JSON, none for nil, to one machine after the other
// until one answers, and reads the answer into out.
func (c *cluster) call(ctx context.Context, method, path string, body, out any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	var failed error
	for range c.address.Hosts {
		at := c.current.Load()
		host := c.address.Hosts[int(at)%len(c.address.Hosts)]
		err := c.send(ctx, host, method, path, text, out)
		var status *statusError
		switch {
		case err == nil || ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case errors.As(err, &status) && status.status != http.StatusTooManyRequests && status.status < 500:
			return err
		}
		failed = fmt.Errorf("%s: %w", host, err)
		c.current.CompareAndSwap(at, at+1)
	}
	return &store.UnavailableError{Err: failed}
}

// send sends a request to one machine.
func (c *cluster) send(ctx context.Context, host, method, path string, body []byte, out any) error {
	scheme := "http"
	if c.address.TLS {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+"://"+host+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.address.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.address.Key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return &statusError{res.StatusCode, errorMessage(text)}
	}
	if out == nil || len(text) == 0 {
		return nil
	}
	if err := strictjson.Unmarshal(text, out); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// messages are errors in an answer of Weaviate.
type messages []struct {
	Message string `json:"message"`
}

func (m messages) String() string {
	texts := make([]string, len(m))
	for i, one := range m {
		texts[i] = one.Message
	}
	return strings.Join(texts, "; ")
}

// errorMessage returns the error message of an answer.
func errorMessage(text []byte) string {
	var list struct {
		Error messages `json:"error"`
	}
	if strictjson.UnmarshalLoose(text, &list) == nil && len(list.Error) > 0 {
		return escape.Message(list.Error.String())
	}
	return string(text[:min(len(text), 300)])
}

// isNotFound reports whether an answer has the status 404.
func isNotFound(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.status == http.StatusNotFound
}

// queryGraphQL sends a query in GraphQL. Its errors mean that a machine is missing, so that the
// query can be repeated.
func (c *cluster) queryGraphQL(ctx context.Context, query string, out any) error {
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors messages        `json:"errors"`
	}
	if err := c.call(ctx, http.MethodPost, "/v1/graphql", map[string]string{"query": query}, &answer); err != nil {
		return err
	}
	if len(answer.Errors) > 0 {
		at := c.current.Load()
		c.current.CompareAndSwap(at, at+1) // another may know more
		return &store.UnavailableError{Err: fmt.Errorf("an answer of Weaviate: %s",
			escape.Message(answer.Errors.String()))}
	}
	return strictjson.UnmarshalLoose(answer.Data, out)
}
