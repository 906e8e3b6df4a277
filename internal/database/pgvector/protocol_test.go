package pgvector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/kindred-ml/kindred/store"
)

// openAnswer is the answer to an Open of a store of vectors of 2 numbers.
func openAnswer(distance, kind string) answer {
	return answer{contains: "SELECT dim, distance", types: []uint32{int8, text, text},
		rows: [][]string{{"2", distance, kind}}}
}

// errorAnswer is an error of the database.
func errorAnswer(has, code string) answer {
	return answer{contains: has, failed: pgproto3.ErrorResponse{Code: code, Message: "no " + code}}
}

// open opens the store photos, and forgets what came.
func open(t *testing.T, distance, kind string) (*fakeServer, *Store) {
	t.Helper()
	f := newFake(t, openAnswer(distance, kind))
	s, err := Open(t.Context(), f.url, "photos")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if came := f.newRequests(); !strings.HasSuffix(came,
		"SELECT dim, distance, (SELECT split_part(format_type(atttypid, "+
			`atttypmod), '(', 1) FROM pg_attribute WHERE attrelid = to_regclass('"kindred_photos"') AND attname = `+
			"'embedding') FROM kindred_stores WHERE name = 'photos'") {
		t.Error(came)
	}
	f.setAnswers()
	return f, s
}

