package reembed

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/store"
)

const (
	// writeBatch is the number of items in one write of items that are not embedded.
	writeBatch = 1024
	// minPiece is the least number of photos embedded between two writes: an interrupted call loses no more.
	minPiece = 256
)

// pass brings the new vectors in line with the items of an index.
type pass struct {
	*rebuild
	x     *index.Index
	known map[string]string // an id in staged, by digest
	put   []store.Item      // to write, with vectors that staged has
	look  []store.Item      // to embed, if their photos are intact
	todo  []string          // ids to embed
	total int
	left  map[string]bool // ids without a vector, dropped or refused
	drop  []string        // ids that are dropped
	bad   ItemsError
}

// syncItems makes staged have the items and columns of an index. Vectors that it has are kept; the others are computed.
func (w *rebuild) syncItems(ctx context.Context, x *index.Index) error {
	p := &pass{rebuild: w, x: x, known: map[string]string{}, total: x.Info().Items, left: map[string]bool{}}
	for it, err := range w.staged.AllWithoutVectors() {
		if err != nil {
			return err
		}
		if d := contentDigest(&it); d != "" {
			p.known[d] = it.ID
		}
	}
	n := 0
	for it, err := range x.AllWithoutVectors() {
		if err == nil {
			err = p.compare(ctx, &it)
		}
		if err != nil {
			return err
		}
		if n++; n%writeBatch == 0 {
			w.progress("looking", n, p.total)
		}
	}
	if err := errors.Join(p.writePut(ctx), p.checkFiles(ctx)); err != nil {
		return err
	}
	if err := p.checkFailed(); err != nil {
		return err
	}
	if err := p.embed(ctx); err != nil {
		return err
	}
	if err := p.removeOthers(ctx); err != nil {
		return err
	}
	p.done.Dropped = append([]string{}, p.drop...)
	return p.checkFailed()
}

// contentDigest returns the digest of the content that an item is of; "" if it is unknown.
func contentDigest(it *store.Item) string {
	d, _ := it.Columns[mirror.Digest].(string)
	return d
}

// compare decides where the vector of an item comes from.
func (p *pass) compare(ctx context.Context, it *store.Item) error {
	have, there, err := p.staged.Get(it.ID)
	if err != nil {
		return err
	}
	d := contentDigest(it)
	there = there && d == contentDigest(&have) && (d != "" || it.Path == have.Path)
	switch id, known := p.known[d]; {
	case there && it.Path == have.Path && maps.Equal(it.Columns, have.Columns):
		return nil
	case !there && known && d != "":
		if have, there, err = p.staged.Get(id); err != nil {
			return err
		}
	}
	if there {
		it.Vector = have.Vector
		if p.put = append(p.put, *it); len(p.put) == writeBatch {
			return p.writePut(ctx)
		}
		return nil
	}
	if p.look = append(p.look, *it); len(p.look) == writeBatch {
		return p.checkFiles(ctx)
	}
	return nil
}

// writePut writes the items that need no embedding.
func (p *pass) writePut(ctx context.Context) error {
	_, err := p.staged.Add(ctx, p.put, index.AddOptions{Existing: index.Replace})
	p.put = p.put[:0]
	return err
}

// checkFiles decides which of the items that need a vector can be embedded.
func (p *pass) checkFiles(ctx context.Context) error {
	errs := make([]error, len(p.look))
	err := par.ForContext(ctx, len(errs), 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			_, errs[i] = mirror.CheckUnchanged(ctx, &p.look[i])
		}
	})
	if err != nil {
		return err
	}
	for i := range p.look {
		if errs[i] != nil {
			p.noteFailed(&p.look[i], errs[i])
		} else {
			p.todo = append(p.todo, p.look[i].ID)
		}
	}
	p.look = p.look[:0]
	return nil
}

// noteFailed notes that an item cannot be embedded.
func (p *pass) noteFailed(it *store.Item, why error) {
	p.left[it.ID] = true
	bad := Item{ID: it.ID, Path: it.Path, Reason: why.Error(), digest: contentDigest(it)}
	switch {
	case errors.Is(why, mirror.ErrNoPath):
		p.bad.NoPath = append(p.bad.NoPath, bad)
	case errors.Is(why, mirror.ErrChanged):
		p.bad.Changed = append(p.bad.Changed, bad)
	case p.opt.DropMissing:
		p.drop = append(p.drop, it.ID)
	default:
		p.bad.Missing = append(p.bad.Missing, bad)
	}
}

