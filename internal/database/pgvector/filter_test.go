package pgvector

import (
	"fmt"
	"testing"
)

// A filter becomes SQL that holds nothing of its names and values.
func TestCondition(t *testing.T) {
	var w sqlBuilder
	sql, err := w.condition("not (price < 2.5 or `a'b` != 'x\"y') and path is missing and sold")
	want := `((NOT (CASE WHEN jsonb_typeof(columns -> $1) = 'number' THEN ` +
		`COALESCE(((columns -> $1) #>> '{}')::float8 < $2::float8, false) ELSE false END OR ` +
		`CASE WHEN jsonb_typeof(columns -> $3) = 'string' THEN ` +
		`COALESCE(((columns -> $3) #>> '{}') COLLATE "C" <> $4::text, false) ELSE false END)) AND ` +
		`(NULLIF(path, '') COLLATE "C" IS NULL) AND COALESCE((columns -> $5) = 'true'::jsonb, false))`
	if err != nil || sql != want {
		t.Errorf("%s, %v\nwant\n%s", sql, err, want)
	}
	if have := fmt.Sprintf("%q", w.args); have != `["price" %!q(float64=2.5) "a'b" "x\"y" "sold"]` {
		t.Error("arguments", have)
	}
	if sql, err := w.condition(""); sql != "true" || err != nil {
		t.Error(sql, err)
	}
}

// A number is compared with numbers, and as it is written with texts, such as classes.
func TestConditionOfLiterals(t *testing.T) {
	var w sqlBuilder
	sql, err := w.condition("label in (1, 2.10) and id = 7")
	want := `((CASE WHEN jsonb_typeof(columns -> $1) = 'number' THEN ` +
		`COALESCE(((columns -> $1) #>> '{}')::float8 IN ($2::float8, $3::float8), false) ELSE false END OR ` +
		`CASE WHEN jsonb_typeof(columns -> $1) = 'string' THEN ` +
		`COALESCE(((columns -> $1) #>> '{}') COLLATE "C" IN ($4::text, $5::text), false) ELSE false END) AND ` +
		`COALESCE(NULLIF(id, '') COLLATE "C" = $6::text, false))`
	if err != nil || sql != want {
		t.Errorf("%s, %v\nwant\n%s", sql, err, want)
	}
	if have := fmt.Sprintf("%q", w.args[3:]); have != `["1" "2.10" "7"]` {
		t.Error("arguments", have)
	}
}
