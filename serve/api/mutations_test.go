package api_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/mutations"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// fixedAnswer is a transport that has one answer to everything.
type fixedAnswer struct {
	status int
	kind   string
	body   []byte
}

func (a *fixedAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {a.kind}}, ContentLength: -1,
		Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}

// TestMutations changes answers of a server.
func TestMutations(t *testing.T) {
	const hit = `{"id":"a","label":"l","distance":0.5,"path":"p","columns":{"price":2},"vector":[0.5,1.5],"same":0.5}`
	var readers []mutations.Reader
	for _, c := range []struct {
		name, text string
		ask        func(context.Context, *api.Client) error
	}{
		{"info", `{"version":"v","limits":{"body_bytes":1,"pixels":2,"items":3,"k":4},"collections":[{"name":"c","items":1,` +
			`"dim":2,"distance":"cosine","columns":[{"name":"n","kind":"text"}],"label":"","network":"","uploads":true,` +
			`"side":224,"read_only":false,"version":3,"browse":true}]}`, clientCalls()["Info"]},
		{"found", `{"schema":1,"gallery":"c","items":2,"distance":"dot","neighbours":[` + hit + "," + hit +
			`],"itself":["b"]}`,
			clientCalls()["Search"]},
		{"list", `{"items":[{"id":"a","columns":{"b":true}},{"id":"c"}],"next":"c","passed":7}`,
			func(ctx context.Context, c *api.Client) error { _, err := c.List(ctx, store.Page{}); return err }},
		{"map", `{"collection":"c","state":"ready","version":1,"items":2,"stale":false,"method":"tsne","placed":2,` +
			`"x":[0.5,1.5],"y":[0.5,1.5]}`, clientCalls()["Map"]},
		{"column of a map", `{"name":"n","kind":"number","numbers":[1,null,2]}`, clientCalls()["MapColumn"]},
		{"written", `{"ids":["a"]}`, clientCalls()["PutPicture"]},
		{"edited", `{"ids":["a"],"before":[{"id":"a","columns":{"b":null,"c":2}}]}`,
			func(ctx context.Context, c *api.Client) error { _, err := c.Edit(ctx, "a", nil); return err }},
		{"labels", `{"labels":[{"label":"x","items":3,"ids":["a","b"]}],"total":1,"missing":2}`,
			func(ctx context.Context, c *api.Client) error {
				_, err := c.Labels(ctx, api.LabelOptions{})
				return err
			}},
		{"pending", `{"pending":{"id":"x","removed":1,"items":2,"since":"2026-05-01T12:00:00Z","list":[{"id":"a",` +
			`"label":"","path":""}],"next":0}}`,
			func(ctx context.Context, c *api.Client) error { _, err := c.Pending(ctx, 0, 0); return err }},
	} {
		a := &fixedAnswer{status: http.StatusOK, kind: "application/json"}
		client, err := api.NewClient("http://host", api.ClientOptions{Retries: -1, HTTP: &http.Client{Transport: a}})
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, mutations.Reader{Name: "answer: " + c.name, Valid: []string{c.text},
			Read: func(text []byte) error {
				a.body = text
				return c.ask(t.Context(), client)
			}})
	}
	mutations.Try(t, readers...)
}
