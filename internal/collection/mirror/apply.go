package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// Result is the result of Apply.
type Result struct {
	// Embedded counts the photos that were embedded. LeftOut lists those that could not be read.
	Embedded int
	LeftOut  []data.LeftOut
	// Undone counts the planned changes of each kind that were not made, because the photo could not be read or changed
	// meanwhile.
	Undone [changes.Kinds]int
	// Kept lists the ids of changed photos that could not be read, so that their items stay.
	Kept []string
	// Unreadable lists all files of the set that cannot be used: those of LeftOut, those that were passed over because
	// they could not be read before, and those that the set leaves out.
	Unreadable []data.LeftOut
	// Waits are the removals that were held back and wait for a decision; nil if none do. Stay has the ids of items
	// that stay by a decision, although their photos are missing.
	Waits *Pending
	Stay  []string
	// Note is the reason why a list in the folder of the index could not be written; nil if it was. The change itself
	// is complete.
	Note error
}

// unfinishedDir is the folder in an index that keeps the embeddings of an unfinished change, so that an
// interrupted call need not compute them again.
const unfinishedDir = "unfinished"

// Apply makes the index match the set, in one change that is durable when it returns. model returns the network
// of the index; it is called only if photos must be embedded. If a photo cannot be read, a changed photo keeps
// its old item, and a new photo gets no item; a list in the folder of the index has such files, so that the next
// comparison passes over them. progress, if not nil, is called with the number of photos embedded.
func (p *Plan) Apply(ctx context.Context, x *index.Index, model func() (*run.Model, error),
	progress func(done, total int)) (*Result, error) {
	a := &application{plan: p, x: x, vectors: map[string][]float32{}, refused: map[string]string{},
		columns: x.Info().Columns, done: &Result{}}
	if p.IsEmpty() {
		return a.finish()
	}
	dim := int64(x.Info().Dim)
	written := int64(len(p.Changes) - p.Counts[changes.Same] - p.Counts[changes.Unread] -
		p.Counts[changes.Refused] - p.Counts[changes.Removed] - p.Counts[changes.Held])
	if err := budget.Check(fmt.Sprintf("a change of %d items", written), budget.Product(4, dim, written)); err != nil {
		return nil, err
	}
	if err := a.embed(ctx, model, progress); err != nil {
		return nil, err
	}
	if err := a.readExif(ctx); err != nil {
		return nil, err
	}
	if _, _, err := x.Update(ctx, a.collect); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Join(x.Dir(), unfinishedDir)); err != nil {
		return nil, err
	}
	return a.finish()
}

// finish writes the lists in the folder of the index.
func (a *application) finish() (*Result, error) {
	a.done.Unreadable = data.AddLeftOut(a.plan.skippedFiles(), nil, a.done.LeftOut)
	err := a.plan.saveUnreadable(a.refused)
	var failed error
	a.done.Waits, a.done.Stay, failed = a.plan.removals.update(a.plan)
	a.done.Note = errors.Join(err, failed)
	return a.done, nil
}

// application is a change being made.
type application struct {
	plan    *Plan
	x       *index.Index
	vectors map[string][]float32 // vectors of new contents, by digest
	refused map[string]string    // reasons why contents are no readable pictures, by digest
	photos  map[int]imaging.EXIF
	columns []store.Column // columns of the index
	change  index.Change
	keep    map[string]bool // ids that are in the index afterwards
	late    []string        // names of samples that were changed while they were embedded
	done    *Result
}

// Photos are embedded in pieces, each as large as all earlier ones together, because the file of embeddings
// is rewritten after each piece.
const minPiece = 1024

