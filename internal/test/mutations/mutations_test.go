package mutations

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestMutations checks that mutations are the same each time, differ from each other and from the
// valid texts, and that some of them keep the format.
func TestMutations(t *testing.T) {
	r := &Reader{Name: "x", Valid: []string{`{"a": [1, 2, {"b": "c"}], "d": null}`}}
	parts := token.FindAllString(r.Valid[0], -1)
	seen := map[string]bool{}
	valid, deep, long := 0, 0, 0
	for n := range uint64(2000) {
		text := r.Mutation(n, parts)
		if !bytes.Equal(text, r.Mutation(n, parts)) {
			t.Fatalf("mutation %d is another one the second time", n)
		}
		seen[string(text)] = true
		if json.Valid(text) && string(text) != r.Valid[0] {
			valid++
		}
		if strings.Contains(string(text), "[[[[[[[[") {
			deep++
		}
		if len(text) > 5000 {
			long++
		}
	}
	if len(seen) < 1500 || valid < 150 || deep < 20 || long < 50 {
		t.Errorf("%d texts, %d of them JSON, %d deep, %d long", len(seen), valid, deep, long)
	}
}

// TestTry checks that Try finds the faults of readers.
func TestTry(t *testing.T) {
	for name, c := range map[string]struct {
		read func([]byte) error
		want string
	}{
		"fine":     {func([]byte) error { return nil }, ""},
		"refuses":  {func([]byte) error { return errors.New("no: want another") }, ""},
		"panics":   {func([]byte) error { panic("x") }, "a panic: x"},
		"silent":   {func([]byte) error { return errors.New(" ") }, "without a message"},
		"talks":    {func([]byte) error { return errors.New(strings.Repeat("x", 9000)) }, "an error of 9000 bytes"},
		"internal": {func([]byte) error { return errors.New("reflect: call of x") }, "about the program's internals"},
		"takes": {func([]byte) error {
			for range 100 {
				sink = make([]byte, 1<<20)
			}
			return nil
		}, "bytes were allocated"},
	} {
		r := Reader{Name: name, Read: c.read}
		problem := r.try([]byte("text"), "x")
		if (problem == "") != (c.want == "") || !strings.Contains(problem, c.want) {
			t.Errorf("%s: %q, want %q", name, problem, c.want)
		}
	}
}

var sink []byte // so that it is allocated
