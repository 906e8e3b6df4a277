package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/store"
)

// requestBody is the complete body of a request, and the memory that it may use.
type requestBody struct {
	body    []byte
	loan    *memoryLoan
	release []func() // called when the request has been answered
}

type bodyKey struct{}

func bodyOf(r *http.Request) *requestBody {
	v, _ := r.Context().Value(bodyKey{}).(*requestBody)
	return v
}

// A body must arrive at the rate slowest, in bytes per second, after a head start for the connection.
const (
	bodyHeadStart = 5 * time.Second
	minBodyRate   = 4 << 10
)

// bodyDeadline returns the time by which a body that has delivered n bytes since start must deliver more: it must
// keep the least rate and end within all.
func bodyDeadline(start time.Time, n int64, all time.Duration) time.Time {
	rate := bodyHeadStart + time.Duration(float64(n)/minBodyRate*float64(time.Second))
	return start.Add(min(rate, all))
}

// bodyStep is the size of the first buffer of a body. The buffer doubles as the body grows.
const bodyStep = 64 << 10

// readBody reads the body of a request that may have one, within Limits.Body and
// Limits.Time, and no slower than due allows. Memory is taken as bytes arrive, whatever
// length the header announces.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, l *memoryLoan) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	// net/http waits for the rest of an abandoned body, unless the connection is to
	// be closed.
	w.Header().Set("Connection", "close")
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, badType.newProblem("Send it without a Content-Encoding.", "the Content-Encoding %q is not "+
			"supported", escape.ClipTo(e, 32))
	}
	tooLong := tooLarge.newProblem("Send less at once, or start the server with a larger limit on bodies.",
		"the body is longer than %d bytes, which is the limit", s.limits.Body)
	if r.ContentLength > s.limits.Body {
		return nil, tooLong
	}
	rc := http.NewResponseController(w)
	start := time.Now()
	var body []byte
	for {
		if len(body) == cap(body) {
			room := min(max(2*cap(body), bodyStep), int(s.limits.Body)+1)
			if err := l.take(int64(room), "the body"); err != nil {
				return nil, err
			}
			old := cap(body)
			body = append(make([]byte, 0, room), body...)
			l.give(int64(old)) // the old buffer is not used any more
		}
		rc.SetReadDeadline(bodyDeadline(start, int64(len(body)), s.limits.Time))
		n, err := r.Body.Read(body[len(body):cap(body)]) // at most one byte more than allowed
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > s.limits.Body:
			return nil, tooLong
		case errors.Is(err, io.EOF):
			w.Header().Del("Connection")
			rc.SetReadDeadline(time.Time{})
			return body, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, slowBody.newProblem("Send it faster, or less at once.",
				"the body did not arrive within %s, or "+
					"slower than %d bytes per second", s.limits.Time, minBodyRate)
		case err != nil:
			p := badRequest.newProblem("Send the complete body.", "the body ended early")
			p.cause = err
			return nil, p
		}
	}
}

// mediaType returns the type of a request's body and its parameters.
func mediaType(r *http.Request) (string, map[string]string, error) {
	t, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return "", nil, badType.newProblem("Send application/json, or multipart/form-data with a picture.",
			"the header Content-Type is missing or cannot be read")
	}
	return t, params, nil
}

// readJSON reads a body that must be one JSON value with the fields of v alone.
func readJSON(r *http.Request, v any) error {
	t, _, err := mediaType(r)
	if err != nil {
		return err
	}
	if t != "application/json" {
		return badType.newProblem("Send application/json.", "bodies of the type %s are not supported "+
			"here", escape.ClipTo(t, 64))
	}
	rec := bodyOf(r)
	const way = "GET /openapi.json describes the body."
	if !utf8.Valid(rec.body) {
		return badRequest.newProblem(way, "the body is not UTF-8")
	}
	if err := rec.loan.take(jsonGrowth*int64(len(rec.body)), "the contents of the body"); err != nil {
		return err
	}
	return decodeJSON(rec.body, v, way)
}

// jsonGrowth is about how many times larger than its text a JSON value is in memory at most.
// Short names of columns are the worst case. Items can have a text of two bytes, so they are
// counted while they are read.
const jsonGrowth = 8

// itemList reads items, up to the number that a request may have.
type itemList struct {
	limit int
	items []store.Item
}

// JSON returns the type that itemList reads.
func (*itemList) JSON() any { return []store.Item(nil) }

// UnmarshalJSON reads a list.
func (s *itemList) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return &json.UnmarshalTypeError{Value: "value other than a list", Field: "items"}
	}
	for dec.More() {
		if len(s.items) == s.limit {
			return tooLarge.newProblem("Send the items in several requests.",
				"more than the %d items allowed at once", s.limit)
		}
		start := dec.InputOffset()
		var it store.Item
		if err := dec.Decode(&it); err != nil {
			return err
		}
		object := bytes.TrimLeft(text[start:dec.InputOffset()], ", \t\r\n")
		if err := keepItemTexts(it.Columns, object); err != nil {
			return err
		}
		s.items = append(s.items, it)
	}
	return nil
}

