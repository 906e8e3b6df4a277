package serve

import (
	"context"
	"errors"
	"slices"

	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/store"
)

// itemGetter returns an item as it is at the moment of writing, or a *store.NotFoundError.
type itemGetter = func(id string) (store.Item, error)

// update makes the change that compute returns, and returns how many of the items to remove existed. In a database the
// items may be changed by other servers meanwhile.
func (c *servedCollection) update(ctx context.Context, compute func(itemGetter) (store.Change, error)) (removed int,
	err error) {
	if u, ok := c.Store.(store.Updater); ok {
		return u.Update(ctx, compute)
	}
	c.updating.Lock()
	defer c.updating.Unlock()
	change, err := compute(c.currentGetter(ctx))
	if err != nil {
		return 0, err
	}
	if len(change.Remove) > 0 {
		removed, err = c.Store.Delete(ctx, change.Remove)
	}
	if err == nil && len(change.Put) > 0 {
		err = c.Store.Put(ctx, change.Put, store.Replace)
	}
	return removed, err
}

// currentGetter returns a getter of the items as they are now.
func (c *servedCollection) currentGetter(ctx context.Context) itemGetter {
	return func(id string) (store.Item, error) { return c.Store.Get(ctx, id) }
}

// getIfExists returns an item, and false if it does not exist.
func getIfExists(get itemGetter, id string) (it store.Item, ok bool, err error) {
	it, err = get(id)
	var missing *store.NotFoundError
	if errors.As(err, &missing) {
		return it, false, nil
	}
	return it, err == nil, err
}

// prepareReplacement prepares an item that takes the place of another one. With the same photo it keeps the
// facts of its file. The photo of an item from a followed folder stays.
func (c *servedCollection) prepareReplacement(old, it *store.Item) error {
	if slices.Equal(it.Vector, old.Vector) && (it.Path == "" || it.Path == old.Path) {
		it.Path = old.Path
		mirror.CopyFileRecord(old, it)
		return nil
	}
	return c.checkOwned(old, "Replace the file in the folder; single columns are changed by PATCH.", "changed")
}

// checkOwned returns the problem of a request that changes what only the followed folder may change; nil if
// the item is not from that folder.
func (c *servedCollection) checkOwned(it *store.Item, way, what string) error {
	if !c.FolderSync.Owns(it) {
		return nil
	}
	return conflict.newProblem(way,
		"the photo of the item %q belongs to the folder that the collection follows, so it is not "+
			"%s here", it.ID, what)
}