// embed computes the vectors of contents that the index does not have.
func (a *application) embed(ctx context.Context, model func() (*run.Model, error),
	progress func(done, total int)) error {
	p := a.plan
	var todo []int // samples
	seen := map[string]bool{}
	for _, c := range p.Changes {
		if (c.Kind == changes.Added || c.Kind == changes.Changed) && c.Like < 0 && !seen[p.Want[c.To].Digest] {
			seen[p.Want[c.To].Digest] = true
			todo = append(todo, p.sample[c.To])
		}
	}
	if len(todo) == 0 {
		return nil
	}
	if progress != nil {
		progress(0, len(todo))
	}
	m, err := model()
	if err != nil {
		return err
	}
	own := m.Copy()
	if len(todo) > minPiece {
		own.Cache = filepath.Join(a.x.Dir(), unfinishedDir)
	}
	all := p.set.All()
	var skipped []data.Skipped
	for lo, n := 0, minPiece; lo < len(todo); lo, n = lo+n, max(minPiece, lo+n) {
		some := all.Subset(todo[lo:min(lo+n, len(todo))])
		if progress != nil {
			own.Progress = func(done, _ int) { progress(lo+done, len(todo)) }
		}
		e, err := own.EmbedPart(ctx, some)
		if err != nil {
			return err
		}
		other, err := p.changedSince(ctx, some)
		if err != nil {
			return err
		}
		for row, pos := range e.Pos {
			if i := some.Index[pos]; other[i] {
				a.late = append(a.late, p.set.ItemName(i))
			} else {
				a.vectors[p.facts[i].Digest] = e.X.Row(row)
				a.done.Embedded++
			}
		}
		if len(a.late) > 0 && own.Cache != "" { // it may have such an embedding under the digest seen before
			if err := os.RemoveAll(own.Cache); err != nil {
				return err
			}
		}
		a.done.LeftOut = data.AddLeftOut(a.done.LeftOut, p.set.LeftOut, e.LeftOut)
		skipped = append(skipped, e.Skipped...)
	}
	if n := len(a.late); n > 0 {
		a.done.LeftOut = append(a.done.LeftOut, data.LeftOut{Reason: "changed while they were embedded: sync again",
			Count: n, First: a.late[:min(n, 5)]})
	}
	return a.noteUnreadable(ctx, skipped)
}

// changedSince returns the samples whose contents are no longer those that the plan has seen. Their embeddings
// may be of either content.
func (p *Plan) changedSince(ctx context.Context, part *data.Part) (map[int]bool, error) {
	stats, err := part.Stats(ctx)
	if err != nil {
		return nil, err
	}
	var unsure []int
	for k, i := range part.Index {
		f, now := &p.facts[i], &stats[k]
		if f.Path != "" && (f.time == "" || now.Err != nil || now.Size != f.Size || !now.Modified.Equal(f.Modified)) {
			unsure = append(unsure, i)
		}
	}
	digests, err := p.set.All().Subset(unsure).Digests(ctx)
	if err != nil {
		return nil, err
	}
	out := map[int]bool{}
	for k, i := range unsure {
		var now FileRecord
		now.setDigest(digests[k])
		out[i] = now.Digest != p.facts[i].Digest
	}
	return out, nil
}

// noteUnreadable notes the contents that could not be decoded, if they are still those of their files: a file that was
// changed in the meantime is tried again.
func (a *application) noteUnreadable(ctx context.Context, skipped []data.Skipped) error {
	skipped = slices.DeleteFunc(skipped, func(s data.Skipped) bool { return !isContentError(s.Err) })
	var samples []int
	for _, s := range skipped {
		samples = append(samples, s.Sample)
	}
	digests, err := a.plan.set.All().Subset(samples).Digests(ctx)
	if err != nil {
		return err
	}
	for k, s := range skipped {
		var now FileRecord
		if now.setDigest(digests[k]); now.Digest != "" && now.Digest == a.plan.facts[s.Sample].Digest {
			a.refused[now.Digest] = s.Err.Error()
		}
	}
	return nil
}

// readExif reads the EXIF data of the files with new contents.
func (a *application) readExif(ctx context.Context) error {
	var samples []int
	for _, c := range a.plan.Changes {
		if c.Kind == changes.Added || c.Kind == changes.Changed {
			samples = append(samples, a.plan.sample[c.To])
		}
	}
	photos, err := a.plan.set.All().Subset(samples).EXIF(ctx)
	if err != nil {
		return err
	}
	a.photos = make(map[int]imaging.EXIF, len(photos))
	for k, i := range samples {
		a.photos[i] = photos[k]
	}
	return nil
}

