package inputs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/database/pgvector"
	"github.com/kindred-ml/kindred/internal/database/qdrant"
	"github.com/kindred-ml/kindred/internal/database/weaviate"
	"github.com/kindred-ml/kindred/store"
)

// StoreForm is the form of addresses of stores.
const StoreForm = "postgres://USER@HOST/DATABASE#NAME, weaviate://HOST:PORT[,HOST:PORT...]#NAME or " +
	"qdrant://HOST:PORT[,HOST:PORT...]#NAME"

// retryTime is how long a call to a database is repeated if none of its machines answers.
const retryTime = 2 * time.Minute

// SplitStore takes the store's name from its address.
func SplitStore(url string) (database, name string, err error) {
	database, name, ok := strings.Cut(url, "#")
	if _, known := findEngine(database); !ok || name == "" || !known {
		return "", "", cli.Usagef("not the address of a store: want %s", StoreForm) // it may hold a password
	}
	return database, name, nil
}

// storeEngine opens the stores of one sort of database, or makes them.
type storeEngine struct {
	open   func(ctx context.Context, database, name string) (closableStore, error)
	ensure func(ctx context.Context, database, name string, cfg store.Config) (closableStore, error)
}

type closableStore interface {
	store.Store
	io.Closer
}

// findEngine returns the engine for a database's address.
func findEngine(database string) (storeEngine, bool) {
	scheme, _, _ := strings.Cut(database, "://")
	switch scheme {
	case "postgres", "postgresql":
		return newEngine(pgvector.Open, pgvector.Ensure), true
	case "weaviate":
		return newEngine(weaviate.Open, weaviate.Ensure), true
	case "qdrant":
		return newEngine(qdrant.Open, qdrant.Ensure), true
	}
	return storeEngine{}, false
}

func newEngine[S closableStore](open func(context.Context, string, string) (S, error),
	ensure func(context.Context, string, string, store.Config) (S, error)) storeEngine {
	return storeEngine{
		open: func(ctx context.Context, database, name string) (closableStore, error) {
			return open(ctx, database, name)
		},
		ensure: func(ctx context.Context, database, name string, cfg store.Config) (closableStore, error) {
			return ensure(ctx, database, name, cfg)
		}}
}

// RemoteStore is an open store of a database.
type RemoteStore struct {
	store.Store // repeats calls, see patience
	io.Closer
	Name string
}

func newRemote(s closableStore, name string) *RemoteStore {
	return &RemoteStore{store.WithRetries(s, retryTime), s, name}
}

// OpenStore opens the store at an address.
func OpenStore(ctx context.Context, url string) (*RemoteStore, error) {
	database, name, err := SplitStore(url)
	if err != nil {
		return nil, err
	}
	e, _ := findEngine(database)
	s, err := e.open(ctx, database, name)
	if err != nil {
		return nil, err
	}
	return newRemote(s, name), nil
}

// StoreFlags describe a new store.
type StoreFlags struct {
	cfg store.Config
}

// Add adds the flags.
func (f *StoreFlags) Add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.cfg.HNSW, "hnsw", false, "add a graph for approximate search to a new store")
	fs.IntVar(&f.cfg.MaxNeighbours, "links", 16, "neighbours of an item in the graph (its M)")
	fs.IntVar(&f.cfg.BuildCandidates, "build", 64, "candidates examined for each item's neighbours (ef_construction)")
	fs.BoolVar(&f.cfg.Float16, "half", false, "keep vectors of a new store in float16, half the size")
}

// Rules returns when the flags apply, to a store or to an index.
func (f *StoreFlags) Rules(store bool) []flags.Rule {
	return []flags.Rule{
		flags.When("hnsw links build half", store, "", "it controls how a store of a database is made"),
		flags.When("links build", store, "hnsw", "it applies to the graph")}
}

// Ensure opens the store at an address, or makes it for vectors of a length. It prints what precision
// the store loses.
func (f *StoreFlags) Ensure(ctx context.Context, a *console.Console, url string, dim int, distance, network string) (
	*RemoteStore, error) {
	database, name, err := SplitStore(url)
	if err != nil {
		return nil, err
	}
	cfg := f.cfg
	cfg.Dim, cfg.Distance, cfg.Network = dim, distance, network
	e, _ := findEngine(database)
	s, err := e.ensure(ctx, database, name, cfg)
	if err != nil {
		return nil, err
	}
	in, err := s.Info(ctx)
	if err != nil {
		return nil, cmp.Or(err, s.Close())
	}
	if in.Loss != "" {
		fmt.Fprintf(a.Err, "%s: %s\n", escape.Name(name), in.Loss)
	}
	return newRemote(s, name), nil
}
