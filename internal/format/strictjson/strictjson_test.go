package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheck(t *testing.T) {
	for _, s := range []string{`null`, `{"a":null}`, `{"a": null, "b" :null}`, `["null"]`, `[1,2]`, `[]`, `{"a,":null}`,
		`"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"\\ud800"`, `"\ufffd"`, `"\u0000"`, `"é猫"`,
		`"\\"`, `["\"",1]`, `["a\\", 1]`, `"\ud7ff\ue000"`, "\"\U0001f600\"", `{"[":null}`} {
		var v any
		if err := Unmarshal([]byte(s), &v); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for s, want := range map[string]string{
		`[null]`:                        "byte 1 of the JSON: null in a list is not allowed",
		`{"vector":[0.5, null ,1]}`:     "byte 16 of the JSON: null",
		"[1,\n\tnull]":                  "byte 5 of the JSON: null",
		`{"a":{"b":1},"v":[[1],null]}`:  "byte 22 of the JSON: null",
		`"\ud800"`:                      `byte 1 of the JSON: \ud800 is half of a character`,
		`{"a\udfff":1}`:                 `byte 3 of the JSON: \udfff is half`,
		`["x","\ud83dx"]`:               `byte 6 of the JSON: \ud83d is half`,
		`"\ud83d\ud83d\ude00"`:          `byte 1 of the JSON: \ud83d is half`,
		`"\ude00\ud83d"`:                `byte 1 of the JSON: \ude00 is half`,
		`"\ud83d\n\ude00"`:              `byte 1 of the JSON: \ud83d is half`,
		`"\\\ud800"`:                    `byte 3 of the JSON: \ud800 is half`,
		"\"a\xff\"":                     "byte 2 of the JSON: the byte 0xff is not UTF-8",
		"\"\xed\xa0\x80\"":              "byte 1 of the JSON: the byte 0xed is not UTF-8",
		`{"columns":{"a":"\uDBFF\u0041`: "byte 29 of the JSON: the JSON ends too early",
		`[null`:                         "byte 5 of the JSON: the JSON ends too early",
	} {
		var v any
		err := Unmarshal([]byte(s), &v)
		var wrong *Error
		if err == nil || errors.As(err, &wrong) != (want != "") || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", s, err, want)
		}
	}
}

func TestNulls(t *testing.T) {
	var v any
	if err := UnmarshalNulls([]byte(`[null, 1, null]`), &v); err != nil {
		t.Error(err)
	}
	if err := UnmarshalNulls([]byte(`[null, "\ud800"]`), &v); err == nil {
		t.Error("half a character is accepted")
	}
}

// What Unmarshal accepts comes back from encoding/json as it was: no list holds null, and
// a text has U+FFFD only where it was written.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`[null]`, `{"a":[1,{"b":null}]}`, `"\ud83d\ude00\ud800"`, "\"\xff\"", `"\\ud800"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			_ = Unmarshal(text, &v) // does not panic
			return
		}
		bad := nullInList(v)
		if utf8.Valid(text) && !bytes.Contains(bytes.ToLower(text), []byte(`\ufffd`)) &&
			!bytes.ContainsRune(text, '\ufffd') {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			bad = bad || bytes.ContainsRune(b, '\ufffd')
			if twice := repeatedKeys(text, v); (Unmarshal(text, new(any)) == nil) == bad && !twice {
				t.Errorf("%q: %v", text, Unmarshal(text, new(any)))
			}
			return
		}
		if bad && Unmarshal(text, new(any)) == nil {
			t.Errorf("%q is accepted", text)
		}
	})
}

// repeatedKeys tells whether a value has less in it than its text, so that what is
// wrong with the text may be missing from the value.
func repeatedKeys(text []byte, v any) bool {
	tokens := 0
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		tok, err := dec.Token()
		if err != nil {
			break
		}
		if _, delim := tok.(json.Delim); !delim {
			tokens++
		}
	}
	return tokens != leaves(v)
}

func leaves(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, w := range v {
			n += leaves(w)
		}
	case map[string]any:
		for _, w := range v {
			n += 1 + leaves(w)
		}
	default:
		n = 1
	}
	return n
}

func nullInList(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, w := range v {
			if w == nil || nullInList(w) {
				return true
			}
		}
	case map[string]any:
		for _, w := range v {
			if nullInList(w) {
				return true
			}
		}
	}
	return false
}