// collect turns the plan into items to write and ids to remove, from the items as they are at the moment of writing: a
// user may have changed them since the comparison.
func (a *application) collect() (index.Change, error) {
	p := a.plan
	a.change, a.keep = index.Change{}, map[string]bool{}
	for _, c := range p.Changes {
		var err error
		switch c.Kind {
		case changes.Same, changes.Unread, changes.Refused:
			a.keep[p.Want[c.To].ID] = true
		case changes.Held:
			a.keep[p.Have[c.From].ID] = true
		case changes.Removed:
			if p.removals.isKept(p.Have[c.From].ID) { // decided since the comparison
				a.keep[p.Have[c.From].ID] = true
			}
		case changes.Added, changes.Changed:
			err = a.putRenewed(c)
		default:
			var it store.Item
			var ok bool
			if it, ok, err = a.x.Get(p.Have[c.From].ID); ok { // otherwise the next comparison finds it new
				a.putItem(it, c)
			}
		}
		if err != nil {
			return a.change, err
		}
	}
	for _, h := range p.Have {
		if !a.keep[h.ID] {
			a.change.Remove = append(a.change.Remove, h.ID)
		}
	}
	return a.change, nil
}

// putRenewed puts an item with a new content, if the content could be read.
func (a *application) putRenewed(c changes.Change) error {
	p := a.plan
	id := p.Want[c.To].ID
	if c.From >= 0 {
		id = p.Have[c.From].ID
	}
	it, ok, err := a.x.Get(id)
	if err != nil || !ok && c.From >= 0 {
		return err
	}
	if c.Like >= 0 {
		like, there, err := a.x.Get(p.Have[c.Like].ID)
		if err != nil {
			return err
		}
		it.Vector, ok = like.Vector, there
	} else {
		it.Vector, ok = a.vectors[p.Want[c.To].Digest]
	}
	if ok {
		a.putItem(it, c)
		return nil
	}
	a.done.Undone[c.Kind]++
	if c.From >= 0 {
		a.keep[p.Have[c.From].ID] = true
		if !slices.Contains(a.late, p.set.ItemName(p.sample[c.To])) {
			a.done.Kept = append(a.done.Kept, p.Want[c.To].ID)
		}
	}
	return nil
}

// putItem writes an item as a photo of the set.
func (a *application) putItem(it store.Item, c changes.Change) {
	p := a.plan
	w, sample := &p.Want[c.To], p.sample[c.To]
	it.Columns = maps.Clone(it.Columns)
	if it.Columns == nil {
		it.Columns = map[string]any{}
	}
	if w.Digest == "" { // its size and time are unchanged, so its facts are those of the item
		p.facts[sample].Digest, _ = it.Columns[Digest].(string)
	}
	p.facts[sample].Put(&it)
	if photo, ok := a.photos[sample]; ok {
		PutExif(&it, &photo, a.columns)
	}
	if p.labels != nil {
		p.putLabels(&it, c)
	}
	it.ID, it.Path = w.ID, w.Path
	a.keep[it.ID] = true
	a.change.Put = append(a.change.Put, it)
}

// putLabels gives an item the classes of its photo in the set, if these are newer than its own: if they have changed,
// and no user has changed those of the item since the comparison.
func (p *Plan) putLabels(it *store.Item, c changes.Change) {
	was, shown := "", ""
	if c.From >= 0 {
		was, shown = p.Have[c.From].Labels, p.shown[c.From]
	}
	labels := p.Want[c.To].Labels
	if labelText(it.Columns) == shown && (was != labels || c.From < 0) {
		for _, name := range LabelColumns() {
			delete(it.Columns, name)
			if v := p.labels[p.sample[c.To]][name]; v != nil {
				it.Columns[name] = v
			}
		}
	}
	recordLabels(it, labels)
}
