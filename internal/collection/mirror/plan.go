package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/classname"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/store"
)

// Options control how an index is compared with a set.
type Options struct {
	// Prefix is the beginning of the photos' ids, before their names. Items whose
	// ids begin otherwise stay as they are.
	Prefix string
	// Set is the path of the data set.
	Set string
	// Labels has the columns of each sample's classes, with the kinds of the index; nil for a set without
	// classes. The columns are those of LabelColumns.
	Labels []map[string]any
	// Decoders identifies the decoders of pictures; default imaging.DecoderSet. Files that others could not read are
	// tried again.
	Decoders string
	// Again tries all files again that could not be read before.
	Again bool
	// Removals are the decisions about missing photos; nil reads those in the folder of the index.
	Removals *Removals
	// Progress, if set, is called with the number of files read.
	Progress func(done, total int)
}

// LabelColumns returns the columns that have a set's classes. Further columns of classes are the user's.
func LabelColumns() []string { return classname.Columns()[:2] }

// Plan has the changes that make an index match a set.
type Plan struct {
	*changes.Plan
	// Have lists the items of the index that belong to the set, and Want the photos of the set.
	Have, Want []changes.File
	// Others is the number of items of the index that do not belong to the set and stay as they are.
	Others int
	// Twice lists samples of the set that are left out because another sample is the same item.
	Twice []string
	// Note is the reason why the list of unreadable files is ignored; nil if it is not.
	Note error

	set        *data.Dataset
	place      string           // path of the set
	facts      []FileRecord     // facts of the samples
	sample     []int            // number in the set of each photo in Want
	labels     []map[string]any // labels of the samples
	shown      []string         // classes of the items in Have, which a user may have changed
	removals   *Removals
	waits      *Pending // removals that are held back; nil if none
	unreadable *unreadable
	files      atomic.Files
}

// NewPlan compares an index with a set of image files. It is an error if the samples of the set are not
// files, or if an item with the id of a photo belongs to another file, which still exists and has another
// content. Files that Apply could not read are passed over until they change.
func NewPlan(ctx context.Context, x *index.Index, set *data.Dataset, opt Options) (*Plan, error) {
	p := &Plan{set: set, labels: opt.Labels, removals: opt.Removals}
	all := set.All()
	var err error
	if p.removals == nil {
		if p.removals, err = OpenRemovals(x.Dir()); err != nil {
			return nil, err
		}
	}
	if p.facts, err = readFileRecords(ctx, all, opt.Set, time.Now()); err != nil {
		return nil, err
	}
	if p.facts == nil {
		return nil, fmt.Errorf("data set %s: its samples are not separate files, so there is nothing to "+
			"compare", set.Name)
	}
	p.list(opt.Prefix)
	if err := p.read(x, opt.Prefix, opt.Set); err != nil {
		return nil, err
	}
	p.loadUnreadable(x, opt)
	unsure := changes.NeedDigest(p.Have, p.Want)
	const piece = 512
	for lo := 0; lo < len(unsure); lo += piece {
		some := unsure[lo:min(lo+piece, len(unsure))]
		var at []int
		for _, i := range some {
			at = append(at, p.sample[i])
		}
		digests, err := all.Subset(at).Digests(ctx)
		if err != nil {
			return nil, err
		}
		for k, i := range some {
			f := &p.facts[p.sample[i]]
			f.setDigest(digests[k])
			p.Want[i].Digest, p.Want[i].Unread = f.Digest, f.Digest == ""
			p.Want[i].Refused = p.unreadable.hasContent(f.Digest)
		}
		if opt.Progress != nil {
			opt.Progress(lo+len(some), len(unsure))
		}
	}
	if p.Plan, err = changes.Compare(p.Have, p.Want); err != nil {
		return nil, err
	}
	for _, c := range p.Changes {
		if c.Kind != changes.Changed {
			continue
		}
		if err := checkClash(&p.Have[c.From], &p.Want[c.To]); err != nil {
			return nil, err
		}
	}
	p.Plan.Hold(func(from int) bool { return p.removals.isKept(p.Have[from].ID) })
	return p, nil
}

// list makes the listing of the set.
func (p *Plan) list(prefix string) {
	seen := make(map[string]bool, p.set.Len())
	for i := range p.set.Names {
		name := p.set.ItemName(i)
		if seen[name] {
			p.Twice = append(p.Twice, name)
			continue
		}
		seen[name] = true
		labels := ""
		if p.labels != nil {
			labels = labelText(p.labels[i])
		}
		p.Want, p.sample = append(p.Want, p.facts[i].file(prefix+name, labels)), append(p.sample, i)
	}
}

// labelText returns a text that is equal for equal classes.
func labelText(columns map[string]any) string {
	text := ""
	for _, name := range LabelColumns() {
		if v := columns[name]; v != nil {
			text += fmt.Sprintf("%s=%q;", name, store.FormatValue(v))
		}
	}
	return text
}

