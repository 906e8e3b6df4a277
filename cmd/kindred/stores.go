package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/store"
	"github.com/kindred-ml/kindred/store/pgvector"
	"github.com/kindred-ml/kindred/store/qdrant"
	"github.com/kindred-ml/kindred/store/weaviate"
)

// storeForm is how a store of a database is named.
const storeForm = "postgres://USER@HOST/DATABASE#NAME, weaviate://HOST:PORT[,HOST:PORT...]#NAME or " +
	"qdrant://HOST:PORT[,HOST:PORT...]#NAME"

// patience is how long a call to a database is made again while none of its machines
// answers.
const patience = 2 * time.Minute

// splitStore takes the store's name from its address.
func splitStore(url string) (database, name string, err error) {
	database, name, ok := strings.Cut(url, "#")
	if _, known := engineOf(database); !ok || name == "" || !known {
		return "", "", usagef("not the address of a store: want %s", storeForm) // it may hold a password
	}
	return database, name, nil
}

// engine is how a kind of database opens its stores, and opens or makes them.
type engine struct {
	open   func(ctx context.Context, database, name string) (closable, error)
	ensure func(ctx context.Context, database, name string, cfg store.Config) (closable, error)
}

type closable interface {
	store.Store
	io.Closer
}

// engineOf is the engine of a database's address.
func engineOf(database string) (engine, bool) {
	scheme, _, _ := strings.Cut(database, "://")
	switch scheme {
	case "postgres", "postgresql":
		return newEngine(pgvector.Open, pgvector.Ensure), true
	case "weaviate":
		return newEngine(weaviate.Open, weaviate.Ensure), true
	case "qdrant":
		return newEngine(qdrant.Open, qdrant.Ensure), true
	}
	return engine{}, false
}

func newEngine[S closable](open func(context.Context, string, string) (S, error),
	ensure func(context.Context, string, string, store.Config) (S, error)) engine {
	return engine{
		open: func(ctx context.Context, database, name string) (closable, error) {
			return open(ctx, database, name)
		},
		ensure: func(ctx context.Context, database, name string, cfg store.Config) (closable, error) {
			return ensure(ctx, database, name, cfg)
		}}
}

// remote is an open store of a database.
type remote struct {
	store.Store // with patience
	io.Closer
	name string
}

func newRemote(s closable, name string) *remote {
	return &remote{store.Patient(s, patience), s, name}
}

// openStore opens the store at an address.
func openStore(ctx context.Context, url string) (*remote, error) {
	database, name, err := splitStore(url)
	if err != nil {
		return nil, err
	}
	e, _ := engineOf(database)
	s, err := e.open(ctx, database, name)
	if err != nil {
		return nil, err
	}
	return newRemote(s, name), nil
}

// storeFlags describe a store that is made.
type storeFlags struct {
	cfg store.Config
}

func (f *storeFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.cfg.HNSW, "hnsw", false, "give a new store a graph for approximate search")
	fs.IntVar(&f.cfg.Links, "links", 16, "neighbours of an item in the graph (its M)")
	fs.IntVar(&f.cfg.Build, "build", 64, "candidates weighed for them (ef_construction)")
	fs.BoolVar(&f.cfg.Half, "half", false, "have a new store keep vectors in float16, half as large")
}

// rules are which of the flags apply.
func (f *storeFlags) rules() []rule {
	return []rule{{"hnsw links build half", inStore, "", "it says how a store of a database is made"},
		{"links build", inStore, "hnsw", "a graph has them"}}
}

// ensure opens the store at an address, or makes it for vectors of a length, and says
// what it loses of them.
func (f *storeFlags) ensure(ctx context.Context, a *app, url string, dim int, distance, network string) (*remote,
	error) {
	database, name, err := splitStore(url)
	if err != nil {
		return nil, err
	}
	cfg := f.cfg
	cfg.Dim, cfg.Distance, cfg.Network = dim, distance, network
	e, _ := engineOf(database)
	s, err := e.ensure(ctx, database, name, cfg)
	if err != nil {
		return nil, err
	}
	in, err := s.Info(ctx)
	if err != nil {
		return nil, cmp.Or(err, s.Close())
	}
	if in.Loss != "" {
		fmt.Fprintf(a.err, "%s: %s\n", escape.Name(name), in.Loss)
	}
	return newRemote(s, name), nil
}
