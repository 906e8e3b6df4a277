package keys

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/kindred-ml/kindred/internal/format/yamltext"
)

// decode sets the value at p, as Key.Pointer returns it, from a node. It does not convert between
// types: a number must be written as a number.
func decode(p any, n ast.Node) error {
	v := reflect.ValueOf(p).Elem()
	switch v.Kind() {
	case reflect.Slice:
		return decodeList(v, n)
	case reflect.Struct:
		return decodeFields(v, n)
	}
	text, ok := scalar(n)
	if p, is := p.(encoding.TextUnmarshaler); is {
		return p.UnmarshalText([]byte(text))
	}
	if !ok {
		return errors.New("want a single value")
	}
	return decodeText(p, text)
}

// decodeText sets a value of a simple type.
func decodeText(p any, text string) (err error) {
	switch p := p.(type) {
	case *string:
		*p = text
	case *bool:
		if *p, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q: must be true or false", text)
		}
	case *int:
		i, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 32)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("%s: must be %d to %d", text, math.MinInt32, math.MaxInt32)
		case err != nil:
			return fmt.Errorf("%q: must be a whole number", text)
		}
		*p = int(i)
	case *uint64:
		*p, err = strconv.ParseUint(strings.ReplaceAll(text, "_", ""), 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("%s: must be 0 to %d", text, uint64(math.MaxUint64))
		case err != nil:
			return fmt.Errorf("%q: must be a whole number, 0 or more", text)
		}
	case *float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f-f != 0 {
			return fmt.Errorf("%q: must be a number", text)
		}
		*p = f
	default:
		panic(fmt.Sprintf("keys: a value of type %T", p))
	}
	return nil
}

// decodeList reads a sequence, a single value as a list of one, and a text with
// commas as a list of its parts.
func decodeList(to reflect.Value, n ast.Node) error {
	var items []ast.Node
	if s, ok := n.(*ast.SequenceNode); ok {
		items = s.Values
	} else if text, ok := scalar(n); ok && strings.Contains(text, ",") {
		f, err := yamltext.Parse([]byte("[" + text + "]"))
		if err != nil {
			return fmt.Errorf("%q: must be a list, such as [1, 5, 10]", text)
		}
		if s, ok := f.Docs[0].Body.(*ast.SequenceNode); ok {
			items = s.Values
		}
	} else {
		items = []ast.Node{n}
	}
	list := reflect.MakeSlice(to.Type(), len(items), len(items))
	for i, item := range items {
		if err := decode(list.Index(i).Addr().Interface(), item); err != nil {
			return err
		}
	}
	to.Set(list)
	return nil
}

// decodeFields reads {key: value, ...} into the fields whose yaml tags are the keys.
func decodeFields(to reflect.Value, n ast.Node) error {
	values, ok := entries(n)
	if !ok {
		return errors.New("want {key: value, ...}")
	}
	var names []string
	for i := range to.NumField() {
		names = append(names, to.Type().Field(i).Tag.Get("yaml"))
	}
	for _, e := range values {
		key := keyText(e.Key)
		i := slices.Index(names, key)
		if i < 0 {
			return fmt.Errorf("unknown key %q%s", key, suggest(key, names))
		}
		if e.Value == nil || e.Value.Type() == ast.NullType {
			continue
		}
		if err := decode(to.Field(i).Addr().Interface(), e.Value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// entries returns the entries of a mapping. A mapping with a single entry is a node of another
// type.
func entries(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// scalar returns the text of a single value as it was written.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}
