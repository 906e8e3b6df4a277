package strictjson

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// maxDepth bounds values within values.
const maxDepth = 200

// What a value takes in memory besides the bytes of its text.
const (
	// listGrowth is how many times its size an element of a list takes while the list grows: the
	// old list and the new one, which is a quarter longer.
	listGrowth = 2.25
	// mapSlots is for how many entries a map has room at least, and valueOfAny what a value of a
	// type that is not known before takes besides.
	mapSlots   = 8
	valueOfAny = 48
)

// CheckSize returns an error if a text has values deeper than 200 within one another, or if
// decoding it into v would take more memory than the limit of package budget: an element of
// two bytes, {}, can take hundreds. The text need not be JSON. what names it in the error.
func CheckSize(what string, text []byte, v any) error {
	limit := budget.Limit()
	need, err := cost(text, v, float64(limit))
	if err == nil && need > float64(limit) {
		err = &budget.Error{What: what, Limit: limit}
	}
	return err
}

// cost is what a text and what is decoded of it take. It stops when that is more than most.
func cost(text []byte, v any, most float64) (need float64, err error) {
	p := costCounter{known: fields{}, need: float64(len(text))}
	p.begin(reflect.TypeOf(v))
	before := byte(0) // the last byte that was no white space
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case ',', ':':
		case '"':
			end := skipString(text, i)
			if p.inObject() && (before == '{' || before == ',') {
				p.name(text[i:min(end+1, len(text))])
			} else {
				p.value(float64(end - i))
			}
			i = end
		case '{', '[':
			p.value(0)
			if p.open = append(p.open, openValue{object: c == '{', of: p.next}); len(p.open) > maxDepth {
				return 0, &Error{i, fmt.Sprintf("more than %d values within one another", maxDepth)}
			}
			p.enter()
		case '}', ']':
			p.leave()
		default: // a number or a word
			p.value(0)
			for i+1 < len(text) && !isDelimiter(text[i+1]) {
				i++
			}
		}
		if before = c; p.need > most {
			break
		}
	}
	return p.need, nil
}

// isDelimiter tells what cannot stand in a number or a word.
func isDelimiter(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '"', '{', '}', '[', ']':
		return true
	}
	return false
}

// skipString returns where the string that begins at a byte ends.
func skipString(text []byte, begin int) int {
	for i := begin + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// costCounter adds up what the values of a text take, along the types that they are read into.
type costCounter struct {
	open  []openValue
	next  reflect.Type // of the value that comes, nil if nothing of it is kept
	need  float64
	known fields
}

// openValue is an object or a list that has begun, which is read into the type of.
type openValue struct {
	object bool
	of     reflect.Type
	names  map[string]reflect.Type // of the fields of a struct; nil for other types
	// each is the type of an element, nil if names tell it, and size what one takes.
	each reflect.Type
	size float64
}

// anyType is the type of values that are kept as they are, whatever they are.
var anyType = reflect.TypeFor[any]()

func (p *costCounter) begin(t reflect.Type) {
	if p.next = t; t == nil {
		p.next = anyType
	}
}

func (p *costCounter) inObject() bool { return len(p.open) > 0 && p.open[len(p.open)-1].object }

// value counts a value, which has a text of some bytes in quotes.
func (p *costCounter) value(text float64) {
	if p.next == nil {
		return
	}
	p.need += text
	if len(p.open) > 0 {
		p.need += p.open[len(p.open)-1].size
	}
	for t := p.next; t.Kind() == reflect.Pointer; t = t.Elem() {
		p.need += float64(t.Elem().Size())
	}
	if p.next == anyType {
		p.need += valueOfAny
	}
}

// enter looks at what the elements of the object or list that has begun are read into.
func (p *costCounter) enter() {
	l := &p.open[len(p.open)-1]
	t := decodedType(l.of)
	switch {
	case t == nil:
	case t.Kind() == reflect.Struct && l.object:
		l.names = p.known.lookup(t)
	case t.Kind() == reflect.Map && l.object:
		entry := float64(t.Key().Size() + t.Elem().Size() + 1)
		l.each, l.size = t.Elem(), 2*listGrowth*entry // maps are half empty
		p.need += mapSlots * entry
	case t.Kind() == reflect.Slice && !l.object:
		l.each, l.size = t.Elem(), listGrowth*float64(t.Elem().Size())
	case t.Kind() == reflect.Array && !l.object:
		l.each = t.Elem()
	case t.Kind() == reflect.Interface:
		l.each, l.size = anyType, listGrowth*16
		if l.object {
			l.size = 2 * listGrowth * 33
			p.need += mapSlots * 33
		}
	}
	p.next = l.each
}

// leave ends the innermost one.
func (p *costCounter) leave() {
	if len(p.open) > 0 {
		p.open = p.open[:len(p.open)-1]
	}
	if p.next = nil; len(p.open) > 0 {
		p.next = p.open[len(p.open)-1].each
	}
}

// name looks up what the value behind a name is read into.
func (p *costCounter) name(quoted []byte) {
	l := &p.open[len(p.open)-1]
	if l.names != nil {
		p.next = fieldNamed(l.names, quoted)
		return
	}
	if l.each != nil {
		p.need += float64(len(quoted))
	}
	p.next = l.each
}

// fieldNamed is the type of the field that encoding/json takes for a name, nil for none.
func fieldNamed(fields map[string]reflect.Type, quoted []byte) reflect.Type {
	name := quoted[min(1, len(quoted)):max(1, len(quoted)-1)]
	if t, ok := fields[string(name)]; ok {
		return t
	}
	var text string
	if slices.Contains(name, '\\') && json.Unmarshal(quoted, &text) == nil {
		name = []byte(text)
	}
	for field, t := range fields {
		if strings.EqualFold(field, string(name)) {
			return t
		}
	}
	return nil
}

// decodedType is the type that an object or a list is decoded into that is read into the type t; nil if
// that is not known, as of a type that reads itself.
func decodedType(t reflect.Type) reflect.Type {
	if t = readType(t); t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	return t
}
