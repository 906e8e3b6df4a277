// Package pgvector is a table of PostgreSQL with the extension pgvector as a
// store.Store.
//
//	s, err := pgvector.Create(ctx, "postgres://127.0.0.1/photos", "photos", store.Config{Dim: 128})
//	s, err := pgvector.Open(ctx, "postgres://127.0.0.1/photos", "photos")
//
// A store is a table with a row for each item: id, path, columns (jsonb) and embedding
// (vector, in float32 unchanged, or halfvec, in float16), and a row of the table kindred_stores
// with the Info. Any number of processes can use it at once. Searches read the whole table and
// are exact unless Config.HNSW has made an index. When Put returns, its items are committed.
//
// The URL's parameters are libpq's and settings of the session: with hnsw.ef_search=200 a search
// in the graph considers 200 candidates (default 40). New items are written by COPY;
// kindred_copy=off avoids it, for proxies that do not support COPY.
package pgvector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/store"
)

// Store is an open store.
type Store struct {
	pool     *pgxpool.Pool
	name     string
	table    string // quoted
	dim      int
	distance string
	kind     string // of the column of vectors: vector or halfvec
	usesCopy bool   // new items are written by COPY
}

// distanceOperator returns pgvector's operator of a distance, and the middle part of the name of its
// operator class for HNSW, TYPE_OPS_ops.
func distanceOperator(distance string) (operator, ops string) {
	switch distance {
	case "cosine":
		return "<=>", "cosine"
	case "dot":
		return "<#>", "ip"
	}
	return "<->", "l2"
}

// Largest dimensions of vectors in tables and in graphs of pgvector.
const (
	maxDim     = 16000
	maxHNSW    = 2000
	maxHalfDim = 4000 // of a graph of halfvec
)

// checkConfig fills in the defaults. It returns an error for a store that pgvector cannot hold.
func checkConfig(name string, cfg *store.Config) error {
	most := maxDim
	switch {
	case cfg.HNSW && cfg.Float16:
		most = maxHalfDim
	case cfg.HNSW:
		most = maxHNSW
	}
	return cfg.Check(name, most)
}

// noCopyOption is the option of a URL that turns COPY off.
const noCopyOption = "kindred_copy"

func connect(ctx context.Context, url, name string) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	params := cfg.ConnConfig.RuntimeParams
	copies := params[noCopyOption] != "off"
	delete(params, noCopyOption)
	// A filter is applied to the rows that the graph found: the scan continues until enough
	// rows pass. In strict order it would leave out rows that it finds late; Search sorts.
	// It is a setting of the extension, which may not be loaded yet.
	if _, told := params["hnsw.iterative_scan"]; !told {
		cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
			if _, err := c.Exec(ctx, "SET hnsw.iterative_scan = relaxed_order"); err != nil {
				return err
			}
			// By default it stops after 20,000 rows, and finds too few that pass a narrow filter.
			_, err := c.Exec(ctx, "SET hnsw.max_scan_tuples = 2147483647")
			return err
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Store{pool: pool, name: name, table: pgx.Identifier{"kindred_" + name}.Sanitize(), usesCopy: copies}, nil
}

// Create makes an empty store in the database at a URL. It is an error if the store exists.
func Create(ctx context.Context, url, name string, cfg store.Config) (*Store, error) {
	if err := checkConfig(name, &cfg); err != nil {
		return nil, err
	}
	return withConnection(ctx, url, name, func(s *Store) error { return s.create(ctx, cfg) })
}

// Open opens a store in the database at a URL.
func Open(ctx context.Context, url, name string) (*Store, error) {
	if err := store.CheckName(name); err != nil {
		return nil, err
	}
	return withConnection(ctx, url, name, func(s *Store) error { return s.open(ctx) })
}

// Ensure opens a store, or makes it if it does not exist. A store with another length of vector
// or another distance is an error.
func Ensure(ctx context.Context, url, name string, cfg store.Config) (*Store, error) {
	if err := checkConfig(name, &cfg); err != nil {
		return nil, err
	}
	return withConnection(ctx, url, name, func(s *Store) error {
		err := s.open(ctx)
		var db *pgconn.PgError
		if errors.Is(err, pgx.ErrNoRows) || errors.As(err, &db) && db.Code == "42P01" { // undefined_table: all stores
			return s.create(ctx, cfg)
		}
		if err == nil {
			err = cfg.CheckExisting(name, s.dim, s.distance)
		}
		return err
	})
}

