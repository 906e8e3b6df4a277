package strictjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// CheckNames refuses names of the outermost object that encoding/json accepts for a field
// of the struct v (or *v) despite other capitals: "Filter" for "filter". The text must
// have been read into v without unknown fields. The error is an *Error.
func CheckNames(text []byte, v any) error {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	known := map[string]bool{}
	names(t, known)
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			n, err := checkString(text, i)
			if err != nil {
				return err
			}
			if depth == 1 && named(text[i+n+1:]) {
				var name string
				if err := json.Unmarshal(text[i:i+n+1], &name); err != nil {
					return err
				}
				if !known[name] {
					return &Error{i, fmt.Sprintf("unknown field %q: capitals count", name)}
				}
			}
			i += n
		}
	}
	return nil
}

// named tells whether a colon comes next.
func named(rest []byte) bool {
	for _, c := range rest {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == ':'
		}
	}
	return false
}

// names collects what the fields of a struct are called in JSON.
func names(t reflect.Type, into map[string]bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct:
			names(f.Type, into)
		case tag != "" && tag != "-":
			into[tag] = true
		case f.IsExported():
			into[f.Name] = true
		}
	}
}
