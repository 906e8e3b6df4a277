package store

import (
	"fmt"
	"slices"
)

// parser reads a filter by recursive descent, one token ahead.
type parser struct {
	lexer
	tok   token
	depth int
}

func (p *parser) advance() *faultAt {
	t, err := p.lexer.next()
	if err == nil {
		p.tok = t
	}
	return err
}

func (p *parser) filter() (Expr, *faultAt) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err == nil && p.tok.kind != tokEnd {
		err = p.want("and, or, or the end")
	}
	return n, err
}

// want returns the error for an unexpected token.
func (p *parser) want(what string) *faultAt {
	return &faultAt{p.tok.at, fmt.Sprintf("want %s, not %v", what, p.tok)}
}

func (p *parser) or() (Expr, *faultAt) {
	parts, err := p.several("or", p.and)
	if err != nil || len(parts) == 1 {
		return first(parts), err
	}
	return Or(parts), nil
}

func (p *parser) and() (Expr, *faultAt) {
	parts, err := p.several("and", p.not)
	if err != nil || len(parts) == 1 {
		return first(parts), err
	}
	return And(parts), nil
}

func first(parts []Expr) Expr {
	if len(parts) == 0 {
		return nil
	}
	return parts[0]
}

// several reads parts with a word between them.
func (p *parser) several(word string, part func() (Expr, *faultAt)) ([]Expr, *faultAt) {
	var parts []Expr
	for {
		n, err := part()
		if err != nil {
			return nil, err
		}
		parts = append(parts, n)
		if !p.tok.is(word) {
			return parts, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) not() (Expr, *faultAt) {
	if p.depth++; p.depth > maxDepth {
		return nil, &faultAt{p.tok.at, fmt.Sprintf("nested more than %d deep", maxDepth)}
	}
	defer func() { p.depth-- }()
	switch {
	case p.tok.is("not"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.not()
		return Not{n}, err
	case p.tok.is("("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.or()
		if err != nil {
			return nil, err
		}
		if !p.tok.is(")") {
			return nil, &faultAt{p.tok.at, fmt.Sprintf("want ) to close the ( before it, not %v", p.tok)}
		}
		return n, p.advance()
	}
	return p.test()
}

func (p *parser) test() (Expr, *faultAt) {
	if p.tok.kind != tokName {
		return nil, p.want("a column")
	}
	t := &Condition{Column: p.tok.text, at: p.tok.at}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if op := slices.Index(opNames.List[:AtLeast+1], p.tok.text); p.tok.kind == tokSign && op >= 0 {
		t.Op = Op(op)
		if err := p.advance(); err != nil {
			return nil, err
		}
		return t, p.value(t)
	}
	switch {
	case p.tok.is("is"):
		return t, p.missing(t)
	case p.tok.is("in"):
		t.Op = In
		return t, p.list(t)
	case p.tok.is("not"):
		t.Op = NotIn
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.tok.is("in") {
			return nil, p.want("in")
		}
		return t, p.list(t)
	case p.tok.kind == tokName || p.tok.kind == tokValue:
		return nil, p.want("=, !=, <, <=, >, >=, in or is after " + t.Column)
	}
	t.Op = True
	return t, nil
}

// value reads one value.
func (p *parser) value(t *Condition) *faultAt {
	if p.tok.kind != tokValue {
		what := "a number, a text in quotes, true or false"
		if p.tok.kind == tokName {
			return p.want(what + " (\"" + p.tok.text + "\" would be a text)")
		}
		return p.want(what)
	}
	if len(t.Values) > 0 {
		first, this := KindOf(t.Values[0]), KindOf(p.tok.value)
		if this != first {
			return &faultAt{p.tok.at, fmt.Sprintf("this value is of kind %v, but the list begins with one of kind "+
				"%v", this,
				first)}
		}
	}
	text, ok := p.tok.value.(string)
	if !ok {
		text = p.tok.text
	}
	t.Values, t.where, t.written = append(t.Values, p.tok.value), append(t.where, p.tok.at), append(t.written, text)
	return p.advance()
}

// list reads "in (...)"; the current token is "in".
func (p *parser) list(t *Condition) *faultAt {
	if err := p.advance(); err != nil {
		return err
	}
	if !p.tok.is("(") {
		return p.want("( after in")
	}
	for {
		if err := p.advance(); err != nil { // ( or ,
			return err
		}
		if err := p.value(t); err != nil {
			return err
		}
		switch {
		case p.tok.is(")"):
			return p.advance()
		case !p.tok.is(","):
			return p.want(", or )")
		}
	}
}

// missing reads "is [not] missing"; the current token is "is".
func (p *parser) missing(t *Condition) *faultAt {
	t.Op = Missing
	if err := p.advance(); err != nil {
		return err
	}
	if p.tok.is("not") {
		t.Op = Present
		if err := p.advance(); err != nil {
			return err
		}
	}
	if !p.tok.is("missing") {
		return p.want("missing")
	}
	return p.advance()
}
