// Package api has a client of `kindred serve`, and its messages as Go structs.
// serve/openapi.json describes the same messages for other languages, field by field.
//
//	c, err := api.NewClient("http://127.0.0.1:7700", api.ClientOptions{Key: os.Getenv("KINDRED_KEY")})
//	found, err := c.SearchPicture(ctx, photo, api.Search{K: 10})
//	for _, n := range found.Neighbours { fmt.Println(n.ID, n.Distance) }
//
// If the server refuses a request, the error is an *Error with the problem's stable Code, what is
// wrong and the way out. If the server is too busy (429, 503), the request is sent again
// after the wait that the server asks for. A request that did not reach a server is also sent again, if
// sending it twice does no harm.
package api

import (
	"github.com/kindred-ml/kindred/store"
)

// Problem is the body of every answer with a status of 400 or more, in the form of
// RFC 9457 (application/problem+json).
type Problem struct {
	Type   string `json:"type"` // urn:kindred:problem:CODE
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Code names the kind of problem and stays the same between versions.
	Code string `json:"code"`
	// Detail says what is wrong with this request, and Fix what to do.
	Detail string `json:"detail"`
	Fix    string `json:"fix"`
	// RequestID is the request's id in the server's log.
	RequestID string `json:"request_id"`
}

// Collection describes one of the collections that a server has.
type Collection struct {
	Name     string         `json:"name"`
	Items    int            `json:"items"`
	Dim      int            `json:"dim"`
	Distance string         `json:"distance"`
	Columns  []store.Column `json:"columns"`
	// Label is the column with the items' classes; "" without such a column.
	Label   string `json:"label"`
	Network string `json:"network"`
	// Uploads reports whether pictures can be used to search and can be added. Without it the server has
	// no network for them, and accepts only vectors.
	Uploads bool `json:"uploads"`
	// Words reports whether words can be used to search.
	Words bool `json:"words,omitempty"`
	// Side is the length in pixels of the longer side of a picture that the network gets; 0 if it is unknown. A
	// picture several times as large may be reduced before it is sent.
	Side     int    `json:"side,omitempty"`
	ReadOnly bool   `json:"read_only"`
	Version  uint64 `json:"version"`
	// Browse reports whether items can be listed in a random order by a seed, and by similar ids.
	// Databases support neither.
	Browse bool `json:"browse"`
	// Calibration describes the meaning of distances; nil without a calibration.
	Calibration *Calibration `json:"calibration,omitempty"`
	// Following describes the folder that the collection follows; nil if it follows none.
	Following *Following `json:"following,omitempty"`
}

// Following describes how a collection follows a folder. A caller who may only read gets State alone: Comparing or
// Current.
type Following struct {
	Folder string `json:"folder,omitempty"`
	// State is Comparing, Embedding, Current or Failed.
	State string `json:"state"`
	// Embedded counts the photos embedded so far, of ToEmbed, while State is Embedding; else both are 0.
	Embedded int `json:"embedded"`
	ToEmbed  int `json:"to_embed"`
	// Current is the time of the last comparison after which the collection was as the folder, as
	// 2026-05-01T12:30:05Z; "" before it.
	Current string `json:"current,omitempty"`
	// Error is the reason why the last comparison failed; "" if it did not.
	Error string `json:"error,omitempty"`
	// Pending are the removals that wait for a decision; nil if none do.
	Pending *PendingCount `json:"pending,omitempty"`
	// Kept counts the items that stay by a decision, although their photos are missing.
	Kept int `json:"kept,omitempty"`
	// LeftOut lists the files of the folder that are not in the collection.
	LeftOut []LeftOut `json:"left_out,omitempty"`
}

// PendingCount describes removals of a followed folder that wait for a decision: Removed of Items.
type PendingCount struct {
	ID      string `json:"id"` // a digest of the ids to remove
	Removed int    `json:"removed"`
	Items   int    `json:"items"`
}

