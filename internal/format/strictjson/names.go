package strictjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// JSONHolder is a type with an UnmarshalJSON of its own that says what it reads: a value of
// the type that encoding/json would read in its place.
type JSONHolder interface{ JSON() any }

// CheckFor is Check of a text that was read into v without unknown fields, and refuses
// names of objects, at any depth, that encoding/json takes for a field of a struct whatever
// their capitals: "Filter" for "filter". What a type with an UnmarshalJSON reads is not
// looked at, unless it is a Holder. The error is an *Error.
func CheckFor(text []byte, v any) error {
	return check(text, false, &nameChecker{next: reflect.TypeOf(v), fields: fields{}})
}

// nameChecker knows, along a text, the type of what comes next.
type nameChecker struct {
	open []level
	// next is the type of the next value, nil where any name may stand in it.
	next   reflect.Type
	fields fields
}

// level is an object or a list that has begun.
type level struct {
	object bool
	// names are the names of a struct's fields with their types; nil for a map, whose values
	// are of the type of.
	names map[string]reflect.Type
	of    reflect.Type
}

// begin enters an object or a list.
func (n *nameChecker) begin(object bool) {
	l := level{object: object}
	switch t := readType(n.next); {
	case t == nil:
	case t.Kind() == reflect.Struct && object:
		l.names = n.fields.lookup(t)
	case t.Kind() == reflect.Map && object, (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && !object:
		l.of = t.Elem()
	}
	n.open, n.next = append(n.open, l), l.of
}

// end leaves the innermost one.
func (n *nameChecker) end() {
	n.open, n.next = n.open[:len(n.open)-1], nil
	if len(n.open) > 0 {
		n.next = n.open[len(n.open)-1].of
	}
}

// name looks at a text that may be a name: before says what stands before it.
func (n *nameChecker) name(text []byte, at int, before byte) error {
	if len(n.open) == 0 || before != '{' && before != ',' {
		return nil
	}
	l := &n.open[len(n.open)-1]
	if !l.object || l.names == nil {
		return nil
	}
	var name string
	if err := json.Unmarshal(text, &name); err != nil {
		return err
	}
	t, ok := l.names[name]
	if !ok {
		return &Error{at, fmt.Sprintf("unknown field %q: capitals count", name)}
	}
	n.next = t
	return nil
}

// readType is the type that is read into a value of the type t, nil if that is not known.
func readType(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return t
	}
	if h, ok := reflect.New(t).Interface().(JSONHolder); ok {
		return reflect.TypeOf(h.JSON())
	}
	return nil
}

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
