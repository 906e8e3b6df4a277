package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// RemovalsFileName is the name of the file with the decisions about missing photos in the folder of an index.
const RemovalsFileName = "removals.json"

// removalsFormat is the version of the file's format.
const removalsFormat = 1

// ErrOutdated is the error of a decision about removals that are no longer those that wait.
var ErrOutdated = errors.New("other removals wait now, or none")

// Pending are removals that wait for a decision: too many photos are missing in the folder.
type Pending struct {
	ID      string // a digest of Removed
	Since   time.Time
	Items   int      // number of items of the index that belong to the set
	Removed []string // ids of the items, in their order
}

// Removals are the decisions about the items of an index whose photos are missing. They are kept in a file in its
// folder. The methods may be called by several goroutines; one process has one value for an index.
type Removals struct {
	path string

	mu   sync.Mutex
	file removalsFile // as on the disk
}

type removalsFile struct {
	Format int `json:"format"`
	// Pending is the Pending.ID of the removals that wait, "" if none do. Confirmed means that they may be made.
	Pending   string    `json:"pending,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	Confirmed bool      `json:"confirmed,omitempty"`
	// Kept has the ids of items that stay although their photos are missing, in their order.
	Kept []string `json:"kept,omitempty"`
}

// OpenRemovals reads the decisions in the folder of an index. A damaged file is an error, because without it an item
// that was to be kept could be removed.
func OpenRemovals(dir string) (*Removals, error) {
	r := &Removals{path: filepath.Join(dir, RemovalsFileName), file: removalsFile{Format: removalsFormat}}
	text, err := fileinfo.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		r.file, err = parseRemovals(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s has the decisions about missing photos: %w; restore it, or remove it to be asked "+
			"again", r.path, err)
	}
	return r, nil
}

func parseRemovals(text []byte) (f removalsFile, err error) {
	if err := strictjson.Unmarshal(text, &f); err != nil {
		return f, err
	}
	if f.Format != removalsFormat {
		return f, fmt.Errorf("its format is %d: want %d", f.Format, removalsFormat)
	}
	if !slices.IsSorted(f.Kept) || f.Pending == "" && f.Confirmed {
		return f, errors.New("it was not written by kindred")
	}
	return f, nil
}

// Decide records the decision about removals that wait: remove them at the next comparison, or keep their items. It is
// on the disk when Decide returns. The error is ErrOutdated if other removals wait now.
func (r *Removals) Decide(p *Pending, remove bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file.Pending != p.ID {
		return ErrOutdated
	}
	next := r.file
	if remove {
		next.Confirmed = true
	} else {
		next = removalsFile{Format: removalsFormat, Kept: slices.Concat(r.file.Kept, p.Removed)}
		slices.Sort(next.Kept)
		next.Kept = slices.Compact(next.Kept)
	}
	return r.write(next)
}

// write replaces the file. Without decisions there is no file.
func (r *Removals) write(next removalsFile) error {
	var files atomic.Files
	var err error
	if next.Pending == "" && len(next.Kept) == 0 {
		if err = files.Remove(r.path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = files.Write(r.path, atomic.JSON(next))
	}
	if err == nil {
		r.file = next
	}
	return err
}

// isKept reports whether the item with an id stays although its photo is missing.
func (r *Removals) isKept(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, kept := slices.BinarySearch(r.file.Kept, id)
	return kept
}

// Hold holds back the removals of a plan, if they are more than a share of the items and nobody has confirmed exactly
// these. The other changes of the plan stay.
func (p *Plan) Hold(most float64) {
	if !p.TooMany(most) {
		return
	}
	waits := &Pending{Items: len(p.Have), Removed: p.changedIDs(changes.Removed)}
	sum := sha256.New()
	for _, id := range waits.Removed {
		fmt.Fprintf(sum, "%q\n", id)
	}
	waits.ID = hex.EncodeToString(sum.Sum(nil))
	r := p.removals
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file.Pending == waits.ID && r.file.Confirmed {
		return
	}
	p.Plan.Hold(func(int) bool { return true })
	p.waits = waits
}

// changedIDs returns the ids of the items with a kind of change, in their order.
func (p *Plan) changedIDs(kinds ...changes.Kind) (ids []string) {
	for _, c := range p.Changes {
		if slices.Contains(kinds, c.Kind) {
			ids = append(ids, p.Have[c.From].ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// update records what waits after a plan was applied, and forgets decisions about photos that are there again. An index
// may have items of several sets: decisions about the others stay. stay has the ids of items of this set that stay by a
// decision.
func (r *Removals) update(p *Plan) (waits *Pending, stay []string, err error) {
	back := map[string]bool{}
	for _, c := range p.Changes {
		if c.To >= 0 {
			back[p.Want[c.To].ID] = true
			if c.From >= 0 {
				back[p.Have[c.From].ID] = true
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next := removalsFile{Format: removalsFormat}
	isKept := map[string]bool{}
	for _, id := range r.file.Kept {
		if !back[id] {
			next.Kept, isKept[id] = append(next.Kept, id), true
		}
	}
	for _, id := range p.changedIDs(changes.Removed, changes.Held) {
		if isKept[id] {
			stay = append(stay, id)
		}
	}
	undecided := func(id string) bool { return !isKept[id] }
	if waits = p.waits; waits != nil && slices.ContainsFunc(waits.Removed, undecided) {
		next.Pending, next.Since, next.Confirmed = waits.ID, r.file.Since, r.file.Confirmed
		if next.Pending != r.file.Pending {
			next.Since, next.Confirmed = time.Now().UTC().Truncate(time.Second), false
		}
		waits.Since = next.Since
	}
	if next.Pending == "" || next.Confirmed {
		waits = nil
	}
	if next.Pending == r.file.Pending && next.Confirmed == r.file.Confirmed && slices.Equal(next.Kept, r.file.Kept) {
		return waits, stay, nil
	}
	return waits, stay, r.write(next)
}