// A store is made in one transaction, of the type and with the graph that were asked for.
func TestCreate(t *testing.T) {
	table := `CREATE TABLE "kindred_photos" (id text COLLATE "C" PRIMARY KEY, path text NOT NULL, ` +
		"columns jsonb NOT NULL, embedding %s NOT NULL)"
	for _, c := range []struct {
		cfg                store.Config
		typ, index, insert string
	}{
		{store.Config{Dim: 2, Network: "o'clock"}, "vector(2)", "", "'photos', '2', 'euclidean', 'o''clock'"},
		{store.Config{Dim: 3, Float16: true, HNSW: true, MaxNeighbours: 8, BuildCandidates: 40}, "halfvec(3)",
			"(embedding halfvec_l2_ops) WITH (m = 8, ef_construction = 40)", "'photos', '3', 'euclidean', ''"},
		{store.Config{Dim: 4, HNSW: true, MaxNeighbours: 9, BuildCandidates: 50, Distance: "cosine"}, "vector(4)",
			"(embedding vector_cosine_ops) WITH (m = 9, ef_construction = 50)", "'photos', '4', 'cosine', ''"},
		{store.Config{Dim: 5, HNSW: true, MaxNeighbours: 9, BuildCandidates: 50, Distance: "dot"}, "vector(5)",
			"(embedding vector_ip_ops)", "'photos', '5', 'dot', ''"},
	} {
		f := newFake(t)
		s, err := Create(t.Context(), f.url, "photos", c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		came := strings.Split(f.newRequests(), "\n")
		if came[2] != "begin" || came[len(came)-1] != "commit" || !slices.Contains(came, fmt.Sprintf(table, c.typ)) ||
			!slices.Contains(came, "CREATE EXTENSION IF NOT EXISTS vector") {
			t.Errorf("%+v: %q", c.cfg, came)
		}
		made := slices.IndexFunc(came, func(s string) bool { return strings.HasPrefix(s, "CREATE INDEX") })
		if (made >= 0) != (c.index != "") || made >= 0 && (!strings.Contains(came[made], c.index) ||
			!strings.Contains(came[made], `ON "kindred_photos" USING hnsw`)) {
			t.Errorf("%+v: %q", c.cfg, came)
		}
		if line := came[len(came)-2]; line != "INSERT INTO kindred_stores VALUES ("+c.insert+", '{}', 1)" {
			t.Error(line)
		}
	}
	f := newFake(t, errorAnswer("CREATE TABLE \"kindred", "42P07"))
	if _, err := Create(t.Context(), f.url, "photos", store.Config{Dim: 2}); err == nil ||
		!strings.Contains(err.Error(), "making the store photos") || !strings.HasSuffix(f.newRequests(), "rollback") {
		t.Error(err)
	}
}

// A session looks on in a graph until enough passes a filter, unless the address says how.
func TestSession(t *testing.T) {
	f := newFake(t, openAnswer("dot", "vector"))
	for options, want := range map[string]string{
		"": "SET hnsw.iterative_scan = relaxed_order\nSET hnsw.max_scan_tuples = 2147483647\nSELECT dim",
		"&kindred_copy=off&hnsw.iterative_scan=off": "SELECT dim",
	} {
		s, err := Open(t.Context(), f.url+options, "photos")
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if s.usesCopy != (options == "") {
			t.Errorf("%q: COPY is %v", options, s.usesCopy)
		}
		if came := f.newRequests(); !strings.HasPrefix(came, want) {
			t.Errorf("%q: %s", options, came)
		}
	}
	for _, p := range f.params {
		if p["kindred_copy"] != "" || p["database"] != "shop" {
			t.Errorf("a session of %v", p)
		}
	}
	f.setAnswers(errorAnswer("max_scan_tuples", "42704"))
	if s, err := Open(t.Context(), f.url, "photos"); err == nil {
		s.Close()
		t.Error("a session was begun whose settings were refused")
	}
}

// What is not there is made by Ensure alone; what is there has to fit.
func TestEnsure(t *testing.T) {
	cfg := store.Config{Dim: 2, Distance: "cosine"}
	none := answer{contains: "SELECT dim", types: []uint32{int8, text, text}}
	for _, c := range []struct {
		answer answer
		made   bool
		err    string // "": it is open
	}{
		{openAnswer("cosine", "vector"), false, ""}, {none, true, ""}, {errorAnswer("SELECT dim", "42P01"), true, ""},
		{errorAnswer("SELECT dim", "42501"), false, "no 42501"},
		{openAnswer("dot", "vector"), false, "has vectors of 2 numbers and the dot"},
	} {
		f := newFake(t, c.answer)
		s, err := Ensure(t.Context(), f.url, "photos", cfg)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %v", c.answer, err)
		}
		if err == nil {
			s.Close()
		}
		if made := strings.Contains(f.newRequests(), "CREATE TABLE"); made != c.made {
			t.Errorf("%+v: made: %v", c.answer, made)
		}
	}
	f := newFake(t, none)
	if _, err := Open(t.Context(), f.url, "photos"); err == nil || !strings.Contains(err.Error(),
		"opening the store photos") {
		t.Error(err)
	}
	if _, err := Ensure(t.Context(), f.url, "photos", store.Config{Dim: 20_000}); err == nil {
		t.Error("vectors longer than pgvector keeps")
	}
	if _, err := Open(t.Context(), f.url, "a b"); err == nil {
		t.Error("an invalid name")
	}
}

