// Package hostile gives readers of binary formats hostile files that are valid in structure. A
// format describes a valid file as a tree of parts: tags, segments, chunks, boxes. Mutations
// change the numbers in the parts, repeat, nest, move and drop parts, and make their lengths
// wrong. A reader must return, without a panic; it must allocate no more bytes than it said it
// would, and do no more work than it said it would. Work is what the reader counts, such as blocks
// and passes: no test depends on a clock.
package hostile

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// Part is a part of a file.
type Part struct {
	// Name is what Format.Write needs to know of a part: a tag, a marker, the letters of a chunk.
	Name string
	Data []byte
	// Numbers are the places of the counts, sizes, offsets and types in Data. If it is empty,
	// mutations take any two, four or eight bytes for a number.
	Numbers []Number
	// Parts are inside the part, after Data.
	Parts []*Part
	// Lie is what Format.Write adds to the part's length where the file states it.
	Lie int64
}

// Number is the place of a number of Size bytes in Data: 1, 2, 4 or 8.
type Number struct{ At, Size int }

// Cost is what a reader said of a file before it decoded it, and the work that it did.
type Cost struct {
	Memory   int64 // bytes that decoding takes at most; 0 for a file that is refused by its header
	Work     int64 // in units of the format
	MostWork int64
}

// Format is a format and its reader.
type Format struct {
	Name  string
	Order binary.ByteOrder // of numbers
	// Valid are files that are read without an error.
	Valid []*Part
	// Write makes a file of a tree. It fills in lengths, offsets and checksums.
	Write func(*Part) []byte
	// Read opens and decodes a file.
	Read func(file []byte) (Cost, error)
}

const (
	defaultMutations = 300    // number of mutations for a format
	longMutations    = 10_000 // with KINDRED_LONG
	// A reader may allocate base plus each times the length of the file to read its structure, and
	// times the memory that it asked for: buffers are allocated again as they grow.
	base, each, allowedTimes = 4 << 20, 64, 2
	// limit is the limit of package budget.
	limit = 256 << 20
	// hangTime is the time after which the test ends with the number of the mutation.
	hangTime = 2 * time.Minute
	// maxRepeated is the size in bytes that repeated parts of a mutation do not exceed.
	maxRepeated = 1 << 18
	maxMessage  = 4000 // longest error in bytes
)

// Try reads the valid files, and then mutations of them, which are the same every time. A failure
// names the number of the mutation.
func Try(t *testing.T, f *Format) {
	t.Helper()
	budgettest.Limit(t, limit)
	for i, valid := range f.Valid {
		if problem := f.check(f.Write(valid), fmt.Sprint("valid file ", i)); problem != "" {
			t.Fatalf("valid file %d: %s", i, problem)
		}
		if _, err := f.Read(f.Write(valid)); err != nil {
			t.Fatalf("valid file %d is refused: %v", i, err)
		}
	}
	n := defaultMutations
	if os.Getenv("KINDRED_LONG") != "" {
		n = longMutations
	}
	read, failures := 0, 0
	for k := range n {
		file := f.Mutation(uint64(k))
		if problem := f.check(file, fmt.Sprint("mutation ", k)); problem != "" {
			t.Errorf("mutation %d, %d bytes: %s", k, len(file), problem)
			if failures++; failures == 5 {
				return
			}
			continue
		}
		if _, err := f.Read(file); err == nil {
			read++
		}
	}
	t.Logf("%s: %d mutations, %d of them are read", f.Name, n, read)
	if read < n/50 { // then mutations show little of the decoder
		t.Errorf("only %d of %d mutations are read", read, n)
	}
}

// Check reads a file that is not a mutation. A failure names it.
func (f *Format) Check(t *testing.T, which string, file []byte) {
	t.Helper()
	budgettest.Limit(t, limit)
	if problem := f.check(file, which); problem != "" {
		t.Errorf("%s, %d bytes: %s", which, len(file), problem)
	}
}

// Fuzz reads mutations by their numbers.
func Fuzz(f *testing.F, format *Format) {
	for n := range uint64(20) {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n uint64) {
		budgettest.Limit(t, limit)
		file := format.Mutation(n)
		if problem := format.check(file, fmt.Sprint("mutation ", n)); problem != "" {
			t.Errorf("mutation %d, %d bytes: %s", n, len(file), problem)
		}
	})
}

// check reads a file and returns what went wrong. which is the file's name, for a reader that hangs.
func (f *Format) check(file []byte, which string) (problem string) {
	watch := time.AfterFunc(hangTime, func() { panic(fmt.Sprintf("%s, %s: no end after %v", f.Name, which, hangTime)) })
	defer watch.Stop()
	defer func() {
		if v := recover(); v != nil {
			problem = fmt.Sprintf("a panic: %v\n%s", v, debug.Stack())
		}
	}()
	var cost Cost
	var err error
	taken := budgettest.Allocated(func() { cost, err = f.Read(file) })
	switch most := base + each*int64(len(file)) + allowedTimes*cost.Memory; {
	case taken > most:
		return fmt.Sprintf("%d bytes were allocated: at most %d allowed, as the reader said %d; error %v", taken, most,
			cost.Memory, err)
	case cost.Work > cost.MostWork:
		return fmt.Sprintf("work of %d: the reader said at most %d; error %v", cost.Work, cost.MostWork, err)
	case err != nil && len(err.Error()) > maxMessage:
		return fmt.Sprintf("an error of %d bytes: %.300q", len(err.Error()), err)
	}
	return ""
}

