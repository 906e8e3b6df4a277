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

func (p *parser) advance() *syntaxError {
	t, err := p.lexer.next()
	if err == nil {
		p.tok = t
	}
	return err
}

func (p *parser) parseFilter() (Expr, *syntaxError) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.parseOr()
	if err == nil && p.tok.kind != tokEnd {
		err = p.unexpected("and, or, or the end")
	}
	return n, err
}

// unexpected returns the error for an unexpected token.
func (p *parser) unexpected(what string) *syntaxError {
	return &syntaxError{p.tok.offset, fmt.Sprintf("expected %s, not %v", what, p.tok)}
}

func (p *parser) parseOr() (Expr, *syntaxError) {
	parts, err := p.parseParts("or", p.parseAnd)
	if err != nil || len(parts) == 1 {
		return first(parts), err
	}
	return Or(parts), nil
}

func (p *parser) parseAnd() (Expr, *syntaxError) {
	parts, err := p.parseParts("and", p.parseNot)
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

// parseParts reads parts with a word between them.
func (p *parser) parseParts(word string, part func() (Expr, *syntaxError)) ([]Expr, *syntaxError) {
	var parts []Expr
	for {
		n, err := part()
		if err != nil {
			return nil, err
		}
		parts = append(parts, n)
		if !p.tok.isWord(word) {
			return parts, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) parseNot() (Expr, *syntaxError) {
	if p.depth++; p.depth > maxDepth {
		return nil, &syntaxError{p.tok.offset, fmt.Sprintf("nested more than %d deep", maxDepth)}
	}
	defer func() { p.depth-- }()
	switch {
	case p.tok.isWord("not"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.parseNot()
		return Not{n}, err
	case p.tok.isWord("("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.parseOr()
		if err != nil {
			return nil, err
		}
		if !p.tok.isWord(")") {
			return nil, &syntaxError{p.tok.offset, fmt.Sprintf("expected ) to close the ( before it, not %v", p.tok)}
		}
		return n, p.advance()
	}
	return p.parseCondition()
}

func (p *parser) parseCondition() (Expr, *syntaxError) {
	if p.tok.kind != tokName {
		return nil, p.unexpected("a column")
	}
	t := &Condition{Column: p.tok.text, offset: p.tok.offset}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if op := slices.Index(opNames.List[:AtLeast+1], p.tok.text); p.tok.kind == tokSign && op >= 0 {
		t.Op = Op(op)
		if err := p.advance(); err != nil {
			return nil, err
		}
		return t, p.parseValue(t)
	}
	switch {
	case p.tok.isWord("is"):
		return t, p.parseMissing(t)
	case p.tok.isWord("in"):
		t.Op = In
		return t, p.parseList(t)
	case p.tok.isWord("not"):
		t.Op = NotIn
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.tok.isWord("in") {
			return nil, p.unexpected("in")
		}
		return t, p.parseList(t)
	case p.tok.kind == tokName || p.tok.kind == tokValue:
		return nil, p.unexpected("=, !=, <, <=, >, >=, in or is after " + t.Column)
	}
	t.Op = True
	return t, nil
}

// parseValue reads one value.
func (p *parser) parseValue(t *Condition) *syntaxError {
	if p.tok.kind != tokValue {
		what := "a number, a text in quotes, true or false"
		if p.tok.kind == tokName {
			return p.unexpected(what + " (\"" + p.tok.text + "\" would be a text)")
		}
		return p.unexpected(what)
	}
	if len(t.Values) > 0 {
		first, this := KindOf(t.Values[0]), KindOf(p.tok.value)
		if this != first {
			return &syntaxError{p.tok.offset,
				fmt.Sprintf("this value is of kind %v, but the list begins with one of kind "+
					"%v", this,
					first)}
		}
	}
	text, ok := p.tok.value.(string)
	if !ok {
		text = p.tok.text
	}
	t.Values, t.valueOffsets, t.sources = append(t.Values, p.tok.value), append(t.valueOffsets, p.tok.offset),
		append(t.sources, text)
	return p.advance()
}

// parseList reads "in (...)"; the current token is "in".
func (p *parser) parseList(t *Condition) *syntaxError {
	if err := p.advance(); err != nil {
		return err
	}
	if !p.tok.isWord("(") {
		return p.unexpected("( after in")
	}
	for {
		if err := p.advance(); err != nil { // ( or ,
			return err
		}
		if err := p.parseValue(t); err != nil {
			return err
		}
		switch {
		case p.tok.isWord(")"):
			return p.advance()
		case !p.tok.isWord(","):
			return p.unexpected(", or )")
		}
	}
}

// parseMissing reads "is [not] missing"; the current token is "is".
func (p *parser) parseMissing(t *Condition) *syntaxError {
	t.Op = Missing
	if err := p.advance(); err != nil {
		return err
	}
	if p.tok.isWord("not") {
		t.Op = Present
		if err := p.advance(); err != nil {
			return err
		}
	}
	if !p.tok.isWord("missing") {
		return p.unexpected("missing")
	}
	return p.advance()
}