// New items go in by COPY, others by one statement.
func TestPut(t *testing.T) {
	f, s := open(t, "euclidean", "vector")
	ctx := t.Context()
	items := []store.Item{{ID: `a\1`, Path: "p\tq", Vector: []float32{1, -2.5},
		Columns: map[string]any{"n": 1.5, "s": "x\ny"}}, {ID: "b", Vector: []float32{0, 1e-9}}}
	look := answer{contains: "SELECT id", types: []uint32{text}}
	taken := answer{contains: "SELECT id", types: []uint32{text}, rows: [][]string{{"b"}}}
	find := `SELECT id FROM "kindred_photos" WHERE id = ANY('{"a\\1",b}') ORDER BY 1 LIMIT 1`
	tell := `UPDATE kindred_stores SET version = version + 1, columns = '{"n":"number","s":"text"}'::jsonb || columns ` +
		"WHERE name = 'photos'"
	copies := "COPY \"kindred_photos\" (id, path, columns, embedding) FROM STDIN\n" +
		`a\\1` + "\t" + `p\tq` + "\t" + `{"n":1.5,"s":"x\\ny"}` + "\t[1,-2.5]\nb\t\t{}\t[0,1e-09]\n"
	insert := `INSERT INTO "kindred_photos" SELECT id, path, columns::jsonb, embedding::vector FROM unnest('`
	update := " ON CONFLICT (id) DO UPDATE SET path = EXCLUDED.path, columns = EXCLUDED.columns, " +
		"embedding = EXCLUDED.embedding"
	for _, c := range []struct {
		name   string
		answer answer
		mode   store.Mode
		copies bool
		want   []string // what comes, in this order
		never  string
		exists string // the id of the error
	}{
		{"new", look, store.Insert, true, []string{"begin\n", find, copies, tell, "commit"}, "INSERT", ""},
		{"new ones replace", look, store.Replace, true, []string{copies, tell, "commit"}, "INSERT", ""},
		{"without COPY", look, store.Insert, false, []string{insert, tell, "commit"}, "ON CONFLICT", ""},
		{"some are there", taken, store.Replace, true, []string{insert, update, tell, "commit"}, "COPY", ""},
		{"none may be there", taken, store.Insert, true, []string{find, "rollback"}, "kindred_stores", "b"},
	} {
		f.setAnswers(c.answer)
		s.usesCopy = c.copies
		err := s.Put(ctx, items, c.mode)
		var exists *store.ExistsError
		if (err == nil) != (c.exists == "") || err != nil && (!errors.As(err, &exists) || exists.ID != c.exists) {
			t.Errorf("%s: %v", c.name, err)
		}
		came := f.newRequests()
		rest := came
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s: after %q there is no %q", c.name, came, want)
			}
			rest = after
		}
		if strings.Contains(came, c.never) {
			t.Errorf("%s: there is %s in %q", c.name, c.never, came)
		}
	}
	// Somebody else writes the same id between the look and the COPY.
	s.usesCopy = true
	f.setAnswers(look, answer{contains: "COPY", failed: pgproto3.ErrorResponse{Code: "23505",
		TableName: "kindred_photos",
		Detail:    "Key (id)=(b) already exists."}})
	if err := s.Put(ctx, items, store.Replace); err != nil || !strings.Contains(f.newRequests(), "ON CONFLICT") {
		t.Error(err)
	}
	var exists *store.ExistsError
	if err := s.Put(ctx, items, store.Insert); !errors.As(err, &exists) || exists.ID != "b" ||
		strings.Contains(f.newRequests(), "INSERT") {
		t.Error(err)
	}
	f.setAnswers(look, errorAnswer("UPDATE kindred_stores", "42501"))
	if err := s.Put(ctx, items, store.Insert); err == nil || !strings.HasSuffix(f.newRequests(), "rollback") {
		t.Error(err)
	}
	f.setAnswers(errorAnswer("SELECT id", "42501"))
	if err := s.Put(ctx, items, store.Insert); err == nil || strings.Contains(f.newRequests(), "COPY") {
		t.Error(err)
	}
}

// A number beyond float16 is refused by a store of these alone, and Info tells what they
// lose.
func TestHalf(t *testing.T) {
	for _, kind := range []string{"vector", "halfvec"} {
		f, s := open(t, "dot", kind)
		f.setAnswers(answer{contains: "SELECT id", types: []uint32{text}}, answer{contains: "SELECT network",
			types: []uint32{text, jsonb, int8, int8}, rows: [][]string{{"tiny", `{"b":"bool","a":"text"}`, "7", "3"}}})
		err := s.Put(t.Context(), []store.Item{{ID: "x", Vector: []float32{1, 1e5}}}, store.Insert)
		var item *store.ItemError
		if errors.As(err, &item) != (kind == "halfvec") || kind == "vector" && err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		f.newRequests()
		in, err := s.Info(t.Context())
		if err != nil || in.Items != 3 || in.Version != 7 || in.Network != "tiny" || in.Dim != 2 ||
			in.Distance != "dot" || (in.Loss == store.Float16Loss) != (kind == "halfvec") ||
			!slices.Equal(in.Columns, []store.Column{{Name: "a", Kind: store.Text}, {Name: "b", Kind: store.Bool}}) {
			t.Errorf("%+v, %v", in, err)
		}
		if came := f.newRequests(); came != `SELECT network, columns, version, (SELECT count(*) FROM "kindred_photos") `+
			"FROM kindred_stores WHERE name = 'photos'" {
			t.Error(came)
		}
	}
}

