package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// lyingServer is a server that answers every request in bytes of its own.
type lyingServer struct {
	base string
	seen atomic.Int64
}

// startLyingServer starts one. tell says what it sends; the connection is then closed.
func startLyingServer(t *testing.T, tell func(conn net.Conn)) *lyingServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &lyingServer{base: "http://" + l.Addr().String()}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(time.Minute))
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				s.seen.Add(1)
				tell(conn)
			})
		}
	})
	return s
}

func sendText(text string) func(net.Conn) { return func(conn net.Conn) { io.WriteString(conn, text) } }

// sendBody is an answer with a body.
func sendBody(body string) func(net.Conn) {
	return sendText(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
}

// sendError is an answer that is an error.
func sendError(status, kind, body string) func(net.Conn) {
	return sendText(fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, kind,
		len(body),
		body))
}

// sendRepeatedly says something, and then something again and again until nobody listens.
func sendRepeatedly(text, again string, pause time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		_, err := io.WriteString(conn, text)
		for err == nil {
			time.Sleep(pause)
			_, err = io.WriteString(conn, again)
		}
	}
}

const (
	ok      = "HTTP/1.1 200 OK\r\n"
	chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	problem = "application/problem+json"
)

// lyingAnswers are what servers do that kindred serve does not.
func lyingAnswers() map[string]func(net.Conn) {
	const piece = 20 * time.Millisecond
	block := strings.Repeat(" ", 1<<16)
	return map[string]func(net.Conn){
		"closes":                        sendText(""),
		"trickles the status":           sendRepeatedly("HTTP/1.1 2", "x", piece),
		"trickles a header":             sendRepeatedly(ok+"X: ", "y", piece),
		"trickles headers":              sendRepeatedly(ok, "X: y\r\n", piece),
		"trickles a body with a length": sendRepeatedly(ok+"Content-Length: 100000\r\n\r\n", " ", piece),
		"trickles a body without one":   sendRepeatedly(ok+"\r\n", " ", piece),
		"trickles chunks":               sendRepeatedly(chunked, "1\r\n \r\n", piece),
		"trickles a problem": sendRepeatedly("HTTP/1.1 500 X\r\nContent-Type: "+problem+"\r\n\r\n", " ",
			piece),
		"says 100 without end":        sendRepeatedly("", "HTTP/1.1 100 Continue\r\n\r\n", 0),
		"has one header without end":  sendRepeatedly(ok+"X: ", block, 0),
		"has headers without end":     sendRepeatedly(ok, strings.Repeat("X: y\r\n", 1000), 0),
		"has a body without end":      sendRepeatedly(ok+"\r\n", block, 0),
		"has chunks without end":      sendRepeatedly(chunked, "10000\r\n"+block+"\r\n", 0),
		"announces a terabyte":        sendRepeatedly(ok+"Content-Length: 1000000000000\r\n\r\n", block, 0),
		"announces 10^50 bytes":       sendText(ok + "Content-Length: 1" + strings.Repeat("0", 50) + "\r\n\r\n{}"),
		"announces less than nothing": sendText(ok + "Content-Length: -5\r\n\r\n{}"),
		"breaks off":                  sendText(ok + "Content-Length: 100\r\n\r\n{}"),
		"breaks off in a chunk":       sendText(chunked + "100\r\n{}"),
		"has a chunk of no size":      sendText(chunked + "zz\r\n{}\r\n0\r\n\r\n"),
		"has a chunk of 2^80 bytes":   sendText(chunked + "1" + strings.Repeat("0", 20) + "\r\n{}"),
		"speaks no HTTP":              sendText("220 mail.example ESMTP\r\n"),
		"speaks TLS":                  sendText("\x15\x03\x01\x00\x02\x02\x46"),
		"speaks HTTP/9":               sendText("HTTP/9.9 200 OK\r\n\r\n{}"),
		"has a status of a text":      sendText("HTTP/1.1 fine OK\r\n\r\n{}"),
		"switches protocols":          sendText("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
		"redirects":                   sendText("HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:1/\r\n\r\n"),
		"redirects to no address": sendText("HTTP/1.1 307 X\r\nLocation: http://[::1\r\n" +
			"Content-Length: 0\r\n\r\n"),
		"redirects to nowhere":          sendText("HTTP/1.1 308 X\r\nContent-Length: 0\r\n\r\n"),
		"has a page for an error":       sendError("502 Bad Gateway", "text/html", "<html>\xff"),
		"has a problem of no fields":    sendError("404 X", problem, "{}"),
		"has a problem of other fields": sendError("400 X", problem, `{"code":["x"],"detail":7}`),
		"has a problem that is deep":    sendError("400 X", problem, strings.Repeat("[", 200_000)),
		"has a problem without end": sendRepeatedly("HTTP/1.1 500 X\r\nContent-Type: "+problem+"\r\n\r\n",
			block, 0),
		"breaks off a problem":        sendText("HTTP/1.1 500 X\r\nContent-Length: 100\r\n\r\n{"),
		"is empty":                    sendBody(""),
		"has no content":              sendText("HTTP/1.1 204 No Content\r\n\r\n"),
		"is a page":                   sendBody("<html>"),
		"is not UTF-8":                sendBody("{\"ids\":[\"\xff\"],\"status\":\"\xff\"}"),
		"is deep":                     sendBody(strings.Repeat("[", 200_000)),
		"is a deep object":            sendBody(strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)),
		"is no number":                sendBody(`{"items":NaN}`),
		"is null":                     sendBody("null"),
		"is true":                     sendBody("true"),
		"is a number":                 sendBody("1e999"),
		"is a list":                   sendBody(`[{"ids":[]}]`),
		"is an object without fields": sendBody("{}"),
		"has texts for everything": sendBody(`{"ids":"x","items":"x","deleted":"x","collections":"x","neighbours":"x",` +
			`"id":7,"status":7,"version":"x","name":7,"collection":7}`),
		"has nulls for everything": sendBody(`{"ids":null,"items":null,"deleted":null,"collections":null,` +
			`"neighbours":null,"id":null,"status":null,"version":null,"name":null,"collection":null,"next":null}`),
	}
}

