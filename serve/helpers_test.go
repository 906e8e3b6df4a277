package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// colourEmbedder embeds a picture by its mean colour. Its dimension is 3.
type colourEmbedder struct {
	before func(n int) error // called with the number of pictures
}

func (c *colourEmbedder) Decode(ctx context.Context, p *imaging.Picture, maxPixels int) (*imaging.Image, error) {
	im := new(imaging.Image)
	return im, p.Decode(ctx, &imaging.Decoder{MaxPixels: maxPixels}, im)
}

func (c *colourEmbedder) Embed(_ context.Context, pictures []*imaging.Image) (*matrix.Dense, error) {
	if c.before != nil {
		if err := c.before(len(pictures)); err != nil {
			return nil, err
		}
	}
	x := matrix.New(len(pictures), 3)
	for i, im := range pictures {
		im.SetChannels(3)
		for p, v := range im.Pix {
			x.Row(i)[p%3] += float32(v) / float32(len(im.Pix)/3) / 255
		}
	}
	return x, nil
}

// plainPicture is a picture of one colour.
func plainPicture(w, h int, c color.Color) image.Image {
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		im.Set(i%w, i/w, c)
	}
	return im
}

func encodePNG(t testing.TB, im image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeJPEG(t testing.TB, im image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, im, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var red, green, blue = color.RGBA{255, 0, 0, 255}, color.RGBA{0, 255, 0, 255}, color.RGBA{0, 0, 255, 255}

// newFilledStore is a store of three clouds of n items each, with the classes red, green and
// blue and a price.
func newFilledStore(t testing.TB, n int) *storetest.Memory {
	t.Helper()
	m := &storetest.Memory{Dim: 3}
	var items []store.Item
	for i := range n {
		for c, name := range []string{"red", "green", "blue"} {
			v := []float32{0, 0, 0}
			v[c] = 1
			v[(c+1)%3] = float32(i) / 100
			items = append(items, store.Item{ID: fmt.Sprintf("%s/%03d", name, i), Vector: v,
				Columns: map[string]any{"label": name, "price": float64(i), "sold": i%2 == 0}})
		}
	}
	if err := m.Put(context.Background(), items, store.Insert); err != nil {
		t.Fatal(err)
	}
	return m
}

// newServer serves a filled collection unless the options have one.
func newServer(t testing.TB, opt Options) *Server {
	t.Helper()
	if opt.Collections == nil {
		opt.Collections = []Collection{{Name: "things", Store: newFilledStore(t, 20), Embedder: &colourEmbedder{}}}
	}
	if opt.Limits.Rate == 0 {
		opt.Limits.Rate = -1
	}
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// contract is the OpenAPI document with the answers that were seen.
type contract struct {
	doc *openapi3.T

	mu   sync.Mutex
	seen map[string]bool // "GET /v1/items 200"
}

func newContract(t testing.TB) *contract {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatalf("the document is not valid: %v", err)
	}
	return &contract{doc: doc, seen: map[string]bool{}}
}

// check compares a request and its answer with the document.
func (c *contract) check(t testing.TB, s *Server, r *http.Request, sent []byte, res *http.Response, body []byte) {
	t.Helper()
	_, pattern := s.mux.Handler(r)
	method, path, _ := strings.Cut(pattern, " ")
	item := c.doc.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		return // nothing of the document's
	}
	c.mu.Lock()
	c.seen[fmt.Sprintf("%s %d", pattern, res.StatusCode)] = true
	c.mu.Unlock()
	op := item.GetOperation(method)
	r = r.Clone(context.Background())
	r.Body = io.NopCloser(bytes.NewReader(sent))
	in := &openapi3filter.RequestValidationInput{Request: r, QueryParams: r.URL.Query(),
		Route:   &routers.Route{Spec: c.doc, Path: path, PathItem: item, Method: method, Operation: op},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if parts := strings.Split(r.URL.EscapedPath(), "/"); len(parts) > 3 {
		id, err := url.PathUnescape(parts[3])
		if err != nil {
			t.Fatal(err)
		}
		in.PathParams = map[string]string{"id": id, "digest": id}
	}
	in.Options.ExcludeRequestBody = !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
	if res.StatusCode < 300 {
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
			t.Errorf("%s %s was answered, and the document does not allow it: %v", r.Method, r.URL, err)
		}
	}
	opt := *in.Options
	opt.IncludeResponseStatus = true
	kind := res.Header.Get("Content-Type")
	opt.ExcludeResponseBody = !strings.Contains(kind, "json")
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode,
		Header: res.Header, Options: &opt}
	out.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		t.Errorf("%s %s: %d is not as the document has it: %v\n%s", r.Method, r.URL, res.StatusCode, err, body)
	}
	if opt.ExcludeResponseBody && res.StatusCode != http.StatusNotModified {
		answer := op.Responses.Value(fmt.Sprint(res.StatusCode))
		if answer == nil || answer.Value.Content.Get(kind) == nil {
			t.Errorf("%s %s: the document has no answer %d of the type %s", r.Method, r.URL, res.StatusCode, kind)
		}
	}
}

// caller sends requests to a server and holds the answers to the contract.
type caller struct {
	t        testing.TB
	s        *Server
	contract *contract
	key      string
	header   http.Header
}

// answer is a whole response.
type answer struct {
	*http.Response
	body []byte
}

func (a *answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
}

func (c *caller) do(method, target, contentType string, body []byte) *answer {
	c.t.Helper()
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	r.Host = "localhost:7700"
	for name, values := range c.header {
		if r.Header[name] = values; name == "Host" {
			r.Host = values[0]
		}
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, r)
	a := &answer{w.Result(), w.Body.Bytes()}
	if c.contract != nil {
		c.contract.check(c.t, c.s, r, body, a.Response, a.body)
	}
	return a
}

func (c *caller) json(method, target string, v any) *answer {
	c.t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.do(method, target, "application/json", body)
}

func (c *caller) get(target string) *answer { c.t.Helper(); return c.do("GET", target, "", nil) }

// form sends a picture with values: name, value, name, value...
func (c *caller) form(method, target string, picture []byte, values ...string) *answer {
	c.t.Helper()
	kind, body := encodeForm(c.t, picture, values...)
	return c.do(method, target, kind, body)
}

func encodeForm(t testing.TB, picture []byte, values ...string) (kind string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if picture != nil {
		part, err := w.CreateFormFile("image", "photo.png")
		if err != nil {
			t.Error(err) // goroutines of a test call this
			return "", nil
		}
		part.Write(picture)
	}
	for i := 0; i+1 < len(values); i += 2 {
		if err := w.WriteField(values[i], values[i+1]); err != nil {
			t.Error(err)
		}
	}
	w.Close()
	return w.FormDataContentType(), b.Bytes()
}

// want fails unless the status is the one given, and for a problem its code.
func (a *answer) want(t testing.TB, status int, code ...string) *answer {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("%d, want %d: %s", a.StatusCode, status, a.body)
	}
	if len(code) > 0 {
		var p api.Problem
		a.into(t, &p)
		if p.Code != code[0] || p.Status != status || p.Detail == "" || p.Fix == "" || p.RequestID == "" ||
			p.Type != "urn:kindred:problem:"+code[0] {
			t.Fatalf("problem %+v, want the code %s", p, code[0])
		}
	}
	return a
}