// Reading asks for no more than is wanted, and hands on what comes.
func TestReading(t *testing.T) {
	f, s := open(t, "cosine", "vector")
	ctx := t.Context()
	list := answer{contains: "embedding::text", types: []uint32{text, text, jsonb, text},
		rows: [][]string{{"a", "p", `{"n":1}`, "[1,2]"}, {"b", "", "{}", "[3,4]"}}}
	found := answer{contains: "nearest", types: []uint32{text, text, jsonb, text, float8},
		rows: [][]string{{"b", "", "{}", "[3,4]", "0.25"}, {"a", "", "{}", "[1,2]", "1.5"}}}
	f.setAnswers(found, list)
	hits, err := s.Search(ctx, store.Query{Vector: []float32{1, 2}, K: 7, Filter: "n < 2", ExcludeIDs: []string{"x'y"}})
	if err != nil || len(hits) != 2 || hits[0].ID != "b" || hits[0].Distance != 0.25 || hits[0].Vector != nil {
		t.Errorf("%+v, %v", hits, err)
	}
	if came, want := f.newRequests(), "SELECT * FROM (SELECT id, path, columns, embedding::text, embedding <=> "+
		`'[1,2]'::vector AS distance FROM "kindred_photos" WHERE CASE WHEN jsonb_typeof(columns -> 'n') = 'number' `+
		"THEN COALESCE(((columns -> 'n') #>> '{}')::float8 < '2'::float8, false) ELSE false END AND NOT (id = "+
		`ANY('{x''y}')) ORDER BY embedding <=> '[1,2]'::vector LIMIT '7') nearest ORDER BY distance, id`; came != want {
		t.Errorf("asked %s\nwant  %s", came, want)
	}
	hits, err = s.Search(ctx, store.Query{Vector: []float32{1, 2}, K: 2, Vectors: true})
	if err != nil || !slices.Equal(hits[1].Vector, []float32{1, 2}) || strings.Contains(f.newRequests(), "NOT (id") {
		t.Errorf("%+v, %v", hits, err)
	}
	page, err := s.List(ctx, store.Page{After: "a'", Limit: 5, Filter: "sold"})
	if err != nil || len(page) != 2 || page[0].Path != "p" || page[0].Vector != nil || page[0].Columns["n"] != 1.0 {
		t.Errorf("%+v, %v", page, err)
	}
	if came, want := f.newRequests(), `SELECT id, path, columns, embedding::text FROM "kindred_photos" WHERE id > `+
		"'a''' AND COALESCE((columns -> 'sold') = 'true'::jsonb, false) ORDER BY id LIMIT '5'"; came != want {
		t.Errorf("asked %s\nwant  %s", came, want)
	}
	if it, err := s.Get(ctx, "a"); err != nil || it.ID != "a" || len(it.Vector) != 2 {
		t.Errorf("%+v, %v", it, err)
	}
	n := 0
	for it, err := range s.All(ctx) {
		if n++; err != nil || len(it.Vector) != 2 {
			t.Errorf("%+v, %v", it, err)
		}
	}
	for range s.All(ctx) {
		break
	}
	if n != 2 {
		t.Errorf("%d of 2 items", n)
	}
	f.setAnswers(answer{contains: "DELETE", tag: "DELETE 3"})
	if n, err := s.Delete(ctx, []string{"a", "b"}); n != 3 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	if came := f.newRequests(); came != "begin\n"+`DELETE FROM "kindred_photos" WHERE id = ANY('{a,b}')`+
		"\nUPDATE kindred_stores SET version = version + 1 WHERE name = 'photos'\ncommit" {
		t.Error(came)
	}
}

