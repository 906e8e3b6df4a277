// Package yamltext parses untrusted YAML within bounds: the underlying parser
// recurses into nested values and copies aliases without any limit.
//
// In: a file or its text. Out: its syntax tree, or an error that says what is too
// large, too deep or not supported.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

const (
	// maxText bounds a text in bytes. A configuration with every key has 5 KB.
	maxText = 1 << 20
	// maxDepth bounds values within values.
	maxDepth = 100
)

// ReadFile returns the text of a regular file, cleaned by Clean.
func ReadFile(path string) ([]byte, error) {
	text, err := fileinfo.ReadAtMost(path, "a text of YAML", maxText)
	if err != nil {
		return nil, err
	}
	if text, err = Clean(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

// Clean drops a byte order mark and the carriage returns before line ends. A text
// that is too long or nested too deeply is an error.
func Clean(text []byte) ([]byte, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("more than %d bytes of YAML", maxText)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	// Brackets open values within values, and so do dashes, question marks, tags
	// and anchors that stand before one another. Those in quotes and comments are
	// counted too: a hundred of them are not to be expected.
	brackets, marks, line := 0, 0, 1
	word := true // the next byte begins a word
	for i, c := range text {
		switch c {
		case '[', '{':
			brackets++
		case ']', '}':
			brackets = max(brackets-1, 0)
		}
		if space := c == ' ' || c == '\n' || c == '\t' || c == '\r'; space || word {
			switch {
			case space:
			case c == '!' || c == '&' || (c == '-' || c == '?') &&
				(i+1 == len(text) || strings.IndexByte(" \n\t\r", text[i+1]) >= 0):
				marks++
			default:
				marks = 0
			}
			word = space
		}
		if c == '\n' {
			line++
		}
		if brackets > maxDepth || marks > maxDepth {
			return nil, fmt.Errorf("line %d: values are nested more than %d deep", line, maxDepth)
		}
	}
	return text, nil
}

// Parse cleans and parses a text. Anchors, aliases and merged keys are errors.
func Parse(text []byte) (f *ast.File, err error) {
	if text, err = Clean(text); err != nil {
		return nil, err
	}
	defer func() { // the parser panics on some malformed texts
		if r := recover(); r != nil {
			f, err = nil, fmt.Errorf("not valid YAML (%v)", r)
		}
	}()
	f, err = parser.ParseBytes(text, 0)
	if err != nil {
		return nil, errors.New(strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	for _, doc := range f.Docs {
		if doc.Body == nil {
			continue
		}
		var v aliasFinder
		ast.Walk(&v, doc.Body)
		if v.found != nil {
			return nil, fmt.Errorf("line %d: anchors and aliases (&name, *name, <<) are not read: write the value out",
				v.found.GetToken().Position.Line)
		}
	}
	return f, nil
}

// aliasFinder looks for what makes a value stand in several places.
type aliasFinder struct{ found ast.Node }

func (r *aliasFinder) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		if r.found == nil {
			r.found = n
		}
		return nil
	}
	return r
}
