package pgvector

import (
	"fmt"
	"testing"
)

// A filter becomes SQL that holds nothing of its names and values.
func TestCondition(t *testing.T) {
	var w where
	sql, err := w.condition("not (price in (1, 2.5) or `a'b` != 'x\"y') and path is missing and sold")
	want := `((NOT (CASE WHEN jsonb_typeof(columns -> $1) = 'number' THEN ` +
		`COALESCE(((columns -> $1) #>> '{}')::float8 IN ($2::float8, $3::float8), false) ELSE false END OR ` +
		`CASE WHEN jsonb_typeof(columns -> $4) = 'string' THEN ` +
		`COALESCE(((columns -> $4) #>> '{}') COLLATE "C" <> $5::text, false) ELSE false END)) AND ` +
		`(NULLIF(path, '') COLLATE "C" IS NULL) AND COALESCE((columns -> $6) = 'true'::jsonb, false))`
	if err != nil || sql != want {
		t.Errorf("%s, %v\nwant\n%s", sql, err, want)
	}
	if have := fmt.Sprintf("%q", w.args); have != `["price" %!q(float64=1) %!q(float64=2.5) "a'b" "x\"y" "sold"]` {
		t.Error("arguments", have)
	}
	if sql, err := w.condition(""); sql != "true" || err != nil {
		t.Error(sql, err)
	}
}
