package inspect

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"image"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// Report is what Inspect found.
type Report struct {
	Name    string `json:"name"`
	Layout  string `json:"layout"`
	Samples int    `json:"samples"`
	// LeftOut lists the files that are not samples.
	LeftOut []data.LeftOut `json:"left_out,omitempty"`
	// Notes are remarks about how the files were read.
	Notes []string `json:"notes,omitempty"`
	// Labels has the label columns; it is empty without labels. Splits has the number of samples by role.
	Labels []Labels `json:"labels"`
	// Levels says which of two levels of folders are the labels; nil for other sets.
	Levels *data.Levels   `json:"levels,omitempty"`
	Splits map[string]int `json:"splits,omitempty"`
	// Disjoint reports that no class is on both sides of the split.
	Disjoint bool `json:"disjoint"`
	// Features is the number of values per sample of a set of ready features.
	Features int `json:"features,omitempty"`
	// Images is nil if the images were not examined.
	Images *Images `json:"images,omitempty"`
}

// Labels sums up one label column.
type Labels struct {
	Column string `json:"column"`
	// Role is "fine", "coarse" or "". Train marks the labels of training.
	Role    string  `json:"role,omitempty"`
	Train   bool    `json:"train"`
	Classes []Class `json:"classes"`
	// Singletons is the number of classes with one sample, which a loss cannot
	// pull together and retrieval cannot find.
	Singletons int `json:"singletons"`
}

// Class is one class: its number in class ranges, its name, and its samples.
type Class struct {
	Number int64  `json:"number"`
	Name   string `json:"name"`
	Count  int    `json:"count"`
}

// Images sums up the pixels.
type Images struct {
	// Width and Height are the smallest, median and largest sides.
	Width  [3]int `json:"width"`
	Height [3]int `json:"height"`
	Grey   int    `json:"grey"`
	Color  int    `json:"color"`
	// Unreadable lists the samples that give an error.
	Unreadable []Unreadable `json:"unreadable"`
	// Duplicates are groups of samples with the same picture.
	Duplicates []Group `json:"duplicates"`
	// Bursts are groups of photos of a class that were taken together or are copies; see
	// split.FindGroups. NotSearched is the reason why they were not searched for.
	Bursts      []Group `json:"bursts"`
	NotSearched string  `json:"not_searched,omitempty"`
	// Quality is the result of Judge; nil without it.
	Quality *Quality `json:"quality,omitempty"`
	// Exif sums up the EXIF data of the files; nil without any.
	Exif *Exif `json:"exif,omitempty"`
}

// Unreadable is one damaged sample.
type Unreadable struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// Group is a group of samples with the same picture: the same pixels, or, if Near, the same
// up to size, compression, brightness and its edges; see clean.FindDuplicates.
type Group struct {
	Names  []string `json:"names"`
	Labels []string `json:"labels"`
	Near   bool     `json:"near"`
	// Conflict marks samples with different labels, Leak samples on both sides
	// of the split.
	Conflict bool `json:"conflict"`
	Leak     bool `json:"leak"`
}

// Options adjusts Inspect.
type Options struct {
	// SkipImages leaves the images unread.
	SkipImages bool
	// Progress is called now and then with the number of images done, if not nil.
	Progress func(done, total int)
}

// Inspect examines d. Unreadable images are results, not errors, unless the source of
// them all fails (data.SourceError).
func Inspect(ctx context.Context, d *data.Dataset, opt Options) (*Report, error) {
	r := &Report{Name: d.Name, Layout: d.Layout, Samples: d.Len(), LeftOut: d.LeftOut, Notes: d.Notes,
		Levels: d.Levels, Disjoint: d.Splits != nil && d.Disjoint}
	r.Labels = []Labels{}
	for i := range d.Columns {
		r.Labels = append(r.Labels, summarizeLabels(d, &d.Columns[i]))
	}
	if d.Splits != nil {
		r.Splits = make(map[string]int)
		for _, s := range d.Splits {
			r.Splits[s.String()]++
		}
	}
	if d.Features != nil {
		r.Features = d.Features.Cols
		return r, nil
	}
	if opt.SkipImages {
		return r, nil
	}
	if err := budget.Check(fmt.Sprintf("the fingerprints of the pictures of %d samples", d.Len()),
		budget.Product(sampleMemory, int64(d.Len()))); err != nil {
		return nil, err
	}
	all := pickEvenly(d.Len(), d.Len())
	prints, err := takeFingerprints(ctx, d, all, opt.Progress)
	if err != nil {
		return nil, err
	}
	r.Images = summarize(d, all, prints)
	groups, err := findDuplicates(ctx, d, prints)
	if err != nil {
		return nil, err
	}
	r.Images.Duplicates = append(r.Images.Duplicates, groups...)
	if r.Images.Bursts, r.Images.NotSearched, err = findBursts(ctx, d); err != nil {
		return nil, err
	}
	r.Images.Exif, err = readExif(ctx, d)
	return r, err
}

