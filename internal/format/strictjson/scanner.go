package strictjson

import (
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf8"
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

// scanner goes once through a text, which need not be JSON, along the types that its values are read
// into. It adds up what they take, and notes the first thing that the decoder would change silently.
type scanner struct {
	// strict refuses null in lists, unless nulls allows it, and letters that are none. known refuses
	// names without a field, exact those with other capitals.
	strict, nulls, known, exact bool

	open   []openValue
	next   reflect.Type // of the value that comes, nil if nothing of it is kept
	need   float64      // bytes
	wrong  *Error
	fields fields
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

// scan looks through a text that is read into the type t. It stops when that takes more than most bytes,
// and returns an error for values too deep in one another.
func (s *scanner) scan(text []byte, t reflect.Type, most float64) error {
	s.fields, s.need, s.next = fields{}, float64(len(text)), t
	if t == nil {
		s.next = anyType
	}
	before := byte(0) // the last byte that was no white space
	for i := 0; i < len(text) && s.need <= most; i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case ',', ':':
		case '"':
			end := s.skipString(text, i)
			if s.inObject() && (before == '{' || before == ',') {
				s.name(text[i:min(end+1, len(text))], i)
			} else {
				s.value(float64(end - i))
			}
			i = end
		case '{', '[':
			s.value(0)
			if s.open = append(s.open, openValue{object: c == '{', of: s.next}); len(s.open) > maxDepth {
				return &Error{i, fmt.Sprintf("more than %d values within one another", maxDepth)}
			}
			s.enter()
		case '}', ']':
			s.leave()
		default: // a number or a word
			if c == 'n' && !s.nulls && len(s.open) > 0 && !s.inObject() {
				s.refuse(i, "null in a list is not allowed")
			}
			s.value(0)
			for i+1 < len(text) && !isDelimiter(text[i+1]) {
				i++
			}
		}
		before = c
	}
	return nil
}

// refuse notes what is wrong at a byte, unless something was before it.
func (s *scanner) refuse(at int, reason string, args ...any) {
	if s.strict && s.wrong == nil {
		s.wrong = &Error{at, fmt.Sprintf(reason, args...)}
	}
}

// verdict is what was noted as an error.
func (s *scanner) verdict() error {
	if s.wrong == nil {
		return nil
	}
	return s.wrong
}

// isDelimiter tells what cannot stand in a number or a word.
func isDelimiter(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '"', '{', '}', '[', ']':
		return true
	}
	return false
}

func (s *scanner) inObject() bool { return len(s.open) > 0 && s.open[len(s.open)-1].object }

// value counts a value, which has a text of some bytes in quotes.
func (s *scanner) value(text float64) {
	if s.next == nil {
		return
	}
	s.need += text
	if len(s.open) > 0 {
		s.need += s.open[len(s.open)-1].size
	}
	for t := s.next; t.Kind() == reflect.Pointer; t = t.Elem() {
		s.need += float64(t.Elem().Size())
	}
	if s.next == anyType {
		s.need += valueOfAny
	}
}

// enter looks at what the elements of the object or list that has begun are read into.
func (s *scanner) enter() {
	l := &s.open[len(s.open)-1]
	t := decodedType(l.of)
	switch {
	case t == nil:
	case t.Kind() == reflect.Struct && l.object:
		l.names = s.fields.lookup(t)
	case t.Kind() == reflect.Map && l.object:
		entry := float64(t.Key().Size() + t.Elem().Size() + 1)
		l.each, l.size = t.Elem(), 2*listGrowth*entry // maps are half empty
		s.need += mapSlots * entry
	case t.Kind() == reflect.Slice && !l.object:
		l.each, l.size = t.Elem(), listGrowth*float64(t.Elem().Size())
	case t.Kind() == reflect.Array && !l.object:
		l.each = t.Elem()
	case t.Kind() == reflect.Interface:
		l.each, l.size = anyType, listGrowth*16
		if l.object {
			l.size = 2 * listGrowth * 33
			s.need += mapSlots * 33
		}
	}
	s.next = l.each
}

// leave ends the innermost one.
func (s *scanner) leave() {
	if len(s.open) > 0 {
		s.open = s.open[:len(s.open)-1]
	}
	if s.next = nil; len(s.open) > 0 {
		s.next = s.open[len(s.open)-1].each
	}
}

// name looks up what the value behind a name in quotes is read into.
func (s *scanner) name(quoted []byte, at int) {
	l := &s.open[len(s.open)-1]
	if l.names != nil {
		var exact bool
		if s.next, exact = fieldNamed(l.names, quoted); s.exact && !exact {
			s.refuse(at, "unknown field %.100s: capitals count", quoted)
		}
		return
	}
	if l.each != nil {
		s.need += float64(len(quoted))
	}
	s.next = l.each
}

// skipString returns where the string that begins at a byte ends, and notes what in it is no letter.
func (s *scanner) skipString(text []byte, begin int) int {
	i := begin + 1
	for i < len(text) && text[i] != '"' {
		switch {
		case text[i] == '\\':
			n, ok := escapeLen(text[i:])
			if !ok {
				s.refuse(i, "%s is half of a character", text[i:min(i+6, len(text))])
			}
			i += n
		case text[i] < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				s.refuse(i, "the byte %#02x is not UTF-8", text[i])
			}
			i += size
		}
	}
	return min(i, len(text))
}

// escapeLen returns the length of the escape that a text begins with, of both if it is
// the first of a pair, and whether it is a character.
func escapeLen(text []byte) (n int, ok bool) {
	unit, isUnit := codeUnit(text)
	switch {
	case !isUnit:
		return 2, true
	case unit < 0xd800 || unit > 0xdfff:
		return 6, true
	case unit > 0xdbff:
		return 6, false
	}
	low, isUnit := codeUnit(text[6:])
	if isUnit && low >= 0xdc00 && low <= 0xdfff {
		return 12, true
	}
	return 6, false
}

// codeUnit reads \uXXXX.
func codeUnit(text []byte) (unit uint64, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return unit, err == nil
}