// LeftOut counts files that are not in a collection, with the reason and the names of the first ones.
type LeftOut struct {
	Reason string   `json:"reason"`
	Count  int      `json:"count"`
	First  []string `json:"first"`
}

// PendingAnswer is the answer of GET /v1/sync/pending. Pending is nil if no removals wait for a decision.
type PendingAnswer struct {
	Pending *Pending `json:"pending"`
}

// Pending are removals that wait for a decision, with a page of their items. Next continues the list as the parameter
// from; it is 0 at the end.
type Pending struct {
	PendingCount
	Since string        `json:"since"` // 2026-05-01T12:30:05Z
	List  []PendingItem `json:"list"`
	Next  int           `json:"next"`
}

// PendingItem is an item whose photo is missing.
type PendingItem struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Path  string `json:"path"`
}

// The decisions about removals.
const (
	RemovePending = "remove"
	KeepPending   = "keep"
)

// PendingDecision is the body of POST /v1/sync/pending.
type PendingDecision struct {
	ID       string `json:"id"`
	Decision string `json:"decision"` // RemovePending or KeepPending
}

// States of a collection that follows a folder.
const (
	Comparing = "comparing" // before the end of the first comparison
	Embedding = "embedding" // new photos are embedded
	Current   = "current"   // as the folder was at the last comparison
	Failed    = "failed"    // the last comparison failed
)

// Limits has the limits of a server, for clients that want to stay within them.
type Limits struct {
	Body   int64 `json:"body_bytes"`
	Pixels int   `json:"pixels"`
	Items  int   `json:"items"`
	K      int   `json:"k"`
}

// Info is the answer of GET /v1/info. The first collection is the default of requests.
type Info struct {
	Version     string       `json:"version"`
	Collections []Collection `json:"collections"`
	Limits      Limits       `json:"limits"`
	// Permission is what the caller may do: read or write, which includes reading.
	Permission string `json:"may,omitempty"`
	// Review is the title of the review page; "" without one.
	Review string `json:"review,omitempty"`
}

// Search is the body of POST /v1/search and POST /v1/explain, with exactly one of Vector, ID, Text, Picture and Terms.
// With pictures in a form, the other fields are values of the form, Terms as JSON. Without Terms there is one picture.
type Search struct {
	Vector []float32 `json:"vector,omitempty"`
	ID     string    `json:"id,omitempty"`
	Text   string    `json:"text,omitempty"` // words; of a collection with Words
	// Picture is a picture that POST /v1/pictures has kept.
	Picture string `json:"picture,omitempty"`
	// Terms are added up, or subtracted, to one query.
	Terms  []Term `json:"terms,omitempty"`
	K      int    `json:"k,omitempty"` // default 10
	Filter string `json:"filter,omitempty"`
	// Columns limits the columns of the answer; nil means all columns.
	Columns []string `json:"columns,omitempty"`
	// Vectors requests the vectors of the query and of the neighbours.
	Vectors bool `json:"vectors,omitempty"`
	// MinProbability leaves out neighbours that are the same thing with a smaller probability. It needs a
	// collection with a calibration.
	MinProbability float64 `json:"least,omitempty"`
	// ExcludeQuery leaves out items that are the query itself: the same file, a copy of it or, if one of the
	// two has no file here, an equal vector. The answer has their ids.
	ExcludeQuery bool `json:"except_itself,omitempty"`
	Arrange
	// Explain requests Answer.Explain.
	Explain bool `json:"explain,omitempty"`
}

// Arrange changes which of the nearest items are shown, and in which order. The zero value shows the K nearest.
type Arrange struct {
	// GroupBy is a column: of the items with the same value only the first is shown.
	GroupBy string `json:"group_by,omitempty"`
	// Collapse is a distance: of items at most this far from one that is shown only that one is shown.
	Collapse float64 `json:"collapse,omitempty"`
	// Others is the most items of Neighbour.Others; it needs GroupBy or Collapse.
	Others int `json:"others,omitempty"`
	// Diverse, above 0 and below 1, is the weight of being unlike the neighbours before (maximal marginal relevance).
	Diverse float64 `json:"diverse,omitempty"`
	// Rerank orders the first items anew: alpha-qe (query expansion) or k-reciprocal.
	Rerank string `json:"rerank,omitempty"`
}

