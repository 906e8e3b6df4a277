package run

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/kindred-ml/kindred/internal/format/yamltext"
)

// decode sets the value at p, as key.at returns it, from a node. It is strict: a number
// where a number is wanted.
func decode(p any, n ast.Node) error {
	switch p := p.(type) {
	case *[]int:
		return decodeList(p, n)
	case *[]string:
		return decodeList(p, n)
	case *[]Group:
		return decodeList(p, n)
	case *Group:
		return p.decode(n)
	case *Switch:
		text, _ := scalar(n)
		return p.UnmarshalText([]byte(text))
	}
	text, ok := scalar(n)
	if !ok {
		return errors.New("want a single value")
	}
	return decodeText(p, text)
}

// decodeText sets a value that is not made of others.
func decodeText(p any, text string) (err error) {
	switch p := p.(type) {
	case *string:
		*p = text
	case *bool:
		if *p, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
	case *int:
		i, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 32)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("%s is out of range: %d to %d", text, math.MinInt32, math.MaxInt32)
		case err != nil:
			return fmt.Errorf("%q is not a whole number", text)
		}
		*p = int(i)
	case *uint64:
		*p, err = strconv.ParseUint(strings.ReplaceAll(text, "_", ""), 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("%s is out of range: 0 to %d", text, uint64(math.MaxUint64))
		case err != nil:
			return fmt.Errorf("%q is not a whole number from 0", text)
		}
	case *float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f-f != 0 {
			return fmt.Errorf("%q is not a number", text)
		}
		*p = f
	default:
		panic(fmt.Sprintf("run: a key of type %T", p))
	}
	return nil
}

// decodeList reads a sequence, a single value as a list of one, and a text with
// commas as a list of its parts.
func decodeList[T any](p *[]T, n ast.Node) error {
	var items []ast.Node
	if s, ok := n.(*ast.SequenceNode); ok {
		items = s.Values
	} else if text, ok := scalar(n); ok && strings.Contains(text, ",") {
		f, err := yamltext.Parse([]byte("[" + text + "]"))
		if err != nil {
			return fmt.Errorf("%q is not a list", text)
		}
		if s, ok := f.Docs[0].Body.(*ast.SequenceNode); ok {
			items = s.Values
		}
	} else {
		items = []ast.Node{n}
	}
	list := make([]T, len(items))
	for i, item := range items {
		if err := decode(&list[i], item); err != nil {
			return err
		}
	}
	*p = list
	return nil
}

// decode reads {prefix: fc, scale: 10, no_decay: true}.
func (g *Group) decode(n ast.Node) error {
	values, ok := entries(n)
	if !ok {
		return errors.New("want {key: value, ...}")
	}
	places := map[string]any{"prefix": &g.Prefix, "scale": &g.Scale, "no_decay": &g.NoDecay}
	for _, e := range values {
		key := keyText(e.Key)
		p := places[key]
		if p == nil {
			return fmt.Errorf("unknown key %q%s", key, suggest(key, []string{"prefix", "scale", "no_decay"}))
		}
		if e.Value == nil || e.Value.Type() == ast.NullType {
			continue
		}
		if err := decode(p, e.Value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// entries returns those of a mapping, which is a node of another type if it has one
// alone.
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
