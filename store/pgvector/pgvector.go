// Package pgvector is a table of PostgreSQL with the extension pgvector as a
// store.Store.
//
//	s, err := pgvector.Create(ctx, "postgres://127.0.0.1/photos", "photos", pgvector.Config{Dim: 128})
//	s, err := pgvector.Open(ctx, "postgres://127.0.0.1/photos", "photos")
//
// A store is a table with a row for each item: id, path, columns (jsonb) and embedding
// (vector, in float32 as it came), and a line of the table kindred_stores with what
// Info tells. Any number of processes can use it at once. Searches read the whole table
// and are exact unless Config.HNSW has made an index. What Put has returned from is
// committed.
package pgvector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kindred-ml/kindred/store"
)

// Config describes a new store.
type Config struct {
	Dim int // length of the vectors, 1 to 2000
	// Distance is euclidean, the default, cosine or dot.
	Distance string
	Network  string // what makes the embeddings, for people
	// HNSW makes an index for approximate search.
	HNSW bool
}

// Store is an open store.
type Store struct {
	pool     *pgxpool.Pool
	name     string
	table    string // quoted
	dim      int
	distance string
}

// nearness is what pgvector calls a distance: its operator and its class for HNSW.
type nearness struct{ operator, class string }

func near(distance string) (nearness, bool) {
	n, ok := map[string]nearness{"euclidean": {"<->", "vector_l2_ops"}, "cosine": {"<=>", "vector_cosine_ops"},
		"dot": {"<#>", "vector_ip_ops"}}[distance]
	return n, ok
}

// maxDim is the longest vector that pgvector's HNSW takes.
const maxDim = 2000

