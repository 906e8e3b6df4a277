package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// decodeAnswer reads an answer into out. A missing field, or a field with another kind of value, is an error that
// names the field; encoding/json would leave it empty. With gaps, null means a missing value in a list of
// numbers.
func decodeAnswer(text []byte, out any, gaps bool) error {
	unmarshal := strictjson.Unmarshal
	if gaps {
		unmarshal = strictjson.UnmarshalNulls
	}
	if err := unmarshal(text, out); err != nil {
		return err
	}
	return checkFields(text, reflect.TypeOf(out), "")
}

func fieldPlace(field string) string {
	if field == "" {
		return "it"
	}
	return field
}

// checkFields returns an error if the text lacks a field of the type that every answer has.
func checkFields(text json.RawMessage, t reflect.Type, where string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if string(text) == "null" {
		return fmt.Errorf("%s is null", fieldPlace(where))
	}
	switch {
	case t.Kind() == reflect.Struct:
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			return err
		}
		return checkFieldsOf(fields, t, where)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		var items []json.RawMessage
		if err := json.Unmarshal(text, &items); err != nil {
			return err
		}
		for i, item := range items {
			if err := checkFields(item, t.Elem(), fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkFieldsOf(fields map[string]json.RawMessage, t reflect.Type, where string) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			if err := checkFieldsOf(fields, f.Type, where); err != nil {
				return err
			}
			continue
		}
		at := strings.TrimPrefix(where+"."+name, ".")
		value, there := fields[name]
		optional := option == "omitempty" || option == "omitzero"
		switch {
		case !there && !optional:
			return fmt.Errorf("%s is missing", at)
		case !there || optional && string(value) == "null":
			continue
		}
		if err := checkFields(value, f.Type, at); err != nil {
			return err
		}
	}
	return nil
}
