// Package changes compares two listings of photos: that of an index and that of a
// folder that the index follows.
//
//	have, want -> Unsure: the files whose contents must be read
//	have, want with these digests -> Compare: a Plan
//
// It reads and writes no files. A file with the same size and time is unchanged; for any other
// file the digest decides. Photos are identified by their ids. A missing photo is searched for
// under other ids by its digest.
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
	Path string // path of its file; "" without a separate file
	// Size and Modified are those of the file when Digest was computed. Modified is "" if it does not
	// prove unchanged content.
	Size     int64
	Modified string
	// Part is the part of the picture that is used; "" for the whole picture.
	Part string
	// Digest is the digest of the content and the part; "" if unknown.
	Digest string
	// Labels is a text of the photo's classes that is equal for equal classes.
	Labels string
	// Unread means that the content of a wanted file cannot be read.
	Unread bool
	// Refused means that a wanted file with this Digest is known to be no readable picture, so that it is
	// not embedded.
	Refused bool
}

// Kind is the kind of a photo's change.
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
	// Changed: other content at the same place, or another box.
	Changed
	// Added: a new place.
	Added
	// Removed: content that no longer exists.
	Removed
	// Unread: the file exists but cannot be read; the item stays as it is.
	Unread
	// Refused: an added or changed photo that is known to be no readable picture. A changed one keeps its item.
	Refused
	// Held: content that no longer exists, whose item stays until somebody decides otherwise.
	Held
)

// Kinds is the number of kinds.
const Kinds = int(Held) + 1

// String gives the name of a kind.
func (k Kind) String() string {
	return [...]string{"same", "touched", "relabelled", "moved", "changed", "added", "removed", "unread",
		"refused", "held"}[k]
}

// Change is the change of one photo.
type Change struct {
	Kind Kind
	// From is the photo's index in have (-1 if Added, or Refused without an item), To its index in want (-1 if
	// Removed or Held).
	From, To int
	// Like is the index in have of a photo with the same content as an added or changed photo. Its
	// embedding can be used again. It is -1 without such a photo.
	Like int
	// Relabelled means that a moved photo has also another class.
	Relabelled bool
}

// Plan has the changes from have to want.
type Plan struct {
	// Changes has every photo of want once, in the order of want, and then the removed photos of have, in the
	// order of have.
	Changes []Change
	// Counts has the number of changes of each kind.
	Counts [Kinds]int
	// Embed is the number of photos to embed.
	Embed int
	have  int
}

// IsEmpty reports whether have equals want.
func (p *Plan) IsEmpty() bool {
	return p.Counts[Same]+p.Counts[Unread]+p.Counts[Refused]+p.Counts[Held] == len(p.Changes)
}

// DefaultMaxRemovals is the share of the photos of have up to which photos are removed without a decision.
const DefaultMaxRemovals = 0.1

// TooMany reports whether more than a share of the photos of have would be removed.
func (p *Plan) TooMany(most float64) bool {
	const rounding = 1e-9 // 0.29 of 100 is a little less than 29
	return float64(p.Counts[Removed]) > (most+rounding)*float64(p.have)
}

// Hold holds back the removals that which chooses by their index in have.
func (p *Plan) Hold(which func(from int) bool) {
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Kind == Removed && which(c.From) {
			c.Kind = Held
			p.Counts[Removed]--
			p.Counts[Held]++
		}
	}
}

// IsUnchanged reports whether the size and time of a file prove that its content is that of h.
func (w *File) IsUnchanged(h *File) bool {
	return h.Digest != "" && w.Modified != "" && w.Modified == h.Modified && w.Size == h.Size && w.Part == h.Part
}

// NeedDigest lists the indexes in want of files whose digests Compare needs: all files except those with unchanged
// sizes and times, and those that are Refused already.
func NeedDigest(have, want []File) []int {
	at := indexByID(have)
	var out []int
	for i := range want {
		if h, ok := at[want[i].ID]; !want[i].Refused && (!ok || !want[i].IsUnchanged(&have[h])) {
			out = append(out, i)
		}
	}
	return out
}

// indexByID returns the index of each id.
func indexByID(files []File) map[string]int {
	at := make(map[string]int, len(files))
	for i := range files {
		at[files[i].ID] = i
	}
	return at
}

// Compare makes the plan. Files of want that Unsure listed must have a digest or be Unread. It is an error if an id
// occurs twice in a listing.
func Compare(have, want []File) (*Plan, error) {
	for _, files := range [][]File{have, want} {
		at := indexByID(files)
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
	at := indexByID(have)
	for i := range want {
		h, ok := at[want[i].ID]
		if !ok {
			h = -1
		}
		c.of[i] = c.compareSameID(h, i)
	}
	c.matchMoved()
	c.matchMovedBoxes()
	return c.makePlan(), nil
}

// comparison is a plan being made.
type comparison struct {
	have, want []File
	of         []Change // change of each photo in want
	free       []bool   // for each photo in have: its content is not found yet
}

// compareSameID compares a wanted file i with the photo h of the same id; h is -1 without one.
func (c *comparison) compareSameID(h, i int) Change {
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
	case !w.IsUnchanged(f) && (f.Digest == "" || f.Digest != w.Digest):
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

// matchMoved searches for contents that are no longer at their places. It pairs photos of equal content in the order
// of their ids, those with the same file name first.
func (c *comparison) matchMoved() {
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
				c.recordMove(list[0], i)
				named[name] = list[1:]
			}
		}
		from = slices.DeleteFunc(from, func(h int) bool { return !c.free[h] })
		for _, i := range to {
			if c.of[i].Kind != Moved && len(from) > 0 {
				c.recordMove(from[0], i)
				from = from[1:]
			}
		}
	}
}

// matchMovedBoxes finds boxes that were drawn anew: the only missing part of a picture is the only new one.
// The item keeps its other columns.
func (c *comparison) matchMovedBoxes() {
	gone, come := map[string][]int{}, map[string][]int{}
	for h, free := range c.free {
		if path := c.have[h].Path; free && path != "" {
			gone[path] = append(gone[path], h)
		}
	}
	for i := range c.want {
		if c.of[i].Kind == Added {
			come[c.want[i].Path] = append(come[c.want[i].Path], i)
		}
	}
	for path, to := range come {
		from := gone[path]
		if len(from) == 1 && len(to) == 1 && c.have[from[0]].Part != c.want[to[0]].Part {
			c.of[to[0]].Kind, c.of[to[0]].From = Changed, from[0]
		}
	}
}

// recordMove records that a wanted file is a photo that was moved.
func (c *comparison) recordMove(h, i int) {
	c.free[h] = false
	c.of[i] = Change{Kind: Moved, From: h, To: i, Like: -1, Relabelled: c.have[h].Labels != c.want[i].Labels}
}

// makePlan makes the plan.
func (c *comparison) makePlan() *Plan {
	p := &Plan{have: len(c.have)}
	embedded := map[string]bool{}
	for i, change := range c.of {
		w := &c.want[i]
		switch change.Kind {
		case Added:
			if w.Unread {
				continue // it does not change
			}
		case Changed: // the old photo is replaced, unless it is at another place now
			if h := change.From; c.free[h] {
				c.free[h] = false
			} else {
				change.Kind, change.From = Added, -1
			}
		}
		if (change.Kind == Added || change.Kind == Changed) && change.Like < 0 {
			switch {
			case w.Refused:
				change.Kind = Refused
			case !embedded[w.Digest]:
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