// withConnection connects and calls f. It closes the connections if f fails.
func withConnection(ctx context.Context, url, name string, f func(*Store) error) (*Store, error) {
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

func (s *Store) create(ctx context.Context, cfg store.Config) error {
	s.dim, s.distance, s.kind = cfg.Dim, cfg.Distance, "vector"
	if cfg.Float16 {
		s.kind = "halfvec"
	}
	_, ops := distanceOperator(cfg.Distance)
	statements := []string{
		"CREATE EXTENSION IF NOT EXISTS vector",
		"CREATE TABLE IF NOT EXISTS kindred_stores (name text PRIMARY KEY, dim int NOT NULL, distance text NOT NULL, " +
			"network text NOT NULL, columns jsonb NOT NULL, version bigint NOT NULL)",
		fmt.Sprintf(`CREATE TABLE %s (id text COLLATE "C" PRIMARY KEY, path text NOT NULL, columns jsonb NOT NULL, `+
			"embedding %s(%d) NOT NULL)", s.table, s.kind, cfg.Dim),
	}
	if cfg.HNSW {
		statements = append(statements, fmt.Sprintf(
			"CREATE INDEX ON %s USING hnsw (embedding %s_%s_ops) WITH (m = %d, ef_construction = %d)", s.table, s.kind,
			ops, cfg.MaxNeighbours, cfg.BuildCandidates))
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
	// The type of the column tells vector and halfvec apart, such as halfvec(128).
	row := s.pool.QueryRow(ctx, "SELECT dim, distance, (SELECT split_part(format_type(atttypid, atttypmod), '(', 1) "+
		"FROM pg_attribute WHERE attrelid = to_regclass($2) AND attname = 'embedding') FROM kindred_stores "+
		"WHERE name = $1", s.name, s.table)
	if err := row.Scan(&s.dim, &s.distance, &s.kind); err != nil {
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
	if s.kind == "halfvec" {
		in.Loss = store.Float16Loss
	}
	var columns map[string]store.Kind
	err := s.pool.QueryRow(ctx,
		"SELECT network, columns, version, (SELECT count(*) FROM "+s.table+") FROM kindred_stores "+
			"WHERE name = $1", s.name).Scan(&in.Network, &columns, &in.Version, &in.Items)
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		in.Columns = append(in.Columns, store.Column{Name: name, Kind: columns[name]})
	}
	return in, storeError(err)
}

// formatVector writes a vector in the form of pgvector. Reading it gives the same bits.
func formatVector(v []float32) string {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return string(append(b, ']'))
}

// parseVector parses a vector in the form of pgvector.
func parseVector(text string) ([]float32, error) {
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

// itemColumns are the columns that item reads.
const itemColumns = "id, path, columns, embedding::text"

// scanItem reads a row of itemColumns and, if distance is not nil, one column more.
func scanItem(rows pgx.Row, vector bool, distance *float64) (store.Item, error) {
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
	if err := strictjson.Unmarshal(columns, &it.Columns); err != nil {
		return it, err
	}
	if len(it.Columns) == 0 {
		it.Columns = nil
	}
	if !vector {
		return it, nil
	}
	var err error
	it.Vector, err = parseVector(text)
	return it, err
}

// Search implements store.Store.
func (s *Store) Search(ctx context.Context, q store.Query) ([]store.Hit, error) {
	if len(q.Vector) != s.dim {
		return nil, &store.DimensionError{Have: len(q.Vector), Want: s.dim}
	}
	operator, _ := distanceOperator(s.distance)
	w := &sqlBuilder{}
	v := w.addArg(formatVector(q.Vector)) + "::" + s.kind
	condition, err := w.condition(q.Filter)
	if err != nil {
		return nil, err
	}
	if len(q.ExcludeIDs) > 0 {
		condition += " AND NOT (id = ANY(" + w.addArg(q.ExcludeIDs) + "))"
	}
	// The graph can answer the inner query. The outer query orders rows at equal
	// distances.
	text := fmt.Sprintf("SELECT * FROM (SELECT %s, embedding %s %s AS distance FROM %s WHERE %s "+
		"ORDER BY embedding %s %s LIMIT %s) nearest ORDER BY distance, id", itemColumns, operator, v, s.table,
		condition, operator, v,
		w.addArg(q.K))
	rows, err := s.pool.Query(ctx, text, w.args...)
	if err != nil {
		return nil, storeError(err)
	}
	defer rows.Close()
	hits := []store.Hit{}
	for rows.Next() {
		var h store.Hit
		if h.Item, err = scanItem(rows, q.Vectors, &h.Distance); err != nil {
			return nil, err
		}
		hits = append(hits, h)
	}
	return hits, storeError(rows.Err())
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, id string) (store.Item, error) {
	it, err := scanItem(s.pool.QueryRow(ctx, "SELECT "+itemColumns+" FROM "+s.table+" WHERE id = $1", id), true, nil)
	if errors.Is(err, pgx.ErrNoRows) {
		err = &store.NotFoundError{ID: id}
	}
	return it, storeError(err)
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, items []store.Item, mode store.Mode) error {
	rows := new(itemArrays)
	columns := map[string]store.Kind{}
	for i := range items {
		it := &items[i]
		if err := it.Check(s.dim); err != nil {
			return err
		}
		if s.kind == "halfvec" {
			if err := it.CheckFloat16(); err != nil {
				return err
			}
		}
		text, err := json.Marshal(it.Columns)
		if err != nil {
			return &store.ItemError{ID: it.ID, Err: err}
		}
		if it.Columns == nil {
			text = []byte("{}")
		}
		rows.ids, rows.paths = append(rows.ids, it.ID), append(rows.paths, it.Path)
		rows.columns, rows.vectors = append(rows.columns, string(text)), append(rows.vectors, formatVector(it.Vector))
		for name, v := range it.Columns {
			columns[name] = store.KindOf(v)
		}
	}
	put := func(copies bool) error {
		return storeError(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			return s.put(ctx, tx, rows, columns, mode, copies)
		}))
	}
	err := put(s.usesCopy)
	var exists *store.ExistsError
	if mode == store.Replace && errors.As(err, &exists) { // somebody else wrote it meanwhile, or it is there twice
		err = put(false)
	}
	return err
}

// itemArrays has the columns of items, one array for each.
type itemArrays struct{ ids, paths, columns, vectors []string }

// copyText returns the rows in the form that COPY reads.
func (a *itemArrays) copyText() string {
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`)
	for i := range a.ids {
		for j, v := range []string{a.ids[i], a.paths[i], a.columns[i], a.vectors[i]} {
			escape.WriteString(&b, v)
			b.WriteByte("\t\t\t\n"[j])
		}
	}
	return b.String()
}

// put writes all rows: by COPY if copies is set and no id exists, else by one statement,
// which takes the rows as four arrays.
func (s *Store) put(ctx context.Context, tx pgx.Tx, rows *itemArrays, columns map[string]store.Kind,
	mode store.Mode, copies bool) error {
	var id string
	err := tx.QueryRow(ctx, "SELECT id FROM "+s.table+" WHERE id = ANY($1) ORDER BY 1 LIMIT 1", rows.ids).Scan(&id)
	fresh := errors.Is(err, pgx.ErrNoRows)
	switch {
	case err != nil && !fresh:
		return err
	case !fresh && mode == store.Insert:
		return &store.ExistsError{ID: id}
	case fresh && copies:
		_, err = tx.Conn().PgConn().CopyFrom(ctx, strings.NewReader(rows.copyText()),
			"COPY "+s.table+" (id, path, columns, embedding) FROM STDIN")
	default:
		then := ""
		if mode == store.Replace {
			then = " ON CONFLICT (id) DO UPDATE SET path = EXCLUDED.path, columns = EXCLUDED.columns, " +
				"embedding = EXCLUDED.embedding"
		}
		_, err = tx.Exec(ctx, "INSERT INTO "+s.table+" SELECT id, path, columns::jsonb, embedding::"+s.kind+" FROM "+
			"unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS incoming(id, path, columns, embedding)"+then,
			rows.ids, rows.paths, rows.columns, rows.vectors)
	}
	if err != nil {
		return err
	}
	kinds, err := json.Marshal(columns)
	if err != nil {
		return err
	}
	// A column keeps its first kind.
	_, err = tx.Exec(ctx,
		"UPDATE kindred_stores SET version = version + 1, columns = $2::jsonb || columns WHERE name = $1",
		s.name, string(kinds))
	return err
}

// storeError converts an error of the database to that of the contract of stores.
func storeError(err error) error {
	var db *pgconn.PgError
	var net net.Error
	var connect *pgconn.ConnectError
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &db):
	case errors.As(err, &net), errors.As(err, &connect), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		pgconn.SafeToRetry(err):
		return &store.UnavailableError{Err: err}
	default:
		return err
	}
	switch {
	case slices.Contains([]string{"08", "40"}, db.Code[:min(2, len(db.Code))]), strings.HasPrefix(db.Code, "57P"),
		db.Code == "53300":
		// The connection broke, the transaction conflicts with another one, the server is
		// stopping or starting, or there are too many connections.
		return &store.UnavailableError{Err: err}
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
	return n, storeError(err)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, p store.Page) ([]store.Item, error) {
	w := &sqlBuilder{}
	after := w.addArg(p.After)
	condition, err := w.condition(p.Filter)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE id > %s AND %s ORDER BY id LIMIT %s",
		itemColumns,
		s.table, after, condition, w.addArg(p.Limit)), w.args...)
	if err != nil {
		return nil, storeError(err)
	}
	defer rows.Close()
	var out []store.Item
	for rows.Next() {
		it, err := scanItem(rows, p.Vectors, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, it)
	}
	return out, storeError(rows.Err())
}

// All implements store.Store.
func (s *Store) All(ctx context.Context) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		rows, err := s.pool.Query(ctx, "SELECT "+itemColumns+" FROM "+s.table)
		if err != nil {
			yield(store.Item{}, storeError(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			it, err := scanItem(rows, true, nil)
			if !yield(it, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(store.Item{}, storeError(err))
		}
	}
}