var tableName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,50}$`)

func connect(ctx context.Context, url, name string) (*Store, error) {
	if !tableName.MatchString(name) {
		return nil, fmt.Errorf("a store cannot be called %q: want small letters, digits and underscores", name)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Store{pool: pool, name: name, table: pgx.Identifier{"kindred_" + name}.Sanitize()}, nil
}

// Create makes an empty store in the database at a URL. One that is there already is an
// error.
func Create(ctx context.Context, url, name string, cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return connected(ctx, url, name, func(s *Store) error { return s.create(ctx, cfg) })
}

// Open opens a store in the database at a URL.
func Open(ctx context.Context, url, name string) (*Store, error) {
	return connected(ctx, url, name, func(s *Store) error { return s.open(ctx) })
}

// Ensure opens a store, or makes it if it is not there. One of another length of vector
// or another distance is an error.
func Ensure(ctx context.Context, url, name string, cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return connected(ctx, url, name, func(s *Store) error {
		err := s.open(ctx)
		var db *pgconn.PgError
		if errors.Is(err, pgx.ErrNoRows) || errors.As(err, &db) && db.Code == "42P01" { // undefined_table: all stores
			return s.create(ctx, cfg)
		}
		if err == nil && (s.dim != cfg.Dim || s.distance != cfg.Distance) {
			err = fmt.Errorf("the store %s holds vectors of %d numbers by %s distance, not of %d by %s", name, s.dim,
				s.distance, cfg.Dim, cfg.Distance)
		}
		return err
	})
}

// check fills in the default and refuses what pgvector cannot hold.
func (c *Config) check() error {
	c.Distance = cmp.Or(c.Distance, "euclidean")
	if _, ok := near(c.Distance); !ok || c.Dim < 1 || c.Dim > maxDim {
		return fmt.Errorf("a store of %d numbers by the distance %q: want 1 to %d, and euclidean, cosine or dot", c.Dim,
			c.Distance, maxDim)
	}
	return nil
}

// connected connects, and closes the connections if what f does fails.
func connected(ctx context.Context, url, name string, f func(*Store) error) (*Store, error) {
	s, err := connect(ctx, url, name)
	if err != nil {
		return nil, err
	}
	if err := f(s); err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) create(ctx context.Context, cfg Config) error {
	s.dim, s.distance = cfg.Dim, cfg.Distance
	n, _ := near(cfg.Distance)
	statements := []string{
		"CREATE EXTENSION IF NOT EXISTS vector",
		"CREATE TABLE IF NOT EXISTS kindred_stores (name text PRIMARY KEY, dim int NOT NULL, distance text NOT NULL, " +
			"network text NOT NULL, columns jsonb NOT NULL, version bigint NOT NULL)",
		fmt.Sprintf(`CREATE TABLE %s (id text COLLATE "C" PRIMARY KEY, path text NOT NULL, columns jsonb NOT NULL, `+
			"embedding vector(%d) NOT NULL)", s.table, cfg.Dim),
	}
	if cfg.HNSW {
		statements = append(statements, fmt.Sprintf("CREATE INDEX ON %s USING hnsw (embedding %s)", s.table, n.class))
	}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, text := range statements {
			if _, err := tx.Exec(ctx, text); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "INSERT INTO kindred_stores VALUES ($1, $2, $3, $4, '{}', 1)", s.name, cfg.Dim,
			cfg.Distance, cfg.Network)
		return err
	})
	if err != nil {
		return fmt.Errorf("making the store %s: %w", s.name, err)
	}
	return nil
}

func (s *Store) open(ctx context.Context) error {
	row := s.pool.QueryRow(ctx, "SELECT dim, distance FROM kindred_stores WHERE name = $1", s.name)
	if err := row.Scan(&s.dim, &s.distance); err != nil {
		return fmt.Errorf("opening the store %s: %w", s.name, err)
	}
	return nil
}

// Close closes the connections.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Info implements store.Store.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	in := store.Info{Dim: s.dim, Distance: s.distance}
	var columns map[string]store.Kind
	err := s.pool.QueryRow(ctx,
		"SELECT network, columns, version, (SELECT count(*) FROM "+s.table+") FROM kindred_stores "+
			"WHERE name = $1", s.name).Scan(&in.Network, &columns, &in.Version, &in.Items)
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		in.Columns = append(in.Columns, store.Column{Name: name, Kind: columns[name]})
	}
	return in, err
}

// literal writes a vector as pgvector reads it, to the same bits.
func literal(v []float32) string {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return string(append(b, ']'))
}

// vectorOf reads what literal writes.
func vectorOf(text string) ([]float32, error) {
	var out []float32
	for part := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
		f, err := strconv.ParseFloat(part, 32)
		if err != nil {
			return nil, fmt.Errorf("the vector %.60q: %w", text, err)
		}
		out = append(out, float32(f))
	}
	return out, nil
}

// itemColumns are what item reads.
const itemColumns = "id, path, columns, embedding::text"

// item reads a row of itemColumns and, if distance is not nil, one column more.
func item(rows pgx.Row, vector bool, distance *float64) (store.Item, error) {
	var it store.Item
	var columns []byte
	var text string
	to := []any{&it.ID, &it.Path, &columns, &text}
	if distance != nil {
		to = append(to, distance)
	}
	if err := rows.Scan(to...); err != nil {
		return it, err
	}
	if err := json.Unmarshal(columns, &it.Columns); err != nil {
		return it, err
	}
	if len(it.Columns) == 0 {
		it.Columns = nil
	}
	if !vector {
		return it, nil
	}
	var err error
	it.Vector, err = vectorOf(text)
	return it, err
}

// Search implements store.Store.
func (s *Store) Search(ctx context.Context, q store.Query) ([]store.Hit, error) {
	if len(q.Vector) != s.dim {
		return nil, &store.DimensionError{Have: len(q.Vector), Want: s.dim}
	}
	n, _ := near(s.distance)
	w := &where{}
	v := w.arg(literal(q.Vector)) + "::vector"
	condition, err := w.condition(q.Filter)
	if err != nil {
		return nil, err
	}
	if len(q.Except) > 0 {
		condition += " AND NOT (id = ANY(" + w.arg(q.Except) + "))"
	}
	// The inner query is the one that an index can answer; the outer one orders equal
	// distances.
	text := fmt.Sprintf("SELECT * FROM (SELECT %s, embedding %s %s AS distance FROM %s WHERE %s "+
		"ORDER BY embedding %s %s LIMIT %s) nearest ORDER BY distance, id", itemColumns, n.operator, v, s.table,
		condition, n.operator, v,
		w.arg(q.K))
	rows, err := s.pool.Query(ctx, text, w.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	hits := []store.Hit{}
	for rows.Next() {
		var h store.Hit
		if h.Item, err = item(rows, q.Vectors, &h.Distance); err != nil {
			return nil, err
		}
		hits = append(hits, h)
	}
	return hits, rows.Err()
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, id string) (store.Item, error) {
	it, err := item(s.pool.QueryRow(ctx, "SELECT "+itemColumns+" FROM "+s.table+" WHERE id = $1", id), true, nil)
	if errors.Is(err, pgx.ErrNoRows) {
		err = &store.NotFoundError{ID: id}
	}
	return it, err
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, items []store.Item, mode store.Mode) error {
	rows := new(arrays)
	columns := map[string]store.Kind{}
	for i := range items {
		it := &items[i]
		if err := it.Check(s.dim); err != nil {
			return err
		}
		text, err := json.Marshal(it.Columns)
		if err != nil {
			return &store.ItemError{ID: it.ID, Err: err}
		}
		if it.Columns == nil {
			text = []byte("{}")
		}
		rows.ids, rows.paths = append(rows.ids, it.ID), append(rows.paths, it.Path)
		rows.columns, rows.vectors = append(rows.columns, string(text)), append(rows.vectors, literal(it.Vector))
		for name, v := range it.Columns {
			columns[name] = kindOf(v)
		}
	}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return s.put(ctx, tx, rows, columns, mode) })
	return failure(err)
}

// arrays are items, column by column.
type arrays struct{ ids, paths, columns, vectors []string }

func kindOf(v any) store.Kind {
	switch v.(type) {
	case bool:
		return store.Bool
	case float64:
		return store.Number
	}
	return store.Text
}

// put writes all rows with one statement, which takes them as four arrays.
func (s *Store) put(ctx context.Context, tx pgx.Tx, rows *arrays, columns map[string]store.Kind,
	mode store.Mode) error {
	then := ""
	if mode == store.Replace {
		then = " ON CONFLICT (id) DO UPDATE SET path = EXCLUDED.path, columns = EXCLUDED.columns, " +
			"embedding = EXCLUDED.embedding"
	} else {
		var id string
		err := tx.QueryRow(ctx, "SELECT id FROM "+s.table+" WHERE id = ANY($1) ORDER BY 1 LIMIT 1", rows.ids).Scan(&id)
		if err == nil {
			return &store.ExistsError{ID: id}
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	_, err := tx.Exec(ctx, "INSERT INTO "+s.table+" SELECT id, path, columns::jsonb, embedding::vector FROM "+
		"unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS incoming(id, path, columns, embedding)"+then,
		rows.ids, rows.paths, rows.columns, rows.vectors)
	if err != nil {
		return err
	}
	kinds, err := json.Marshal(columns)
	if err != nil {
		return err
	}
	// The kind that a column began with stays.
	_, err = tx.Exec(ctx,
		"UPDATE kindred_stores SET version = version + 1, columns = $2::jsonb || columns WHERE name = $1",
		s.name, string(kinds))
	return err
}

// failure is an error of the database as the contract has it.
func failure(err error) error {
	var db *pgconn.PgError
	if !errors.As(err, &db) {
		return err
	}
	switch {
	case db.Code == "53100": // disk_full
		return errors.Join(store.ErrFull, err)
	case db.Code == "25006": // read_only_sql_transaction
		return errors.Join(store.ErrReadOnly, err)
	case db.Code == "23505" && db.TableName != "": // unique_violation: somebody was faster
		id := strings.TrimSuffix(strings.TrimPrefix(db.Detail, "Key (id)=("), ") already exists.")
		return &store.ExistsError{ID: id}
	}
	return err
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, ids []string) (n int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "DELETE FROM "+s.table+" WHERE id = ANY($1)", ids)
		if err != nil {
			return err
		}
		n = int(tag.RowsAffected())
		_, err = tx.Exec(ctx, "UPDATE kindred_stores SET version = version + 1 WHERE name = $1", s.name)
		return err
	})
	return n, failure(err)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, p store.Page) ([]store.Item, error) {
	w := &where{}
	after := w.arg(p.After)
	condition, err := w.condition(p.Filter)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE id > %s AND %s ORDER BY id LIMIT %s",
		itemColumns,
		s.table, after, condition, w.arg(p.Limit)), w.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []store.Item
	for rows.Next() {
		it, err := item(rows, p.Vectors, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, it)
	}
	return out, rows.Err()
}

// All implements store.Store.
func (s *Store) All(ctx context.Context) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		rows, err := s.pool.Query(ctx, "SELECT "+itemColumns+" FROM "+s.table)
		if err != nil {
			yield(store.Item{}, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			it, err := item(rows, true, nil)
			if !yield(it, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(store.Item{}, err)
		}
	}
}