// Mutation returns the file of the n-th mutation.
func (f *Format) Mutation(n uint64) []byte {
	h := fnv.New64a()
	h.Write([]byte(f.Name))
	m := mutation{Rand: rand.New(rand.NewPCG(h.Sum64(), n)), Format: f}
	root := f.Valid[m.IntN(len(f.Valid))].clone()
	for range 1 + m.IntN(1+m.IntN(5)) {
		m.change(root)
	}
	return f.Write(root)
}

func (p *Part) clone() *Part {
	c := *p
	c.Data = append([]byte(nil), p.Data...)
	c.Parts = make([]*Part, len(p.Parts))
	for i, q := range p.Parts {
		c.Parts[i] = q.clone()
	}
	return &c
}

// size is the number of bytes in a tree, about.
func (p *Part) size() int {
	n := len(p.Data) + 8
	for _, q := range p.Parts {
		n += q.size()
	}
	return n
}

// partPlace is where a part is in a tree.
type partPlace struct {
	in *Part
	i  int
}

func (p partPlace) part() *Part { return p.in.Parts[p.i] }

// places lists all parts inside p.
func (p *Part) places(out []partPlace) []partPlace {
	for i, q := range p.Parts {
		out = q.places(append(out, partPlace{p, i}))
	}
	return out
}

// mutation makes the changes of one mutation.
type mutation struct {
	*rand.Rand
	*Format
}

// change makes one change to a tree.
func (m *mutation) change(root *Part) {
	all := root.places(nil)
	if len(all) == 0 || m.IntN(12) == 0 {
		m.changeNumber(root)
		return
	}
	at := all[m.IntN(len(all))]
	p := at.part()
	room := max(0, maxRepeated-root.size())
	switch m.IntN(12) {
	case 0: // many of a part
		times := min(1<<m.IntN(17), room/p.size())
		many := make([]*Part, 0, len(at.in.Parts)+times)
		many = append(many, at.in.Parts[:at.i]...)
		for range times {
			many = append(many, p.clone())
		}
		at.in.Parts = append(many, at.in.Parts[at.i:]...)
	case 1:
		at.in.Parts = append(at.in.Parts[:at.i:at.i], at.in.Parts[at.i+1:]...)
	case 2: // nested in itself, or in a part around it
		around := p
		if m.IntN(2) == 0 && at.in != root {
			around = at.in
		}
		inner := p.clone()
		for range min(1<<m.IntN(12), room/around.size()/2) {
			outer := *around
			outer.Parts = []*Part{inner}
			inner = &outer
		}
		at.in.Parts[at.i] = inner
	case 3: // a part in another's place
		other := all[m.IntN(len(all))].part().clone()
		if other.size() <= room {
			at.in.Parts[at.i] = other
		}
	case 4: // a part of another file
		if others := m.Valid[m.IntN(len(m.Valid))].places(nil); len(others) > 0 {
			at.in.Parts[at.i] = others[m.IntN(len(others))].part().clone()
		}
	case 5: // a long or a short part
		if n := m.IntN(1 << m.IntN(17)); n < len(p.Data) || len(p.Data) == 0 {
			p.Data = p.Data[:min(n, len(p.Data))]
		} else {
			for n = min(n, room); len(p.Data) < n; {
				p.Data = append(p.Data, p.Data[:min(len(p.Data), n-len(p.Data))]...)
			}
		}
	case 6:
		p.Lie = m.value(int64(len(p.Data)), 4) - int64(len(p.Data))
	default:
		m.changeNumber(p)
	}
}

// changeNumber changes one number of a part, or several.
func (m *mutation) changeNumber(p *Part) {
	if len(p.Data) == 0 {
		return
	}
	for range 1 + m.IntN(2) {
		n := Number{At: m.IntN(len(p.Data)), Size: 1 << m.IntN(4)}
		if len(p.Numbers) > 0 {
			n = p.Numbers[m.IntN(len(p.Numbers))]
		}
		if n.At+n.Size > len(p.Data) {
			continue
		}
		b := p.Data[n.At : n.At+n.Size]
		switch n.Size {
		case 1:
			b[0] = byte(m.value(int64(b[0]), 1))
		case 2:
			m.Order.PutUint16(b, uint16(m.value(int64(m.Order.Uint16(b)), 2)))
		case 4:
			m.Order.PutUint32(b, uint32(m.value(int64(m.Order.Uint32(b)), 4)))
		default:
			m.Order.PutUint64(b, uint64(m.value(int64(m.Order.Uint64(b)), 8)))
		}
	}
}

// value is a number in place of another one.
func (m *mutation) value(old int64, size int) int64 {
	switch m.IntN(10) {
	case 0:
		return 0
	case 1:
		return -1 // the largest
	case 2:
		return 1<<(8*size-1) - int64(m.IntN(2))
	case 3:
		return old - 1
	case 4:
		return old + 1
	case 5:
		return old << m.IntN(16)
	case 6:
		return old >> m.IntN(8)
	case 7:
		return 1 << m.IntN(8*size)
	case 8:
		return int64(m.IntN(20))
	}
	return int64(m.Uint64())
}