// checkFailed returns an error if items cannot be embedded and may not be dropped. Items that were removed
// or replaced since the pass began are left to the next one: a server deletes their photos.
func (p *pass) checkFailed() error {
	lists := []*[]Item{&p.bad.NoPath, &p.bad.Changed, &p.bad.Missing}
	if !slices.ContainsFunc(lists, func(l *[]Item) bool { return len(*l) > 0 }) {
		return nil
	}
	now, err := index.Open(p.dir, index.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer now.Close()
	n := 0
	for _, list := range lists {
		*list = slices.DeleteFunc(*list, func(i Item) bool {
			it, there, e := now.Get(i.ID)
			err = errors.Join(err, e)
			return e == nil && (!there || it.Path != i.Path || contentDigest(&it) != i.digest)
		})
		n += len(*list)
	}
	if err != nil || n == 0 {
		return err
	}
	p.bad.Items = p.total
	return &p.bad
}

// embed computes the vectors that are missing.
func (p *pass) embed(ctx context.Context) error {
	rows := p.opt.piece
	if rows == 0 {
		rows = shards.WholeBatches(p.opt.Model, minPiece)
	}
	total, ready := p.total-len(p.left), p.total-len(p.left)-len(p.todo)
	for lo := 0; lo < len(p.todo); lo += rows {
		ids := p.todo[lo:min(lo+rows, len(p.todo))]
		p.opt.Model.Progress = func(done, _ int) { p.progress("embedding", ready+lo+done, total) }
		if err := p.embedItems(ctx, ids); err != nil {
			return err
		}
	}
	return nil
}

// embedItems computes and writes the vectors of some items.
func (p *pass) embedItems(ctx context.Context, ids []string) error {
	var all []store.Item
	var files []fs.FileInfo
	for _, id := range ids {
		it, there, err := p.x.Get(id)
		if err != nil {
			return err
		}
		if !there { // removed meanwhile
			continue
		}
		info, err := os.Stat(it.Path)
		if err != nil {
			p.noteFailed(&it, err)
			continue
		}
		all, files = append(all, it), append(files, info)
	}
	// Whole photos are decoded as those of a set without boxes.
	for _, boxed := range []bool{false, true} {
		var some []int
		var paths []string
		var boxes []image.Rectangle
		for i := range all {
			// Intact has found it to be a box.
			if box, _ := embedding.ParseRegion(mirror.Region(all[i].Columns)); !box.Empty() == boxed {
				some, paths, boxes = append(some, i), append(paths, all[i].Path), append(boxes, box)
			}
		}
		if len(some) == 0 {
			continue
		}
		if !boxed {
			boxes = nil
		}
		e, err := p.opt.Model.EmbedPart(ctx, data.ListFiles("items", paths, boxes).All())
		if err != nil {
			return err
		}
		for _, s := range e.Skipped {
			p.noteFailed(&all[some[s.Sample]], s.Err)
		}
		var add []store.Item
		for row, pos := range e.Pos {
			it, was := &all[some[pos]], files[some[pos]]
			is, err := os.Stat(it.Path)
			if err != nil || is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime()) {
				p.noteFailed(it, mirror.ErrChanged)
				continue
			}
			it.Vector = e.X.Row(row)
			add = append(add, *it)
		}
		if _, err := p.staged.Add(ctx, add, index.AddOptions{Existing: index.Replace}); err != nil {
			return err
		}
		p.done.Embedded += len(add)
	}
	return nil
}

// removeOthers removes the items that the index does not have, and those that cannot be embedded.
func (p *pass) removeOthers(ctx context.Context) error {
	var gone []string
	for it, err := range p.staged.AllWithoutVectors() {
		if err != nil {
			return err
		}
		_, there, err := p.x.Get(it.ID)
		if err != nil {
			return err
		}
		if !there || p.left[it.ID] {
			gone = append(gone, it.ID)
		}
	}
	_, err := p.staged.Remove(ctx, gone...)
	return err
}

// ItemsError is the error for items whose photos cannot be embedded again. Nothing of the index was changed.
type ItemsError struct {
	Items int // of the index
	// Missing lists items whose photos are gone or cannot be read, Changed items whose photos have another content than
	// the one that was embedded, and NoPath items without a photo.
	Missing, Changed, NoPath []Item
}

// Item is an item that cannot be embedded again.
type Item struct {
	ID, Path, Reason string
	digest           string
}

func (e *ItemsError) Error() string {
	return fmt.Sprintf("%d of %d items cannot be embedded again: the photos of %d are missing or unreadable, those of "+
		"%d have changed, and %d have no photo", len(e.Missing)+len(e.Changed)+len(e.NoPath), e.Items, len(e.Missing),
		len(e.Changed), len(e.NoPath))
}
