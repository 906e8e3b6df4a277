package changes

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// photo is what the test's index keeps under an id: vector is the digest of what was
// embedded, note what a person has written.
type photo struct{ path, labels, stamp, digest, vector, note string }

// randomFiles lists files with few names, contents and classes, so that everything happens: ids
// that stay, contents that move, copies, swaps. How a file is called says nothing about
// its content. A time is never used for two contents.
func randomFiles(rng *rand.Rand, tag string, folder string) []File {
	var out []File
	for _, id := range rng.Perm(20)[:rng.IntN(15)] {
		content := rng.IntN(12)
		f := File{ID: fmt.Sprintf("c%d/%d.jpg", id/7, id%7), Size: int64(content),
			Digest: fmt.Sprint("digest ", content),
			Labels: fmt.Sprint("class ", rng.IntN(2)), Modified: fmt.Sprint(content, "-", rng.IntN(2))}
		f.Path = folder + f.ID
		if rng.IntN(5) == 0 {
			f.Part, f.Digest = "left", f.Digest+" left"
		}
		switch rng.IntN(10) {
		case 0:
			f.Modified = ""
		case 1:
			f.Digest = ""
			f.Unread = tag == "want"
		}
		out = append(out, f)
	}
	return out
}

// What a plan makes of a map is what is wanted, with vectors of the contents that are there;
// every photo is in one change, nothing is embedded that has a vector, and what a person has
// written goes where the content goes.
func TestCompareIsAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[Kind]int{}
	for round := range 20_000 {
		folder := "/photos/"
		have := randomFiles(rng, "have", folder)
		if rng.IntN(10) == 0 {
			folder = "/elsewhere/"
		}
		want := randomFiles(rng, "want", folder)
		if rng.IntN(20) == 0 {
			want = slices.Clone(have)
		}
		index := map[string]photo{}
		for i, h := range have {
			vector := h.Digest
			if vector == "" {
				vector = "unknown"
			}
			index[h.ID] = photo{h.Path, h.Labels, stamp(h), h.Digest, vector, fmt.Sprint("note ", i)}
		}
		// Two contents are no pictures, which is known before their digests or after them.
		bad, early := []string{"digest 10", "digest 11 left"}, rng.IntN(2) == 0
		for i := range want {
			want[i].Refused = early && slices.Contains(bad, want[i].Digest)
		}
		looked := slices.Clone(want) // without digests that are not asked for
		unsure := NeedDigest(have, want)
		for i := range looked {
			if !slices.Contains(unsure, i) && !looked[i].Refused {
				looked[i].Digest = ""
			}
			want[i].Refused = slices.Contains(bad, looked[i].Digest)
			looked[i].Refused = want[i].Refused
		}
		p, err := Compare(have, looked)
		if err != nil {
			t.Fatal(err)
		}
		got, embedded := applyPlan(t, p, have, want, index)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("round %d: %s\nhave %+v\nwant %+v\nplan %+v", round, fmt.Sprintf(format, args...), have, want, p)
		}
		if embedded != p.Embed {
			fail("%d embedded, %d planned", embedded, p.Embed)
		}
		if fault := describeDifference(got, index, want); fault != "" {
			fail("%s", fault)
		}
		notes := map[string]bool{}
		for _, it := range got {
			if it.note != "" && notes[it.note] {
				fail("%s is there twice", it.note)
			}
			notes[it.note] = true
		}
		for k, n := range p.Counts {
			seen[Kind(k)] += n
		}
		unread := slices.ContainsFunc(want, func(w File) bool { return w.Digest == "" })
		if p.IsEmpty() != maps.Equal(got, index) && !unread {
			fail("empty: %v", p.IsEmpty())
		}
	}
	for k := Same; k <= Refused; k++ {
		if seen[k] == 0 {
			t.Errorf("nothing was %v: the test shows nothing", k)
		}
	}
}

// describeDifference says how an index differs from what is wanted of it, "" if it does not.
func describeDifference(got, index map[string]photo, want []File) string {
	expect := 0
	for _, w := range want {
		it, there := got[w.ID]
		old, was := index[w.ID]
		switch {
		case w.Unread && was:
			if it != old {
				return fmt.Sprintf("%s cannot be read, and is %+v, was %+v", w.ID, it, old)
			}
			expect++
			continue
		case w.Unread:
			if there {
				return fmt.Sprintf("%s cannot be read and is there", w.ID)
			}
			continue
		case w.Refused && !anyItem(index, func(_ string, p photo) bool { return p.digest == w.Digest }):
			// Its item stays, unless that content is at another place now.
			moved := was && anyItem(got, func(id string, p photo) bool { return p.note == old.note && id != w.ID })
			if there != (was && !moved) || there && it != old {
				return fmt.Sprintf("%s is no picture, and is %+v, was %+v", w.ID, it, old)
			}
			if there {
				expect++
			}
			continue
		}
		expect++
		if !there || it.path != w.Path || it.labels != w.Labels || it.stamp != stamp(w) {
			return fmt.Sprintf("%s is %+v", w.ID, it)
		}
		if w.Digest != "" && it.vector != w.Digest {
			return fmt.Sprintf("%s has the vector of %s", w.ID, it.vector)
		}
	}
	if len(got) != expect {
		return fmt.Sprintf("%d photos, want %d", len(got), expect)
	}
	return ""
}

func anyItem(items map[string]photo, is func(id string, p photo) bool) bool {
	for id, p := range items {
		if is(id, p) {
			return true
		}
	}
	return false
}

func stamp(f File) string { return fmt.Sprint(f.Size, " ", f.Modified, " ", f.Part) }