// clientCalls are all methods of a client but those that take any bytes.
func clientCalls() map[string]func(context.Context, *api.Client) error {
	items := []store.Item{{ID: "a", Vector: []float32{1}}}
	return map[string]func(context.Context, *api.Client) error{
		"Ready": func(ctx context.Context, c *api.Client) error { return c.Ready(ctx) },
		"Info":  func(ctx context.Context, c *api.Client) error { _, err := c.Info(ctx); return err },
		"Search": func(ctx context.Context, c *api.Client) error {
			_, err := c.Search(ctx, api.Search{ID: "a"})
			return err
		},
		"ExplainPicture": func(ctx context.Context, c *api.Client) error {
			_, err := c.ExplainPicture(ctx, []byte("x"), api.Search{})
			return err
		},
		"Identify": func(ctx context.Context, c *api.Client) error {
			_, err := c.Identify(ctx, api.Identify{IDs: []string{"a"}})
			return err
		},
		"Add": func(ctx context.Context, c *api.Client) error { return c.Add(ctx, items) },
		"Put": func(ctx context.Context, c *api.Client) error { return c.Put(ctx, items) },
		"PutPicture": func(ctx context.Context, c *api.Client) error {
			_, err := c.PutPicture(ctx, "", []byte("x"), nil)
			return err
		},
		"Change": func(ctx context.Context, c *api.Client) error { return c.Change(ctx, "a", api.Change{}) },
		"Get":    func(ctx context.Context, c *api.Client) error { _, err := c.Get(ctx, "a"); return err },
		"Delete": func(ctx context.Context, c *api.Client) error { _, err := c.Delete(ctx, "a"); return err },
		"List":   func(ctx context.Context, c *api.Client) error { _, err := c.List(ctx, store.Page{}); return err },
		"Map":    func(ctx context.Context, c *api.Client) error { _, err := c.Map(ctx); return err },
		"MapIDs": func(ctx context.Context, c *api.Client) error { _, err := c.MapIDs(ctx, 1, 0, 5); return err },
		"MapColumn": func(ctx context.Context, c *api.Client) error {
			_, err := c.MapColumn(ctx, 1, "x")
			return err
		},
	}
}

