package store

import (
	"context"
	"iter"
)

// Item is one thing in a store.
type Item struct {
	// ID identifies the item: UTF-8 of 1 to 512 bytes without control characters.
	ID string `json:"id"`
	// Path is the path of the item's picture; "" without one.
	Path string `json:"path,omitempty"`
	// Columns are the item's values by name: strings, float64s and bools. A store takes integers and
	// float32s as well, and gives them back as float64s. A column that an item lacks matches no
	// comparison of a filter.
	Columns map[string]any `json:"columns,omitempty"`
	// Vector is the embedding. Answers leave it out unless the query requests it.
	Vector []float32 `json:"vector,omitempty"`
}

// Hit is an item found, with its distance from the query in the store's metric.
type Hit struct {
	Item
	Distance float64 `json:"distance"`
}

// Query is a search for the K items nearest to Vector.
type Query struct {
	Vector []float32
	K      int
	// Filter limits what is found; "" is everything. The package comment has the grammar:
	// price < 20 and category = "shoe".
	Filter string
	// ExcludeIDs has ids of items to leave out, such as the query's own.
	ExcludeIDs []string
	// Vectors returns the hits with their vectors.
	Vectors bool
}

// Page is a request for items in the order of their ids.
type Page struct {
	After   string // the last id of the page before; "" is the start
	Limit   int    // at least 1
	Filter  string
	Vectors bool
}

// Mode controls what Put does with an id that exists already.
type Mode int

const (
	Replace Mode = iota // the new item replaces the old one
	Insert              // nothing of the call is written, and the error is a *ExistsError
)

// Kind is the type of a column.
type Kind string

// The kinds of columns.
const (
	Text   Kind = "text"
	Number Kind = "number"
	Bool   Kind = "bool"
)

// Column is a column that items have.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// Info describes a store.
type Info struct {
	Items int
	Dim   int // length of the vectors
	// Distance is euclidean, cosine (1 - the cosine of the angle) or dot (minus the
	// product): smaller is nearer.
	Distance string
	Columns  []Column // by name
	Network  string   // name of the network that made the embeddings, for people; "" if not known
	// Loss describes for people what vectors lose in the engine; "" if they come back
	// with the same bits.
	Loss string
	// Version changes with every write. It shows whether a result was computed from an earlier
	// state.
	Version  uint64
	ReadOnly bool
}

// Store holds embedded items. Its methods are safe for concurrent use and stop when
// their context ends. Once Put or Delete has returned without an error, its change
// survives a crash.
type Store interface {
	Info(ctx context.Context) (Info, error)
	// Search returns up to q.K hits, nearest first; equal distances by id.
	Search(ctx context.Context, q Query) ([]Hit, error)
	// Get returns an item with its vector, or a *NotFoundError.
	Get(ctx context.Context, id string) (Item, error)
	// Put writes all items or none. A vector of another length is a *DimensionError.
	Put(ctx context.Context, items []Item, mode Mode) error
	// Delete removes items and returns how many of the ids existed.
	Delete(ctx context.Context, ids []string) (int, error)
	// List returns a page of items; one shorter than its limit is the last.
	List(ctx context.Context, p Page) ([]Item, error)
	// All yields every item with its vector, as of the moment it begins, in an order
	// of the store's own. After an error it ends.
	All(ctx context.Context) iter.Seq2[Item, error]
}

// Counter is a Store that counts values of a column itself, so that callers need not fetch every item
// with its vector.
type Counter interface {
	Store
	// Counts returns the number of items with each value of a column, as text by FormatValue. It leaves out
	// items without a value.
	Counts(ctx context.Context, column string) (map[string]int, error)
}

// Change has removals and items to write, which are made together.
type Change struct {
	Remove []string
	Put    []Item // written after the removals; replaces items with the same ids
}

// Updater is a Store that computes a change from items as they are at the moment of writing.
type Updater interface {
	Store
	// Update makes the change that compute returns, completely or not at all, and returns how many ids of Remove
	// existed. get returns an item with its vector, or a *NotFoundError. No other change is made between the call
	// of compute and this change. If compute returns an error, nothing is changed, and it is the error of Update.
	Update(ctx context.Context, compute func(get func(id string) (Item, error)) (Change, error)) (removed int,
		err error)
}

// Lister is a Store that reads all items without their vectors.
type Lister interface {
	Store
	// AllWithoutVectors is All without the vectors.
	AllWithoutVectors(ctx context.Context) iter.Seq2[Item, error]
}

// Browser is a Store in which people can look around without a query.
type Browser interface {
	Store
	// Sample is List in a random order by a seed, so that the first page is a random sample of
	// the items that pass the filter. It also returns the number of items that pass.
	Sample(ctx context.Context, p Page, seed uint64) (items []Item, passed int, err error)
	// SimilarIDs returns up to limit ids that are similar to a text, the most similar first, as suggestions for an
	// id that does not exist.
	SimilarIDs(ctx context.Context, text string, limit int) ([]string, error)
}