// findBursts lists the bursts, the largest first. Sets that are not
// photos in separate files have none.
func findBursts(ctx context.Context, d *data.Dataset) ([]Group, string, error) {
	if !d.HasLocalFiles() || len(d.Columns) == 0 {
		return nil, "", nil
	}
	of, why, err := split.FindGroups(ctx, d.All())
	if err != nil {
		return nil, "", err
	}
	members := make([][]int, len(of))
	for i, g := range of {
		members[g] = append(members[g], i)
	}
	var out []Group
	for _, list := range members {
		if len(list) > 1 {
			out = append(out, newGroup(d, list, true))
		}
	}
	slices.SortStableFunc(out, func(a, b Group) int { return len(b.Names) - len(a.Names) })
	return out, why, nil
}

// SummarizeImages sums up at most the given number of d's images, evenly spread. It does not search
// for duplicates.
func SummarizeImages(ctx context.Context, d *data.Dataset, most int) (*Images, error) {
	some := pickEvenly(d.Len(), most)
	prints, err := takeFingerprints(ctx, d, some, nil)
	if err != nil {
		return nil, err
	}
	return summarize(d, some, prints), nil
}

func summarizeLabels(d *data.Dataset, c *data.Column) Labels {
	l := Labels{Column: c.Name, Train: c.Name == d.Train}
	switch c.Name {
	case d.Fine:
		l.Role = "fine"
	case d.Coarse:
		l.Role = "coarse"
	}
	for id, n := range c.Counts() {
		l.Classes = append(l.Classes, Class{c.Number(int64(id)), c.Classes[id], n})
		if n == 1 {
			l.Singletons++
		}
	}
	return l
}

// sampleMemory is the number of bytes for a sample while a set is examined: its fingerprint, its entries in
// tables, and an error.
const sampleMemory = 2 << 10

// fingerprint is what the examination keeps of an image.
type fingerprint struct {
	w, h, c int
	pixels  [32]byte
	print   *clean.Fingerprint
	err     error
}

// takeFingerprints takes the fingerprints of the samples at the given positions.
func takeFingerprints(ctx context.Context, d *data.Dataset, at []int,
	progress func(done, total int)) ([]fingerprint, error) {
	prints := make([]fingerprint, len(at))
	tools := sync.Pool{New: func() any { return new(imageReader) }}
	const chunk = 512
	for lo := 0; lo < len(prints); lo += chunk {
		n := min(chunk, len(prints)-lo)
		par.For(n, 8, func(a, b int) {
			e := tools.Get().(*imageReader)
			defer tools.Put(e)
			for k := lo + a; k < lo+b && ctx.Err() == nil; k++ {
				e.takeFingerprint(ctx, d, at[k], &prints[k])
			}
		})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k := range n {
			if err := prints[lo+k].err; err != nil && data.IsFatal(err) {
				return nil, err
			}
		}
		if progress != nil {
			progress(lo+n, len(prints))
		}
	}
	return prints, nil
}

// imageReader has the buffers of one goroutine.
type imageReader struct {
	dec       imaging.Decoder
	resizer   prepare.Resizer
	im, small imaging.Image
}

func (e *imageReader) takeFingerprint(ctx context.Context, d *data.Dataset, i int, p *fingerprint) {
	if p.err = d.Image(ctx, i, &e.im, &e.dec); p.err != nil {
		return
	}
	im := &e.im
	p.w, p.h, p.c = im.W, im.H, im.C
	p.pixels = sha256.Sum256(im.Pix)
	im.SetChannels(1)
	p.print = clean.NewFingerprint(e.reduce(im))
}

