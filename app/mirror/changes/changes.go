// Package changes compares two listings of photos: that of an index and that of a
// folder which the index is to follow.
//
//	have, want -> Unsure: which contents have to be looked at
//	have, want with these digests -> Compare: a Plan
//
// It reads nothing and writes nothing. A file is taken to be what it was if its size
// and time are; else its digest decides. Photos are told by their ids, and a photo that
// is gone is looked for under other ids by its digest.
package changes

import (
	"cmp"
	"fmt"
	"path"
	"slices"
)

// File is a photo in a listing.
type File struct {
	ID   string
	Path string // of its file; "" if it has none of its own
	// Size and Modified are the file's as of when Digest was taken. Modified is "" if
	// they say nothing about the content.
	Size     int64
	Modified string
	// Part is the part of the picture that is used, "" for all of it.
	Part string
	// Digest is that of the content and the part, "" if it is not known.
	Digest string
	// Labels are the photo's classes, in any text that is equal for equal ones.
	Labels string
	// Unread says of a wanted file that its content cannot be looked at.
	Unread bool
}

// Kind says what became of a photo.
type Kind int

const (
	// Same: nothing has changed.
	Same Kind = iota
	// Touched: the content and the classes are as they were; the time of the file is not.
	Touched
	// Relabelled: the same content at the same place, of another class.
	Relabelled
	// Moved: the same content under another id or at another path, of any class.
	Moved
	// Changed: other content at the same place.
	Changed
	// Added: a place that was not there.
	Added
	// Removed: content that is no longer there.
	Removed
	// Unread: the file is there and cannot be read; the item stays as it is.
	Unread
)

// String gives the name of a kind.
func (k Kind) String() string {
	return [...]string{"same", "touched", "relabelled", "moved", "changed", "added", "removed", "unread"}[k]
}

// Change is what became of one photo.
type Change struct {
	Kind Kind
	// From is the photo's place in have, To that in want; -1 for Added and Removed.
	From, To int
	// Like is a place in have with the same content as an added or changed photo, whose
	// embedding can be used again; -1 without such a photo.
	Like int
	// Relabelled says of a moved photo that its class is another one too.
	Relabelled bool
}

// Plan is what has to be done to make have into want.
type Plan struct {
	// Changes has every photo of want once, in their order, and then the removed ones
	// of have, in theirs.
	Changes []Change
	// Counts is how many of Changes are of each kind.
	Counts [Unread + 1]int
	// Embed is how many photos are to be embedded.
	Embed int
	have  int
}

// Empty tells that have is want.
func (p *Plan) Empty() bool {
	return p.Counts[Same]+p.Counts[Unread] == len(p.Changes)
}

// TooMany tells that more than a tenth of the photos that are there would be removed.
func (p *Plan) TooMany() bool { return 10*p.Counts[Removed] > p.have }

// Settled tells that the size and time of a file say that its content is that of h.
func (w *File) Settled(h *File) bool {
	return h.Digest != "" && w.Modified != "" && w.Modified == h.Modified && w.Size == h.Size &&
		w.Part == h.Part
}

// Unsure lists the places in want of files whose digests Compare needs: all but those whose
// sizes and times are as they were.
func Unsure(have, want []File) []int {
	at := places(have)
	var out []int
	for i := range want {
		if h, ok := at[want[i].ID]; !ok || !want[i].Settled(&have[h]) {
			out = append(out, i)
		}
	}
	return out
}

// places says where each id is.
func places(files []File) map[string]int {
	at := make(map[string]int, len(files))
	for i := range files {
		at[files[i].ID] = i
	}
	return at
}

// Compare makes the plan. Files of want have a digest wherever Unsure asked for one, or are
// Unread. It is an error if an id occurs twice in a listing.
func Compare(have, want []File) (*Plan, error) {
	for _, files := range [][]File{have, want} {
		at := places(files)
		for i := range files {
			if at[files[i].ID] != i {
				return nil, fmt.Errorf("%q is listed twice", files[i].ID)
			}
		}
	}
	c := comparison{have: have, want: want, of: make([]Change, len(want)), free: make([]bool, len(have))}
	for i := range c.free {
		c.free[i] = true
	}
	at := places(have)
	for i := range want {
		h, ok := at[want[i].ID]
		if !ok {
			h = -1
		}
		c.of[i] = c.inPlace(h, i)
	}
	c.follow()
	return c.plan(at), nil
}