func decodeJSON(body []byte, v any, way string) error {
	err := strictjson.UnmarshalExact(body, v)
	var refused *problem
	var over *budget.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &over):
		return tooLarge.newProblem(way, "%v", over)
	case len(bytes.TrimSpace(body)) == 0:
		return badRequest.newProblem(way, "the body is empty")
	}
	return badRequest.newProblem(way, "%s", escape.ClipTo(err.Error(), 200))
}

// pictureForm is a body of the type multipart/form-data: pictures, and values by name.
type pictureForm struct {
	pictures    [][]byte
	maxPictures int // most pictures of the form
	values      map[string]string
}

const (
	maxParts = 32      // most parts of a form
	maxValue = 1 << 20 // most bytes of a value; a picture may fill the body
)

// readForm reads a form with up to most pictures in fields image and values in the given
// fields, which scan reads. The body is in memory, and its parts are slices of about the same size.
func readForm(r *http.Request, boundary string, most int, fields map[string]any) (*pictureForm, error) {
	const way = "Send the picture as the field image of multipart/form-data."
	f := &pictureForm{maxPictures: most, values: map[string]string{}}
	rec := bodyOf(r)
	parts := multipart.NewReader(bytes.NewReader(rec.body), boundary)
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badRequest.newProblem(way, "part %d of the form: %s", n+1, escape.ClipTo(err.Error(), 200))
		}
		if n == maxParts {
			return nil, badRequest.newProblem(way, "the form has more than %d parts", maxParts)
		}
		name := part.FormName()
		if err := f.readPart(part, name, rec, fields); err != nil {
			return nil, err
		}
	}
	if len(f.pictures) == 0 {
		return nil, badRequest.newProblem(way, "the form has no picture")
	}
	return f, f.parseValues(fields)
}

// readPart reads one part.
func (f *pictureForm) readPart(part *multipart.Part, name string, rec *requestBody, fields map[string]any) error {
	const way = "GET /openapi.json describes the form."
	limit := int64(maxValue)
	switch {
	case name == "image":
		limit = int64(len(rec.body))
		if len(f.pictures) == f.maxPictures {
			return badRequest.newProblem(way, "the form has more than %d pictures", f.maxPictures)
		}
		if err := rec.loan.take(limit, "the form"); err != nil {
			return err
		}
	case fields[name] == nil:
		return badRequest.newProblem(way, "the form has the unknown field %q", escape.ClipTo(name, 64))
	}
	content, err := io.ReadAll(io.LimitReader(part, limit+1))
	switch {
	case err != nil:
		return badRequest.newProblem(way, "the field %s of the form: %s", name, escape.ClipTo(err.Error(), 200))
	case int64(len(content)) > limit:
		return tooLarge.newProblem(way, "the field %s is longer than %d bytes", name, limit)
	case name == "image":
		f.pictures = append(f.pictures, content)
		if len(content) == 0 {
			return badPicture.newProblem(way, "the picture is an empty file")
		}
		return nil
	case !utf8.Valid(content):
		return badRequest.newProblem(way, "the field %s is not UTF-8", name)
	}
	if _, twice := f.values[name]; twice {
		return badRequest.newProblem(way, "the form has the field %s twice", name)
	}
	f.values[name] = string(content)
	return nil
}

// parseValues reads the values of the form that are there into what the map has for their names: a *string,
// *int, *float64,
// **bool, *bool, *[]string of texts with commas between them, or another type as JSON.
func (f *pictureForm) parseValues(into map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(f.values)) {
		text := f.values[name]
		var err error
		want := "a number"
		switch to := into[name].(type) {
		case *string:
			*to = text
		case *int:
			want = "a whole number"
			*to, err = strconv.Atoi(text)
		case *float64:
			*to, err = strconv.ParseFloat(text, 64)
		case *bool:
			want = "true or false"
			*to, err = strconv.ParseBool(text)
		case **bool:
			want = "true or false"
			var v bool
			v, err = strconv.ParseBool(text)
			*to = &v
		case *[]string:
			*to = []string{}
			for part := range strings.SplitSeq(text, ",") {
				if part = strings.TrimSpace(part); part != "" {
					*to = append(*to, part)
				}
			}
		default:
			if err := decodeJSON([]byte(text), to, "Send "+name+" as JSON; GET /openapi.json describes "+
				"it."); err != nil {
				return err
			}
		}
		if err != nil {
			return badRequest.newProblem("Send "+want+".", "%s is %q", name, escape.ClipTo(text, 32))
		}
	}
	return nil
}

// writeJSON sends v as JSON. Go's encoder escapes <, > and &, so that a browser that takes the answer for a
// page finds no tags.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", fmt.Sprint(len(body)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err = w.Write(body)
	return ignoreDisconnect(err)
}

// ignoreDisconnect drops the error of a client that leaves before it has its answer: the server
// did not fail.
func ignoreDisconnect(err error) error {
	if err == nil {
		return nil
	}
	return context.Canceled
}