// reduce reduces a large picture of greys, which makes its print much faster.
func (e *imageReader) reduce(im *imaging.Image) image.Image {
	const side = 128
	if im.W > 2*side || im.H > 2*side {
		box := prepare.Box{X1: float64(im.W), Y1: float64(im.H)}
		e.resizer.Resize(&e.small, im, box, min(im.W, side), min(im.H, side))
		im = &e.small
	}
	return &image.Gray{Pix: im.Pix, Stride: im.W, Rect: im.Bounds()}
}

// summarize sums up the fingerprints of the samples at the given positions.
func summarize(d *data.Dataset, at []int, prints []fingerprint) *Images {
	out := &Images{Unreadable: []Unreadable{}, Duplicates: []Group{}}
	var ws, hs []int
	for i := range prints {
		p := &prints[i]
		switch {
		case p.err != nil:
			out.Unreadable = append(out.Unreadable, Unreadable{d.Names[at[i]], p.err.Error()})
			continue
		case p.c == 1:
			out.Grey++
		default:
			out.Color++
		}
		ws, hs = append(ws, p.w), append(hs, p.h)
	}
	out.Width, out.Height = minMedianMax(ws), minMedianMax(hs)
	return out
}

func minMedianMax(v []int) (s [3]int) {
	if len(v) == 0 {
		return s
	}
	slices.Sort(v)
	return [3]int{v[0], v[len(v)/2], v[len(v)-1]}
}

// findDuplicates groups samples by picture: by equal pixels, or as copies of each other by the rule of
// clean.FindDuplicates. Parts of pictures are left to kindred clean, which takes longer. If most pictures are
// line drawings, which are alike without being copies, only their pixels count.
func findDuplicates(ctx context.Context, d *data.Dataset, prints []fingerprint) ([]Group, error) {
	type pixels struct {
		w, h, c int
		sum     [32]byte
	}
	first := make(map[pixels]int)
	different := make([]*clean.Fingerprint, len(prints)) // nil for pixels that an earlier sample has
	var pairs []clean.Copy
	drawn := 0
	for i := range prints {
		p := &prints[i]
		if p.err != nil {
			continue
		}
		key := pixels{p.w, p.h, p.c, p.pixels}
		if j, ok := first[key]; ok {
			pairs = append(pairs, clean.Copy{A: j, B: i, Likeness: 1})
			continue
		}
		first[key], different[i] = i, p.print
		if p.print.IsDrawing() {
			drawn++
		}
	}
	if 2*drawn > len(first) {
		for i, p := range different {
			if p != nil && p.IsDrawing() {
				different[i] = nil
			}
		}
	}
	copies, err := clean.FindDuplicates(ctx, different, clean.DuplicateOptions{WholeOnly: true})
	if err != nil {
		return nil, err
	}
	near := make(map[int]bool)
	for _, c := range copies {
		near[c.A] = true
	}
	var out []Group
	for _, list := range clean.GroupCopies(append(pairs, copies...)) {
		out = append(out, newGroup(d, list, slices.ContainsFunc(list, func(i int) bool { return near[i] })))
	}
	slices.SortFunc(out, func(a, b Group) int {
		// Conflicts first, then leaks, then by name.
		return cmp.Or(-compareBools(a.Conflict, b.Conflict), -compareBools(a.Leak, b.Leak),
			slices.Compare(a.Names, b.Names))
	})
	return out, nil
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func newGroup(d *data.Dataset, list []int, near bool) Group {
	g := Group{Near: near}
	fine, err := d.Column("fine")
	roles := data.Split(0)
	for _, i := range list {
		g.Names = append(g.Names, d.Names[i])
		if err == nil {
			g.Labels = append(g.Labels, fine.Classes[fine.IDs[i]])
		}
		if d.Splits != nil {
			roles |= d.Splits[i]
		}
	}
	for _, l := range g.Labels {
		g.Conflict = g.Conflict || l != g.Labels[0]
	}
	g.Leak = roles&data.Train != 0 && roles&data.Test != 0
	return g
}