// comparison is a plan in the making.
type comparison struct {
	have, want []File
	of         []Change // for each of want
	free       []bool   // of have: its content is found nowhere yet
}

// inPlace compares a wanted file with the photo of the same id, -1 for none.
func (c *comparison) inPlace(h, i int) Change {
	w := &c.want[i]
	out := Change{Kind: Added, From: h, To: i, Like: -1}
	if h < 0 {
		return out
	}
	f := &c.have[h]
	out.Kind = Same
	switch {
	case w.Unread:
		out.Kind = Unread
	case !w.Settled(f) && (f.Digest == "" || f.Digest != w.Digest):
		out.Kind = Changed
		return out
	case f.Path != "" && f.Path != w.Path:
		out.Kind, out.Relabelled = Moved, f.Labels != w.Labels
	case f.Labels != w.Labels:
		out.Kind = Relabelled
	case w.Modified != f.Modified || w.Size != f.Size || w.Part != f.Part || f.Path != w.Path:
		out.Kind = Touched
	}
	c.free[h] = false
	return out
}

// follow looks for the contents that are no longer at their places: photos of equal content
// are paired in the order of their ids, those with the same name of the file first.
func (c *comparison) follow() {
	gone, come := map[string][]int{}, map[string][]int{}
	for h, free := range c.free {
		if d := c.have[h].Digest; free && d != "" {
			gone[d] = append(gone[d], h)
		}
	}
	like := map[string]int{}
	for h := range c.have {
		if _, ok := like[c.have[h].Digest]; !ok {
			like[c.have[h].Digest] = h
		}
	}
	for i := range c.want {
		w := &c.want[i]
		if k := c.of[i].Kind; (k == Added || k == Changed) && w.Digest != "" {
			come[w.Digest] = append(come[w.Digest], i)
			if h, ok := like[w.Digest]; ok {
				c.of[i].Like = h
			}
		}
	}
	for digest, to := range come {
		from := gone[digest]
		slices.SortFunc(from, func(a, b int) int { return cmp.Compare(c.have[a].ID, c.have[b].ID) })
		slices.SortFunc(to, func(a, b int) int { return cmp.Compare(c.want[a].ID, c.want[b].ID) })
		named := map[string][]int{}
		for _, h := range from {
			name := path.Base(c.have[h].ID)
			named[name] = append(named[name], h)
		}
		for _, i := range to {
			name := path.Base(c.want[i].ID)
			if list := named[name]; len(list) > 0 {
				c.take(list[0], i)
				named[name] = list[1:]
			}
		}
		from = slices.DeleteFunc(from, func(h int) bool { return !c.free[h] })
		for _, i := range to {
			if c.of[i].Kind != Moved && len(from) > 0 {
				c.take(from[0], i)
				from = from[1:]
			}
		}
	}
}

// take says that a wanted file is a photo that has moved.
func (c *comparison) take(h, i int) {
	c.free[h] = false
	c.of[i] = Change{Kind: Moved, From: h, To: i, Like: -1, Relabelled: c.have[h].Labels != c.want[i].Labels}
}

// plan sums up. at says where the ids of have are.
func (c *comparison) plan(at map[string]int) *Plan {
	p := &Plan{have: len(c.have)}
	embedded := map[string]bool{}
	for i, change := range c.of {
		w := &c.want[i]
		switch change.Kind {
		case Added:
			if w.Unread {
				continue // nothing becomes of it
			}
		case Changed: // the photo that was there is replaced, unless it is elsewhere now
			if h := at[w.ID]; c.free[h] {
				c.free[h] = false
			} else {
				change.Kind, change.From = Added, -1
			}
		}
		if change.Kind == Added || change.Kind == Changed {
			if change.Like < 0 && !embedded[w.Digest] {
				embedded[w.Digest] = w.Digest != ""
				p.Embed++
			}
		}
		p.Changes = append(p.Changes, change)
		p.Counts[change.Kind]++
	}
	for h, free := range c.free {
		if free {
			p.Changes = append(p.Changes, Change{Kind: Removed, From: h, To: -1, Like: -1})
			p.Counts[Removed]++
		}
	}
	return p
}
