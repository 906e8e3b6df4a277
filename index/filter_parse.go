package index

import "fmt"

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

func (p *parser) filter() (node, *faultAt) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err == nil && p.tok.kind != tokEnd {
		err = p.want("and, or, or the end")
	}
	return n, err
}

// want is the error of a token that is something else than it should be.
func (p *parser) want(what string) *faultAt {
	return &faultAt{p.tok.at, fmt.Sprintf("want %s, not %v", what, p.tok)}
}

func (p *parser) or() (node, *faultAt) {
	parts, err := p.several("or", p.and)
	if err != nil || len(parts) == 1 {
		return first(parts), err
	}
	return &anyOf{parts}, nil
}

func (p *parser) and() (node, *faultAt) {
	parts, err := p.several("and", p.not)
	if err != nil || len(parts) == 1 {
		return first(parts), err
	}
	return &allOf{parts}, nil
}

func first(parts []node) node {
	if len(parts) == 0 {
		return nil
	}
	return parts[0]
}

// several reads parts with a word between them.
func (p *parser) several(word string, part func() (node, *faultAt)) ([]node, *faultAt) {
	var parts []node
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

func (p *parser) not() (node, *faultAt) {
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
		return &notOf{n}, err
	case p.tok.is("("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.or()
		if err != nil {
			return nil, err
		}
		if !p.tok.is(")") {
			return nil, &faultAt{p.tok.at, fmt.Sprintf("want ) for the ( before it, not %v", p.tok)}
		}
		return n, p.advance()
	}
	return p.test()
}

func (p *parser) test() (node, *faultAt) {
	if p.tok.kind != tokName {
		return nil, p.want("a column")
	}
	t := &test{column: p.tok.text, at: p.tok.at}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokSign {
		if op, ok := comparisons[p.tok.text]; ok {
			t.op = op
			if err := p.advance(); err != nil {
				return nil, err
			}
			return t, p.value(t)
		}
	}
	switch {
	case p.tok.is("is"):
		return t, p.missing(t)
	case p.tok.is("in"):
		t.op = opIn
		return t, p.list(t)
	case p.tok.is("not"):
		t.op = opNotIn
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.tok.is("in") {
			return nil, p.want("in")
		}
		return t, p.list(t)
	case p.tok.kind == tokName || p.tok.kind == tokValue:
		return nil, p.want("=, !=, <, <=, >, >=, in or is after " + t.column)
	}
	t.op = opTrue
	return t, nil
}

// value reads one value.
func (p *parser) value(t *test) *faultAt {
	if p.tok.kind != tokValue {
		what := "a number, a text in quotes, true or false"
		if p.tok.kind == tokName {
			return p.want(what + " (\"" + p.tok.text + "\" would be a text)")
		}
		return p.want(what)
	}
	t.values, t.where = append(t.values, p.tok.value), append(t.where, p.tok.at)
	return p.advance()
}

// list reads in (...), of which in is the token.
func (p *parser) list(t *test) *faultAt {
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

// missing reads is [not] missing, of which is is the token.
func (p *parser) missing(t *test) *faultAt {
	t.op = opMissing
	if err := p.advance(); err != nil {
		return err
	}
	if p.tok.is("not") {
		t.op = opPresent
		if err := p.advance(); err != nil {
			return err
		}
	}
	if !p.tok.is("missing") {
		return p.want("missing")
	}
	return p.advance()
}