// What the database refuses is the error of every call, and what is damaged is no item.
func TestRefused(t *testing.T) {
	f, s := open(t, "cosine", "vector")
	ctx := t.Context()
	damaged := answer{contains: "embedding::text", types: []uint32{text, text, jsonb, text},
		rows: [][]string{{"a", "p", `{"n":1}`, "[1,2]"}, {"b", "", "{", "[3,4]"}, {"c", "p", `{"n":1}`, "[1,2]"}}}
	for _, a := range []answer{errorAnswer("SELECT", "57P01"), damaged} {
		f.setAnswers(a)
		calls := map[string]func() error{
			"List": func() error { _, err := s.List(ctx, store.Page{Limit: 1, Vectors: true}); return err },
			"Search": func() error {
				_, err := s.Search(ctx, store.Query{Vector: []float32{1, 2}, K: 1})
				return err
			},
			"All": func() (last error) {
				n := 0
				for _, err := range s.All(ctx) {
					if n++; last != nil {
						t.Error("All goes on after an error")
					}
					last = err
				}
				return last
			},
		}
		for name, call := range calls {
			err := call()
			var gone *store.UnavailableError
			if err == nil || errors.As(err, &gone) != (a.failed.Code != "") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	f.setAnswers(answer{contains: "SELECT id", types: []uint32{text, text, jsonb, text}})
	var missing *store.NotFoundError
	if _, err := s.Get(ctx, "a"); !errors.As(err, &missing) || missing.ID != "a" {
		t.Error(err)
	}
	f.setAnswers(errorAnswer("DELETE", "25006"))
	if n, err := s.Delete(ctx, []string{"a"}); n != 0 || !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("%d, %v", n, err)
	}
}

// Errors of the database are those of the contract: what passes can be tried again.
func TestFailure(t *testing.T) {
	var gone *store.UnavailableError
	for _, code := range []string{"08006", "40001", "57P03", "53300"} {
		if err := storeError(fmt.Errorf("x: %w", &pgconn.PgError{Code: code})); !errors.As(err, &gone) {
			t.Errorf("%s: %v", code, err)
		}
	}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, &net.OpError{Op: "read", Err: errors.New("reset")},
		&pgconn.ConnectError{}} {
		if !errors.As(storeError(err), &gone) {
			t.Errorf("%T: %v", err, storeError(err))
		}
	}
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded, errors.New("other"),
		&pgconn.PgError{Code: "42601"}, &pgconn.PgError{Code: "5"}, &pgconn.PgError{Code: "57014"},
		&pgconn.PgError{Code: "23505"}} {
		if got := storeError(err); got != err {
			t.Errorf("%v is told as %v", err, got)
		}
	}
	if err := storeError(&pgconn.PgError{Code: "53100"}); !errors.Is(err, store.ErrFull) {
		t.Error(err)
	}
	if err := storeError(&pgconn.PgError{Code: "25006"}); !errors.Is(err, store.ErrReadOnly) {
		t.Error(err)
	}
	var exists *store.ExistsError
	err := storeError(&pgconn.PgError{Code: "23505", TableName: "t", Detail: "Key (id)=(a) b) already exists."})
	if !errors.As(err, &exists) || exists.ID != "a) b" {
		t.Error(err)
	}
}

// The longest vectors depend on the type and the graph.
func TestLongest(t *testing.T) {
	for _, c := range []struct {
		cfg  store.Config
		most int
	}{{store.Config{}, 16000}, {store.Config{Float16: true}, 16000}, {store.Config{HNSW: true}, 2000},
		{store.Config{HNSW: true, Float16: true}, 4000}} {
		for more, fits := range map[int]bool{0: true, 1: false} {
			cfg := c.cfg
			cfg.Dim = c.most + more
			if err := checkConfig("a", &cfg); (err == nil) != fits {
				t.Errorf("%+v: %v", cfg, err)
			}
		}
	}
}
