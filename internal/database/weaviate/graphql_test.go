package weaviate

import (
	"encoding/json"
	"fmt"
	"strings"
)

// call is what a query of GraphQL asks: Get or Aggregate of a class, with arguments. The
// fields that it wants are a text.
type call struct {
	verb, class string
	arguments   map[string]any
	fields      string
}

// parser reads GraphQL as the driver writes it.
type parser struct {
	rest string
	err  error
}

// parse reads {VERB{CLASS(ARGUMENTS){FIELDS}}}.
func parse(text string) (call, error) {
	p := &parser{rest: text}
	var c call
	p.take("{")
	c.verb = p.word()
	p.take("{")
	c.class = p.word()
	p.take("(")
	c.arguments = p.pairs(")")
	p.take("{")
	if p.err == nil && !strings.HasSuffix(p.rest, "}}}") {
		p.err = fmt.Errorf("at %.40q: want }}}", p.rest)
	}
	c.fields = strings.TrimSuffix(p.rest, "}}}")
	return c, p.err
}

// take goes over a mark, which has to be there.
func (p *parser) take(mark string) {
	rest, ok := strings.CutPrefix(p.rest, mark)
	if !ok && p.err == nil {
		p.err = fmt.Errorf("at %.40q: want %s", p.rest, mark)
	}
	p.rest = rest
}

func (p *parser) word() string {
	end := strings.IndexFunc(p.rest, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if end < 1 {
		if p.err == nil {
			p.err = fmt.Errorf("at %.40q: want a name", p.rest)
		}
		return ""
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

// pairs are NAME:VALUE with commas between up to a mark.
func (p *parser) pairs(end string) map[string]any {
	out := map[string]any{}
	for p.err == nil {
		name := p.word()
		if _, twice := out[name]; twice {
			p.err = fmt.Errorf("the argument %s is there twice", name)
		}
		p.take(":")
		out[name] = p.value()
		if strings.HasPrefix(p.rest, end) {
			break
		}
		p.take(",")
	}
	p.take(end)
	return out
}

// value is an object, a list, a text, a number, or a word as itself.
func (p *parser) value() any {
	switch {
	case strings.HasPrefix(p.rest, "{"):
		p.take("{")
		return p.pairs("}")
	case strings.HasPrefix(p.rest, "["):
		p.take("[")
		out := []any{}
		for p.err == nil {
			out = append(out, p.value())
			if strings.HasPrefix(p.rest, "]") {
				break
			}
			p.take(",")
		}
		p.take("]")
		return out
	case p.rest != "" && strings.ContainsAny(p.rest[:1], `"-0123456789`):
		d := json.NewDecoder(strings.NewReader(p.rest))
		var v any
		if err := d.Decode(&v); err != nil {
			p.err = fmt.Errorf("at %.40q: %w", p.rest, err)
			return nil
		}
		p.rest = p.rest[d.InputOffset():]
		return v
	}
	switch word := p.word(); word {
	case "true":
		return true
	case "false":
		return false
	default:
		return word
	}
}
