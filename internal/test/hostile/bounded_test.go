package hostile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// boxFormat is a format of nested boxes: a length of four bytes, a letter, and the content.
func boxFormat(read func([]byte) (Cost, error)) *Format {
	return &Format{Name: "boxes", Order: binary.BigEndian, Write: writeBox, Read: read, Valid: []*Part{
		{Name: "r", Parts: []*Part{
			{Name: "a", Data: []byte{0, 0, 0, 3}, Numbers: []Number{{0, 4}}},
			{Name: "b", Parts: []*Part{{Name: "c", Data: []byte("text")}}},
		}},
	}}
}

func writeBox(p *Part) []byte {
	out := append([]byte{0, 0, 0, 0}, p.Name...)
	out = append(out, p.Data...)
	for _, q := range p.Parts {
		out = append(out, writeBox(q)...)
	}
	binary.BigEndian.PutUint32(out, uint32(int64(len(out))+p.Lie))
	return out
}

// TestMutation checks that mutations are the same each time, and that they repeat, nest and lie.
func TestMutation(t *testing.T) {
	f := boxFormat(nil)
	valid := f.Write(f.Valid[0])
	seen := map[string]bool{}
	long, deep, wrong, most := 0, 0, 0, 0
	for n := range uint64(2000) {
		file := f.Mutation(n)
		if !bytes.Equal(file, f.Mutation(n)) {
			t.Fatalf("mutation %d is another one the second time", n)
		}
		seen[string(file)] = true
		if len(file) > 10_000 {
			long++
		}
		if len(file) > 13 && file[4] == 'r' && bytes.Count(file[:min(len(file), 400)], []byte("b")) > 20 {
			deep++
		}
		if binary.BigEndian.Uint32(file) != uint32(len(file)) || bytes.Contains(file, []byte{0xff, 0xff, 0xff, 0xff}) {
			wrong++
		}
		most = max(most, len(file))
	}
	if !bytes.Equal(f.Write(f.Valid[0]), valid) {
		t.Error("a mutation changed the valid file")
	}
	if len(seen) < 700 || long < 50 || deep < 20 || wrong < 30 || most > 2*maxRepeated {
		t.Errorf("%d files, %d long, %d deep, %d wrong, of up to %d bytes", len(seen), long, deep, wrong, most)
	}
}

var sink []byte // so that it is allocated

// TestCheck checks that the faults of readers are found.
func TestCheck(t *testing.T) {
	take := func(n int) { sink = make([]byte, n) }
	for name, c := range map[string]struct {
		read func([]byte) (Cost, error)
		want string
	}{
		"fine":    {func([]byte) (Cost, error) { take(1 << 20); return Cost{}, nil }, ""},
		"says so": {func([]byte) (Cost, error) { take(60 << 20); return Cost{Memory: 30 << 20}, nil }, ""},
		"refuses": {func([]byte) (Cost, error) { return Cost{}, errors.New("no") }, ""},
		"takes":   {func([]byte) (Cost, error) { take(60 << 20); return Cost{Memory: 20 << 20}, nil }, "were alloc"},
		"works":   {func([]byte) (Cost, error) { return Cost{Work: 3, MostWork: 2}, nil }, "work of 3"},
		"panics":  {func([]byte) (Cost, error) { panic("x") }, "a panic: x"},
		"talks":   {func([]byte) (Cost, error) { return Cost{}, errors.New(strings.Repeat("x", 9e3)) }, "of 9000 b"},
	} {
		problem := boxFormat(c.read).check([]byte("file"), "x")
		if (problem == "") != (c.want == "") || !strings.Contains(problem, c.want) {
			t.Errorf("%s: %q, want %q", name, problem, c.want)
		}
	}
}
