package strictjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// fields holds the fields of the structs that occurred, by their names in JSON.
type fields map[reflect.Type]map[string]reflect.Type

// lookup returns the fields of a struct.
func (f fields) lookup(t reflect.Type) map[string]reflect.Type {
	if f[t] == nil {
		f[t] = map[string]reflect.Type{}
		fieldsOf(t, f[t])
	}
	return f[t]
}

// fieldsOf collects what the fields of a struct are called in JSON.
func fieldsOf(t reflect.Type, into map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-":
		case f.Anonymous && tag == "" && elementType(f.Type).Kind() == reflect.Struct:
			fieldsOf(elementType(f.Type), into)
		case tag != "":
			into[tag] = f.Type
		case f.IsExported():
			into[f.Name] = f.Type
		}
	}
}

// elementType is what a pointer points to, and any other type itself.
func elementType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// fieldNamed is the type of the field that encoding/json takes for a name in quotes, nil for none, and
// whether the field is called exactly so.
func fieldNamed(fields map[string]reflect.Type, quoted []byte) (t reflect.Type, exact bool) {
	name := string(quoted[min(1, len(quoted)):max(1, len(quoted)-1)])
	if slices.Contains(quoted, '\\') {
		_ = json.Unmarshal(quoted, &name) // the decoder says what is wrong with it
	}
	if t, exact = fields[name]; exact {
		return t, true
	}
	for field, t := range fields {
		if strings.EqualFold(field, name) {
			return t, false
		}
	}
	return nil, false
}

// decodedType is the type that an object or a list is decoded into that is read into the type t; nil if
// that is not known, as of a type that reads itself and does not say what.
func decodedType(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return nil
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		if h, ok := reflect.New(t).Interface().(JSONHolder); ok {
			return reflect.TypeOf(h.JSON())
		}
		return nil
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return nil
	}
	return t
}