// Term is a part of a query that is a sum of vectors of unit length: an item, words, a vector or a picture.
type Term struct {
	ID     string    `json:"id,omitempty"`
	Text   string    `json:"text,omitempty"`
	Vector []float32 `json:"vector,omitempty"`
	// Picture is the number of a picture of the form, from 0.
	Picture *int `json:"picture,omitempty"`
	Minus   bool `json:"minus,omitempty"` // subtract it
}

// Items is the body of POST and PUT /v1/items.
type Items struct {
	Items []store.Item `json:"items"`
}

// Change is the body of PUT /v1/items/ID: the new values of the item. Without a vector it
// keeps its vector.
type Change struct {
	Path    string         `json:"path,omitempty"`
	Columns map[string]any `json:"columns,omitempty"`
	Vector  []float32      `json:"vector,omitempty"`
}

// Written is the answer to a write: the ids, in the order of the request.
type Written struct {
	IDs []string `json:"ids"`
}

// Edit sets single columns of an item; a value of nil removes the column. It is the body of PATCH /v1/items/ID, without
// an id.
type Edit struct {
	ID      string         `json:"id,omitempty"`
	Columns map[string]any `json:"columns"`
}

// Edits is the body of PATCH /v1/items: Items, or IDs with Columns for all of them. All are changed, or none.
type Edits struct {
	Items   []Edit         `json:"items,omitempty"`
	IDs     []string       `json:"ids,omitempty"`
	Columns map[string]any `json:"columns,omitempty"`
}

// Edited is the answer to a PATCH. Before has the items that were changed, with the earlier values of the changed
// columns, nil for a column that was missing: sent as Edits.Items, it undoes the change.
type Edited struct {
	IDs    []string `json:"ids"`
	Before []Edit   `json:"before"`
}

// IDs is the body of DELETE /v1/items.
type IDs struct {
	IDs []string `json:"ids"`
	// Keep requests Deleted.Items, and keeps the uploaded pictures of the items for an hour.
	Keep bool `json:"keep,omitempty"`
}

// Deleted is the answer to a removal: the number of removed items.
type Deleted struct {
	Deleted int `json:"deleted"`
	// Items are the removed items, if Keep requested them. PUT /v1/items undoes the removal.
	Items []store.Item `json:"items,omitempty"`
}

// LabelOptions choose the labels of GET /v1/labels. Zero values stand for the server's defaults.
type LabelOptions struct {
	Column string // default Collection.Label
	Filter string // which items count
	Limit  int
	From   int    // number of labels to leave out
	Sort   string // count, the most items first, or name; default count
}

// Labels is the answer of GET /v1/labels.
type Labels struct {
	Labels []Label `json:"labels"`
	// Total is the number of all labels, and Missing that of the items without a value.
	Total   int `json:"total"`
	Missing int `json:"missing"`
}

// Label is a value of a column with its items. IDs has the first ids, at most four.
type Label struct {
	Label string   `json:"label"`
	Items int      `json:"items"`
	IDs   []string `json:"ids"`
}

// Picture is the answer of POST /v1/pictures: the SHA-256 of the picture as 64 hexadecimal digits.
type Picture struct {
	Picture string `json:"picture"`
}

// Listed is the answer of GET /v1/items. Next continues the list as the parameter
// after; it is "" at the end.
type Listed struct {
	Items []store.Item `json:"items"`
	Next  string       `json:"next"`
	// Passed is the number of items that pass the filter, for a list in a random order.
	Passed *int `json:"passed,omitempty"`
}

// State is the answer of /healthz and /readyz.
type State struct {
	Status string `json:"status"`
}