// read makes the listing of the items of the index that belong to the set: items with the ids of its photos, items
// that came from the set, and items whose files are in its folder. If photos with the same ids came from a set or
// folder that no longer exists, that was this set before it was moved.
func (p *Plan) read(x *index.Index, prefix, set string) error {
	at := make(map[string]bool, len(p.Want))
	home := setPlaces{roots: map[string]bool{}, sets: map[string]bool{set: true}, seen: map[string]bool{}}
	for i := range p.Want {
		w := &p.Want[i]
		at[w.ID] = true
		if root, ok := rootOf(w, prefix); ok {
			home.roots[root] = true
		}
	}
	type other struct {
		changes.File
		set, shown string
	}
	var others []other
	for it, err := range x.AllWithoutVectors() {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(it.ID, prefix) {
			p.Others++
			continue
		}
		f := p.item(&it)
		from, _ := it.Columns[Set].(string)
		if !at[it.ID] {
			if needsDecoder(&f) {
				p.Others++
				continue
			}
			others = append(others, other{f, from, p.labelText(&it)})
			continue
		}
		p.Have, p.shown = append(p.Have, f), append(p.shown, p.labelText(&it))
		home.addPlace(home.sets, from)
		if root, ok := rootOf(&f, prefix); ok {
			home.addPlace(home.roots, root)
		}
	}
	for _, f := range others {
		if f.set != "" && home.sets[f.set] || isBelow(f.Path, home.roots) {
			p.Have, p.shown = append(p.Have, f.File), append(p.shown, f.shown)
		} else {
			p.Others++
		}
	}
	return nil
}

// setPlaces are the present and former places of the photos of a set.
type setPlaces struct {
	roots, sets map[string]bool
	seen        map[string]bool
}

// addPlace adds a place of the set's photos to known, if the place no longer exists or is one of known under another
// name.
func (h *setPlaces) addPlace(known map[string]bool, place string) {
	if place != "" && !known[place] && !h.seen[place] {
		h.seen[place] = true
		if isGone(place, known) {
			known[place] = true
		}
	}
}

// item returns the listing's entry of an item.
func (p *Plan) item(it *store.Item) changes.File {
	f := changes.File{ID: it.ID, Path: it.Path}
	f.Digest, _ = it.Columns[Digest].(string)
	f.Modified, _ = it.Columns[Modified].(string)
	f.Part = Region(it.Columns)
	size, _ := it.Columns[Size].(float64)
	f.Size = int64(size)
	if p.labels != nil {
		f.Labels = recordedLabels(it.Columns)
	}
	return f
}

// labelText returns the text of an item's own classes, which a user may have changed; "" for a set without classes.
func (p *Plan) labelText(it *store.Item) string {
	if p.labels == nil {
		return ""
	}
	return labelText(it.Columns)
}

// needsDecoder reports whether a photo exists that the set does not list, because its decoder is missing now.
func needsDecoder(f *changes.File) bool {
	if !imaging.NeedsDecoder(f.Path) {
		return false
	}
	_, err := os.Stat(f.Path)
	return err == nil
}

// rootOf returns the folder below which a photo's file has the name in its id, after the prefix of all ids.
func rootOf(f *changes.File, prefix string) (string, bool) {
	if f.Path == "" {
		return "", false
	}
	name := f.ID[len(prefix):]
	if f.Part != "" {
		name = strings.TrimSuffix(name, "#"+f.Part)
	}
	root, ok := strings.CutSuffix(f.Path, string(filepath.Separator)+filepath.FromSlash(name))
	return root, ok && root != ""
}

// isBelow reports whether a path is in one of some folders.
func isBelow(path string, roots map[string]bool) bool {
	for dir := filepath.Dir(path); path != "" && len(dir) < len(path); path, dir = dir, filepath.Dir(dir) {
		if roots[dir] {
			return true
		}
	}
	return false
}

// isGone reports whether a file or folder no longer exists, or is one of others under another name.
func isGone(place string, others map[string]bool) bool {
	was, err := os.Stat(place)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	for r := range others {
		if is, err := os.Stat(r); err == nil && os.SameFile(was, is) {
			return true
		}
	}
	return false
}

// checkClash refuses an id that belongs to another file.
func checkClash(have, want *changes.File) error {
	if have.Path == "" || want.Path == "" || have.Path == want.Path {
		return nil
	}
	was, err := os.Stat(have.Path)
	if err != nil {
		return nil
	}
	if is, err := os.Stat(want.Path); err != nil || os.SameFile(was, is) {
		return nil
	}
	return fmt.Errorf("%s would get the id %q, which belongs to %s in the index, a file that still exists: choose "+
		"other ids with a prefix, or remove the item", want.Path, want.ID, have.Path)
}