// TestLies: whatever a server does, a call is an error that says where, before the context's end
// and a moment, and takes memory in proportion to the answer that it allows.
func TestLies(t *testing.T) {
	const limit, most = 300 * time.Millisecond, 1 << 20
	for name, tell := range lyingAnswers() {
		t.Run(name, func(t *testing.T) {
			s := startLyingServer(t, tell)
			c, err := api.NewClient(s.base, api.ClientOptions{Key: "secret", Retries: -1, MaxAnswer: most,
				HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			errs, begun := map[string]error{}, time.Now()
			var all sync.WaitGroup
			var lock sync.Mutex
			n := budgettest.Allocated(func() {
				for method, call := range clientCalls() {
					all.Go(func() {
						err := call(ctx, c)
						lock.Lock()
						defer lock.Unlock()
						errs[method] = err
					})
				}
				all.Wait()
			})
			if d := time.Since(begun); d > limit+10*time.Second {
				t.Errorf("took %v", d)
			}
			if n > int64(len(errs))*(64<<20) { // headers without end count too: net/http takes 10 MiB of them
				t.Errorf("took %d bytes", n)
			}
			for method, err := range errs {
				var refused *api.Error
				switch {
				case err == nil:
					t.Errorf("%s is fine", method)
				case strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "secret"):
					t.Errorf("%s: %v", method, err)
				case errors.As(err, &refused) && (refused.Status == 0 || refused.Code == "" || refused.Detail == "" ||
					refused.Fix == ""):
					t.Errorf("%s: %+v", method, refused)
				case refused == nil && !strings.Contains(err.Error(), s.base):
					t.Errorf("%s: %v", method, err)
				}
			}
		})
	}
}

// TestLongAnswers: one that is too long is not asked for again.
func TestLongAnswers(t *testing.T) {
	for _, tell := range []func(net.Conn){sendRepeatedly(ok+"\r\n", strings.Repeat(" ", 1000), 0),
		sendText(ok + "Content-Length: 1001\r\n\r\n")} {
		s := startLyingServer(t, tell)
		c, err := api.NewClient(s.base, api.ClientOptions{MaxAnswer: 1000})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Info(t.Context())
		if err == nil || !strings.Contains(err.Error(), "more than 1000 bytes from "+s.base) ||
			!strings.Contains(err.Error(), "MaxAnswer") || s.seen.Load() != 1 {
			t.Errorf("asked %d times: %v", s.seen.Load(), err)
		}
	}
}

// TestRedirects: none is followed, to whatever host, unless the caller's own client says so.
func TestRedirects(t *testing.T) {
	other := startLyingServer(t, sendBody(`{"version":"1","collections":[],"limits":{"body_bytes":1,"pixels":1,"items":1,"k":1}}`))
	s := startLyingServer(t,
		sendText("HTTP/1.1 307 X\r\nLocation: "+other.base+"/v1/info\r\nContent-Length: 0\r\n\r\n"))
	for _, own := range []*http.Client{nil, {}} {
		c, err := api.NewClient(s.base, api.ClientOptions{Key: "secret", HTTP: own})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Info(t.Context())
		var refused *api.Error
		if !errors.As(err, &refused) || refused.Status != 307 || !strings.Contains(refused.Fix, other.base) ||
			other.seen.Load() != 0 {
			t.Errorf("%v, asked there %d times", err, other.seen.Load())
		}
	}
	follows := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	c, err := api.NewClient(s.base, api.ClientOptions{HTTP: follows})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := c.Info(t.Context()); err != nil || info.Version != "1" {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestListsEnd: a page that goes on where it began, or has no items, is an error, and so are
// more ids than were asked for.
func TestListsEnd(t *testing.T) {
	for answer, fine := range map[string]bool{
		`{"items":[{"id":"b"}],"next":"b"}`: true, `{"items":[{"id":"b"}],"next":"a"}`: false,
		`{"items":[],"next":"b"}`: false, `{"items":[],"next":""}`: true,
	} {
		c, err := api.NewClient(startLyingServer(t, sendBody(answer)).base, api.ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.List(t.Context(), store.Page{After: "a"}); (err == nil) != fine || err != nil &&
			!strings.Contains(err.Error(), `items after "a" and continues after`) {
			t.Errorf("%s: %v", answer, err)
		}
	}
	c, err := api.NewClient(startLyingServer(t, sendBody(`{"ids":["a","b","c"]}`)).base, api.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.MapIDs(t.Context(), 1, 0, 2)
	if err == nil || !strings.Contains(err.Error(), "3 ids, but 2 were requested") {
		t.Error(err)
	}
	if _, err := c.MapIDs(t.Context(), 1, 0, 3); err != nil {
		t.Error(err)
	}
}

// TestMissingFields: every field that a right answer has, unless it may be left out, is missed by
// its name.
func TestMissingFields(t *testing.T) {
	right := `{"schema":1,"gallery":"c","items":1,"distance":"dot","label":"l","class":"k","neighbours":[{"id":"a",` +
		`"label":"k","distance":0.5}],` +
		`"shares":[{"class":"k","count":1,"share":1,"nearest":0.5,"farthest":0.5}],"distances":{"nearest":0.5,` +
		`"median":0.5,"farthest":0.5,"contrast":0.5},"notes":[],"neighbourhood":{"rows":1,"state":"s","score":0.5,` +
		`"text":"t","reasons":[],"spread":0.5,"compactness":0.5,"recall":0.5,"classes":[{"class":"k","rows":1,` +
		`"intra":0.5,"other":0.5,"nearest":"m","modes":1}]}}`
	ask := func(answer []byte) error {
		c, err := api.NewClient(startLyingServer(t, sendBody(string(answer))).base, api.ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Explain(t.Context(), api.Search{ID: "a"})
		return err
	}
	if err := ask([]byte(right)); err != nil {
		t.Fatal(err)
	}
	tries := 0
	for _, value := range []string{"", "null", "[[7]]"} { // "": none
		for at := range strings.Count(right, `":`) {
			var document any
			if err := json.Unmarshal([]byte(right), &document); err != nil {
				t.Fatal(err)
			}
			k := at
			where := changeField(document, "", &k, value)
			if where == "neighbourhood" && value != "[[7]]" {
				continue // which may be missing
			}
			text, err := json.Marshal(document)
			if err != nil || where == "" || bytes.Equal(text, []byte(right)) {
				t.Fatal(at, where, err)
			}
			tries++
			plain := strings.ReplaceAll(where, "[0]", "") // encoding/json names no places in lists
			said := fmt.Sprint(ask(text))
			if !strings.Contains(said, where) && !strings.Contains(said, plain) {
				t.Errorf("%s = %q: %s", where, value, said)
			}
		}
	}
	if tries < 80 {
		t.Errorf("%d tries", tries)
	}
}

// changeField gives the k-th field of a document another value, and returns where it is.
func changeField(v any, where string, k *int, value string) string {
	switch v := v.(type) {
	case []any:
		for i := range v {
			if at := changeField(v[i], fmt.Sprintf("%s[%d]", where, i), k, value); at != "" {
				return at
			}
		}
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			at := strings.TrimPrefix(where+"."+name, ".")
			if *k--; *k < 0 {
				if v[name] = json.RawMessage(value); value == "" {
					delete(v, name)
				}
				return at
			}
			if at := changeField(v[name], at, k, value); at != "" {
				return at
			}
		}
	}
	return ""
}
