package powertest

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// State is a possible content of the disk after a loss of power.
type State struct {
	// Steps is the number of steps that had been made.
	Steps int
	// Files is the content of the files, by path below the folder; the paths of folders end
	// in a slash.
	Files map[string][]byte
}

// Write writes the state to an empty folder.
func (s *State) Write(t testing.TB, dir string) {
	t.Helper()
	for name, b := range s.Files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(to, 0o777); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// maxExhaustive is the largest number of changes that are not durable of which all subsets are tried.
const maxExhaustive = 5

// States yields the possible contents of the disk if the machine stops after each of the
// recorded steps, from the first on. Of the changes that are not durable the disk holds
// nothing, each prefix, each change alone, all except one, and every subset if there are few.
// At each step it yields more states, chosen at random, in which writes arrive in part. No
// state is repeated after the same step.
func (d *Disk) States(seed uint64, more int, yield func(s *State) bool) {
	rng := rand.New(rand.NewPCG(seed, 19))
	v := newVolume(d.begin)
	for at := 0; ; at++ {
		seen := make(map[uint64]bool)
		try := func(by chooser) bool {
			s := &State{Steps: at, Files: v.state(by)}
			sum := s.Sum()
			if seen[sum] {
				return true
			}
			seen[sum] = true
			return yield(s)
		}
		n := v.pending()
		for _, set := range subsets(n) {
			if !try(&subsetChooser{set: set}) {
				return
			}
		}
		for range more {
			if n == 0 {
				break
			}
			if !try(&subsetChooser{set: randomSet(rng, n), rng: rng}) {
				return
			}
		}
		if at == len(d.steps) {
			return
		}
		v.apply(d.steps[at])
	}
}

// Sum returns a checksum of the state's files.
func (s *State) Sum() uint64 {
	h := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		h.Write(binary.LittleEndian.AppendUint64([]byte(name), uint64(len(s.Files[name]))))
		h.Write(s.Files[name])
	}
	return h.Sum64()
}

// subsets returns the subsets of n changes that are always tried.
func subsets(n int) (out [][]bool) {
	if n <= maxExhaustive {
		for bits := range 1 << n {
			out = append(out, newSet(n, func(i int) bool { return bits>>i&1 != 0 }))
		}
		return out
	}
	for k := range n + 1 {
		out = append(out, newSet(n, func(i int) bool { return i < k }))
	}
	for k := range n {
		out = append(out, newSet(n, func(i int) bool { return i == k }), newSet(n, func(i int) bool { return i != k }))
	}
	return out
}

func newSet(n int, in func(i int) bool) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = in(i)
	}
	return out
}

// randomSet returns a random subset with most, half or few of n changes.
func randomSet(rng *rand.Rand, n int) []bool {
	share := []float64{0.2, 0.5, 0.9, 1}[rng.IntN(4)]
	return newSet(n, func(int) bool { return rng.Float64() < share })
}

// subsetChooser keeps the changes of a set. Writes that it keeps are whole unless chance, if it is
// set, tears them.
type subsetChooser struct {
	set []bool
	at  int
	rng *rand.Rand
}

func (c *subsetChooser) hasHappened() bool {
	c.at++
	return c.set[c.at-1]
}

func (c *subsetChooser) write(file []byte, at int, data []byte, old int) {
	how := 0
	if c.rng != nil {
		how = c.rng.IntN(5)
	}
	switch how {
	case 1: // the first bytes
		data = data[:c.rng.IntN(len(data)+1)]
		copy(file[at:], data)
		c.noise(file[max(old, at+len(data)):])
	case 2: // some sectors; between them are zeros where the file had no content
		for lo := at; lo < at+len(data); {
			hi := min((lo/sector+1)*sector, at+len(data))
			if c.rng.IntN(2) == 0 {
				copy(file[lo:hi], data[lo-at:])
			}
			lo = hi
		}
	case 3: // only the length
		c.noise(file[old:])
	default:
		copy(file[at:], data)
	}
}

// noise fills with zeros or, as often, with random bytes like old content of the disk.
func (c *subsetChooser) noise(b []byte) {
	if c.rng.IntN(2) == 0 {
		return
	}
	for i := range b {
		b[i] = byte(c.rng.Uint32())
	}
}
