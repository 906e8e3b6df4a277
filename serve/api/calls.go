package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/store"
)

// newJSONRequest returns a request with a JSON body.
func newJSONRequest(method, path string, v any) (request, error) {
	body, err := json.Marshal(v)
	return request{method: method, path: path, kind: "application/json", body: body}, err
}

// newPictureRequest returns a request with a picture and values. Empty values are left
// out.
func newPictureRequest(method, path string, picture []byte, values map[string]string) (request, error) {
	return newPicturesRequest(method, path, [][]byte{picture}, values)
}

func newPicturesRequest(method, path string, pictures [][]byte, values map[string]string) (request, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, picture := range pictures {
		part, err := w.CreateFormFile("image", "picture")
		if err != nil {
			return request{}, err
		}
		if _, err := part.Write(picture); err != nil {
			return request{}, err
		}
	}
	for name, value := range values {
		if value == "" {
			continue
		}
		if err := w.WriteField(name, value); err != nil {
			return request{}, err
		}
	}
	err := w.Close()
	return request{method: method, path: path, kind: w.FormDataContentType(), body: b.Bytes()}, err
}

// call sends a request, or returns err, the error of making it.
func call[T any](ctx context.Context, c *Client, r request, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := c.do(ctx, r, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Info returns the server's collections and limits.
func (c *Client) Info(ctx context.Context) (*Info, error) {
	return call[Info](ctx, c, request{method: http.MethodGet, path: "/v1/info"}, nil)
}

// Ready returns nil if the server accepts requests.
func (c *Client) Ready(ctx context.Context) error {
	_, err := call[State](ctx, c, request{method: http.MethodGet, path: "/readyz"}, nil)
	return err
}

// Search finds the items nearest to q.Vector, the item q.ID, the words q.Text or the sum q.Terms.
func (c *Client) Search(ctx context.Context, q Search) (*Found, error) {
	r, err := newJSONRequest(http.MethodPost, "/v1/search", q)
	return call[Found](ctx, c, r, err)
}

// SearchPicture finds the items nearest to a picture: the content of an image file.
func (c *Client) SearchPicture(ctx context.Context, picture []byte, q Search) (*Found, error) {
	return c.SearchPictures(ctx, [][]byte{picture}, q)
}

// SearchPictures finds the items nearest to the sum q.Terms, some of which are pictures by their number.
func (c *Client) SearchPictures(ctx context.Context, pictures [][]byte, q Search) (*Found, error) {
	r, err := newSearchForm("/v1/search", pictures, q)
	return call[Found](ctx, c, r, err)
}

// Identify decides who or what all photos of q show.
func (c *Client) Identify(ctx context.Context, q Identify) (*Identified, error) {
	r, err := newJSONRequest(http.MethodPost, "/v1/identify", q)
	return call[Identified](ctx, c, r, err)
}

// IdentifyPictures decides who or what all pictures show; they are the contents of image files.
func (c *Client) IdentifyPictures(ctx context.Context, pictures [][]byte, q Identify) (*Identified, error) {
	if q.Vectors != nil || q.IDs != nil || q.Picture != "" {
		return nil, errors.New("pictures are identified without vectors, ids and a kept picture")
	}
	values := map[string]string{}
	for name, v := range map[string]float64{"fpir": q.FPIR, "strangers": q.Strangers, "coverage": q.Coverage} {
		if v != 0 {
			values[name] = formatNumber(v)
		}
	}
	if q.ByClass != nil {
		values["by_class"] = strconv.FormatBool(*q.ByClass)
	}
	r, err := newPicturesRequest(http.MethodPost, "/v1/identify", pictures, values)
	return call[Identified](ctx, c, r, err)
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Explain searches like Search and explains the result.
func (c *Client) Explain(ctx context.Context, q Search) (*Explanation, error) {
	r, err := newJSONRequest(http.MethodPost, "/v1/explain", q)
	return call[Explanation](ctx, c, r, err)
}

// ExplainPicture searches like SearchPicture and explains the result.
func (c *Client) ExplainPicture(ctx context.Context, picture []byte, q Search) (*Explanation, error) {
	r, err := newSearchForm("/v1/explain", [][]byte{picture}, q)
	return call[Explanation](ctx, c, r, err)
}

// newSearchForm returns a search with pictures as a form. Zero values are left out.
func newSearchForm(path string, pictures [][]byte, q Search) (request, error) {
	if q.Vector != nil || q.ID+q.Text+q.Picture != "" {
		return request{}, errors.New("a search with pictures takes no vector, id, text or kept picture: make it a " +
			"term of a sum")
	}
	values := map[string]string{"filter": q.Filter, "columns": strings.Join(q.Columns, ","), "group_by": q.GroupBy,
		"rerank": q.Rerank}
	for name, v := range map[string]int{"k": q.K, "others": q.Others} {
		if v != 0 {
			values[name] = strconv.Itoa(v)
		}
	}
	for name, v := range map[string]float64{"least": q.MinProbability, "collapse": q.Collapse, "diverse": q.Diverse} {
		if v != 0 {
			values[name] = formatNumber(v)
		}
	}
	for name, v := range map[string]bool{"vectors": q.Vectors, "except_itself": q.ExcludeQuery, "explain": q.Explain} {
		if v {
			values[name] = "true"
		}
	}
	if q.Terms != nil {
		b, err := json.Marshal(q.Terms)
		if err != nil {
			return request{}, err
		}
		values["terms"] = string(b)
	}
	return newPicturesRequest(http.MethodPost, path, pictures, values)
}

// Add adds items. If an id exists already, the error is an *Error with the code conflict, and no
// item is added.
func (c *Client) Add(ctx context.Context, items []store.Item) error {
	r, err := newJSONRequest(http.MethodPost, "/v1/items", Items{Items: items})
	r.once = true
	_, err = call[Written](ctx, c, r, err)
	return err
}

// Put adds or replaces items.
func (c *Client) Put(ctx context.Context, items []store.Item) error {
	r, err := newJSONRequest(http.MethodPut, "/v1/items", Items{Items: items})
	_, err = call[Written](ctx, c, r, err)
	return err
}

// PutPicture adds or replaces an item by its picture, and returns its id. For an id of "", the
// server makes an id from the picture.
func (c *Client) PutPicture(ctx context.Context, id string, picture []byte, columns map[string]any) (string, error) {
	values := map[string]string{"id": id}
	if columns != nil {
		b, err := json.Marshal(columns)
		if err != nil {
			return "", err
		}
		values["columns"] = string(b)
	}
	r, err := newPictureRequest(http.MethodPut, "/v1/items", picture, values)
	w, err := call[Written](ctx, c, r, err)
	if err != nil {
		return "", err
	}
	if len(w.IDs) != 1 {
		return "", c.invalidAnswerError(r, fmt.Errorf("has %d items, but one was sent", len(w.IDs)))
	}
	return w.IDs[0], nil
}

// Change replaces the columns of an item, and its vector and path if they are set.
func (c *Client) Change(ctx context.Context, id string, change Change) error {
	r, err := newJSONRequest(http.MethodPut, itemPath(id), change)
	_, err = call[Written](ctx, c, r, err)
	return err
}

// Edit sets single columns of an item; nil removes one. Edited.Before undoes it by EditAll.
func (c *Client) Edit(ctx context.Context, id string, columns map[string]any) (*Edited, error) {
	r, err := newJSONRequest(http.MethodPatch, itemPath(id), Edit{Columns: columns})
	r.once = true // sent again, it would find nothing to undo
	return call[Edited](ctx, c, r, err)
}

// EditAll sets single columns of several items, of all or none.
func (c *Client) EditAll(ctx context.Context, edits Edits) (*Edited, error) {
	r, err := newJSONRequest(http.MethodPatch, "/v1/items", edits)
	r.once = true
	return call[Edited](ctx, c, r, err)
}

// DeleteAndReturn removes items like Delete and returns them. For an hour, Put brings them back with their
// uploaded pictures.
func (c *Client) DeleteAndReturn(ctx context.Context, ids ...string) ([]store.Item, error) {
	r, err := newJSONRequest(http.MethodDelete, "/v1/items", IDs{IDs: ids, Keep: true})
	r.once = true
	d, err := call[Deleted](ctx, c, r, err)
	if err != nil {
		return nil, err
	}
	return d.Items, nil
}

// Labels returns the values of a column with their numbers of items.
func (c *Client) Labels(ctx context.Context, opt LabelOptions) (*Labels, error) {
	q := url.Values{}
	for name, value := range map[string]string{"column": opt.Column, "filter": opt.Filter, "sort": opt.Sort} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, n := range map[string]int{"limit": opt.Limit, "from": opt.From} {
		if n != 0 {
			q.Set(name, strconv.Itoa(n))
		}
	}
	return call[Labels](ctx, c, request{method: http.MethodGet, path: "/v1/labels", query: q}, nil)
}

// KeepPicture lets the server keep a picture for searches, in memory and for a while. The answer is its name for
// Search.Picture and Identify.Picture.
func (c *Client) KeepPicture(ctx context.Context, picture []byte) (string, error) {
	r, err := newPictureRequest(http.MethodPost, "/v1/pictures", picture, nil)
	p, err := call[Picture](ctx, c, r, err)
	if err != nil {
		return "", err
	}
	return p.Picture, nil
}

// KeptPicture returns a picture that KeepPicture has sent.
func (c *Client) KeptPicture(ctx context.Context, name string) ([]byte, error) {
	return c.readBytes(ctx, request{method: http.MethodGet, path: "/v1/pictures/" + url.PathEscape(name)})
}

// Pending returns a page of the removals of a followed folder that wait for a decision; nil if none do. limit 0 is the
// server's default.
func (c *Client) Pending(ctx context.Context, from, limit int) (*Pending, error) {
	q := url.Values{}
	for name, n := range map[string]int{"limit": limit, "from": from} {
		if n != 0 {
			q.Set(name, strconv.Itoa(n))
		}
	}
	type answer struct {
		Pending *Pending `json:"pending,omitempty"` // null is no error
	}
	out, err := call[answer](ctx, c, request{method: http.MethodGet, path: "/v1/sync/pending", query: q}, nil)
	if err != nil {
		return nil, err
	}
	return out.Pending, nil
}

// Decide decides about the removals with an id of Pending: RemovePending or KeepPending.
func (c *Client) Decide(ctx context.Context, id, decision string) error {
	r, err := newJSONRequest(http.MethodPost, "/v1/sync/pending", PendingDecision{ID: id, Decision: decision})
	r.once = true
	_, err = call[State](ctx, c, r, err)
	return err
}

// Get returns an item with its vector.
func (c *Client) Get(ctx context.Context, id string) (*store.Item, error) {
	return call[store.Item](ctx, c, request{method: http.MethodGet, path: itemPath(id)}, nil)
}

// Delete removes items and returns how many of them existed.
func (c *Client) Delete(ctx context.Context, ids ...string) (int, error) {
	r, err := newJSONRequest(http.MethodDelete, "/v1/items", IDs{IDs: ids})
	d, err := call[Deleted](ctx, c, r, err)
	if err != nil {
		return 0, err
	}
	return d.Deleted, nil
}

// List returns a page of items in the order of their ids; Next continues it as
// p.After.
func (c *Client) List(ctx context.Context, p store.Page) (*Listed, error) {
	return c.list(ctx, p, url.Values{})
}

// Sample is List in a random order by a seed, with the number of items that pass the filter. It needs a
// collection with Browse.
func (c *Client) Sample(ctx context.Context, p store.Page, seed uint64) (*Listed, error) {
	return c.list(ctx, p, url.Values{"seed": {strconv.FormatUint(seed, 10)}})
}

// ListSimilar returns up to limit items whose ids are similar to a text, the most similar first; 0 is the
// server's default. It needs a collection with Browse.
func (c *Client) ListSimilar(ctx context.Context, text string, limit int) (*Listed, error) {
	return c.list(ctx, store.Page{Limit: limit}, url.Values{"like": {text}})
}

func (c *Client) list(ctx context.Context, p store.Page, q url.Values) (*Listed, error) {
	for name, value := range map[string]string{"after": p.After, "filter": p.Filter} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if p.Limit != 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Vectors {
		q.Set("vectors", "true")
	}
	r := request{method: http.MethodGet, path: "/v1/items", query: q}
	out, err := call[Listed](ctx, c, r, nil)
	if err == nil && out.Next != "" && (len(out.Items) == 0 || out.Next == p.After) {
		return nil, c.invalidAnswerError(r, fmt.Errorf("has %d items after %q and continues after %q, without end",
			len(out.Items),
			p.After, out.Next))
	}
	return out, err
}

// Picture returns the picture of an item, the content of an image file.
func (c *Client) Picture(ctx context.Context, id string) ([]byte, error) {
	return c.readBytes(ctx, request{method: http.MethodGet, path: itemPath(id) + "/picture"})
}

// Thumbnail returns a JPEG of an item's picture whose longer side has up to size
// pixels; 0 is the server's default.
func (c *Client) Thumbnail(ctx context.Context, id string, size int) ([]byte, error) {
	q := url.Values{}
	if size != 0 {
		q.Set("size", strconv.Itoa(size))
	}
	return c.readBytes(ctx, request{method: http.MethodGet, path: itemPath(id) + "/thumbnail", query: q})
}

func itemPath(id string) string { return "/v1/items/" + url.PathEscape(id) }