// applyPlan does what a plan says with an index, and counts what is embedded.
func applyPlan(t *testing.T, p *Plan, have, want []File, index map[string]photo) (map[string]photo, int) {
	t.Helper()
	out, fresh := map[string]photo{}, map[string]bool{}
	embedded := 0
	from := map[int]int{}
	counts := [Kinds]int{}
	for _, c := range p.Changes {
		counts[c.Kind]++
		if c.From >= 0 {
			from[c.From]++
		}
		if c.Kind == Removed || c.Kind == Refused && c.From < 0 {
			continue
		}
		w := want[c.To]
		it := photo{w.Path, w.Labels, stamp(w), w.Digest, "", ""}
		if c.From >= 0 {
			old := index[have[c.From].ID]
			it.vector, it.note = old.vector, old.note
			if c.Kind == Same && stamp(w) != old.stamp {
				t.Fatalf("%s is said to be the same: %+v", w.ID, c)
			}
			if c.Kind != Changed && c.Kind != Unread && c.Kind != Refused && old.digest == "" {
				t.Fatalf("%s has an unknown content: %+v", w.ID, c)
			}
			if c.Kind == Unread || c.Kind == Refused {
				it = old
			}
		}
		if c.Kind == Added || c.Kind == Changed {
			switch {
			case c.Like >= 0:
				it.vector = index[have[c.Like].ID].vector
			case w.Refused:
				t.Fatalf("%s is embedded again", w.ID)
			case !fresh[w.Digest]:
				fresh[w.Digest] = w.Digest != ""
				embedded++
				fallthrough
			default:
				it.vector = w.Digest
			}
			for _, h := range have {
				if w.Digest != "" && h.Digest == w.Digest && c.Like < 0 {
					t.Fatalf("%s is embedded, and %s has its content", w.ID, h.ID)
				}
			}
		}
		if _, twice := out[w.ID]; twice {
			t.Fatalf("%s is in two changes", w.ID)
		}
		out[w.ID] = it
	}
	if counts != p.Counts {
		t.Fatalf("%v, counted %v", counts, p.Counts)
	}
	for h := range have {
		if from[h] != 1 {
			t.Fatalf("%s is in %d changes: %+v", have[h].ID, from[h], p)
		}
	}
	return out, embedded
}

// A class that was renamed is moved, not added: each photo keeps its name.
func TestRenamedClass(t *testing.T) {
	var have, want []File
	for i := range 40 {
		f := File{ID: fmt.Sprintf("cat/%d.jpg", i), Digest: "all the same", Labels: "cat", Size: 1, Modified: "then"}
		have = append(have, f)
		f.ID, f.Labels = strings.Replace(f.ID, "cat", "Cat", 1), "Cat"
		want = append(want, f)
	}
	if got := NeedDigest(have, want); len(got) != 40 {
		t.Fatal(got)
	}
	slices.Reverse(want)
	p, err := Compare(have, want)
	if err != nil || p.Counts[Moved] != 40 || p.Embed != 0 || p.TooMany(DefaultMaxRemovals) {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, c := range p.Changes {
		if have[c.From].ID[4:] != want[c.To].ID[4:] || !c.Relabelled {
			t.Errorf("%s became %s", have[c.From].ID, want[c.To].ID)
		}
	}
}

// More than a tenth is too many; a tenth is not.
func TestTooMany(t *testing.T) {
	var have []File
	for i := range 20 {
		have = append(have, File{ID: fmt.Sprint(i), Digest: fmt.Sprint(i), Size: 1, Modified: "then"})
	}
	for removed, many := range []bool{false, false, false, true} {
		p, err := Compare(have, have[removed:])
		if err != nil || p.Counts[Removed] != removed || p.TooMany(DefaultMaxRemovals) != many ||
			p.IsEmpty() != (removed == 0) {
			t.Errorf("%d: %+v, %v", removed, p, err)
		}
	}
	p, err := Compare(have, have[6:])
	if err != nil || p.TooMany(0.3) || !p.TooMany(0.29) || !p.TooMany(0) || p.TooMany(1) {
		t.Errorf("%+v, %v", p, err)
	}
	p.Hold(func(from int) bool { return from != 2 })
	if p.Counts[Held] != 5 || p.Counts[Removed] != 1 || p.TooMany(0.1) || p.IsEmpty() {
		t.Errorf("%+v", p)
	}
	p.Hold(func(int) bool { return true })
	if p.Counts[Held] != 6 || p.TooMany(0) || !p.IsEmpty() {
		t.Errorf("%+v", p)
	}
	if p, err := Compare(nil, nil); err != nil || p.TooMany(DefaultMaxRemovals) || !p.IsEmpty() {
		t.Errorf("%+v, %v", p, err)
	}
}

// An id that is listed twice is refused; the plan of the same listings is the same.
func TestTwiceAndAgain(t *testing.T) {
	twice := []File{{ID: "a"}, {ID: "b"}, {ID: "a"}}
	for _, lists := range [][2][]File{{twice, nil}, {nil, twice}} {
		if _, err := Compare(lists[0], lists[1]); err == nil || !strings.Contains(err.Error(), `"a" is listed twice`) {
			t.Error(err)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		have, want := randomFiles(rng, "have", ""), randomFiles(rng, "want", "")
		p, err1 := Compare(have, want)
		q, err2 := Compare(have, want)
		if err1 != nil || err2 != nil || !reflect.DeepEqual(p, q) {
			t.Fatalf("%+v\n%+v", p, q)
		}
	}
}
