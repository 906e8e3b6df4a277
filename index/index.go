package index

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	counter "sync/atomic"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/store"
)

// Config describes a new index.
type Config struct {
	// Dim is the length of the vectors, 1 to 65536.
	Dim int
	// Distance orders the neighbours; the default is eval.Euclidean.
	Distance eval.Distance
	// Network is the network that made the vectors, if known. Its files belong into
	// NetworkDir.
	Network Network
}

// Options control how an index is opened.
type Options struct {
	// ReadOnly opens the index in its present state, even while another process writes:
	// later changes are not seen. Add, Remove and Compact are errors.
	ReadOnly bool
}

// Index is an open index. Any number of goroutines may call its methods.
type Index struct {
	dir       string
	dim       int
	readOnly  bool
	sizes     limits
	files     atomic.Files // tests put faults into it
	lock      *lock.Held   // nil if readOnly
	shortfall *Shortfall   // of the log, if readOnly
	w         *writer      // nil if readOnly
	b         queryBatcher
	changes   counter.Uint64 // calls of Change

	mu      sync.Mutex
	view    *view // the newest
	closed  bool
	yielded bool
}

// ErrClosed is the error of a call after Close.
var ErrClosed = errors.New("the index is closed")

// NetworkDir is the folder in a new index for the network that makes its vectors, for
// run.Load. It does not exist if the network is not known. See Index.NetworkDir for an open index.
func NetworkDir(dir string) string { return filepath.Join(dir, defaultNetwork) }

const defaultNetwork = "network"

// NetworkDir is the folder of the network that made the vectors. ReplaceContents replaces the vectors and this folder
// together. The folder stays for a minute after that.
func (x *Index) NetworkDir() string {
	v, err := x.acquire()
	if err != nil {
		return NetworkDir(x.dir)
	}
	defer v.release()
	return filepath.Join(x.dir, v.m.networkDir())
}

// Create makes the folder of an empty index and opens it. An existing folder must not
// hold an index.
func Create(dir string, cfg Config) (*Index, error) {
	if cfg.Dim < 1 || cfg.Dim > maxDim {
		return nil, inputf("the dimension of the index is %d: must be 1 to %d", cfg.Dim, maxDim)
	}
	if err := cfg.Distance.Check(); err != nil {
		return nil, err
	}
	x := &Index{dir: dir, sizes: defaultLimits()}
	return x.create(cfg)
}

func (x *Index) create(cfg Config) (*Index, error) {
	if err := x.files.MkdirAll(x.dir); err != nil {
		return nil, err
	}
	held, err := lock.Folder(x.dir)
	if err != nil {
		return nil, err
	}
	x.lock = held
	if err := x.writeEmpty(cfg); err != nil {
		return nil, errors.Join(err, held.Release())
	}
	return x.open()
}

// writeEmpty writes the files of an empty index.
func (x *Index) writeEmpty(cfg Config) error {
	if _, err := os.Lstat(filepath.Join(x.dir, manifestFile)); err == nil {
		return fmt.Errorf("%s is an index already: %w", x.dir, fs.ErrExist)
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	m := &manifest{Version: formatVersion, Index: hex.EncodeToString(id[:]), Generation: 1, Dim: cfg.Dim,
		Distance: cfg.Distance, Network: cfg.Network, Columns: []store.Column{}, Segments: []segmentRef{}, Next: 2}
	m.Log = logName(1)
	l, err := createLog(x.files, filepath.Join(x.dir, m.Log), m.Index)
	if err != nil {
		return err
	}
	return errors.Join(m.write(x.files, x.dir), l.close())
}

func logName(n uint64) string { return fmt.Sprintf("%06d.log", n) }

// ErrInUse is the error, by errors.Is, of an index that another process has open for writing. The message names the
// process.
var ErrInUse = lock.ErrHeld

// Open opens the index in a folder. The error is ErrInUse if another process has it open for writing, and it is to be
// opened for writing.
func Open(dir string, opt Options) (*Index, error) {
	x := &Index{dir: dir, readOnly: opt.ReadOnly, sizes: defaultLimits()}
	return x.open()
}

// open reads the contents of the folder.
func (x *Index) open() (*Index, error) {
	if !x.readOnly && x.lock == nil {
		if _, err := readManifest(x.dir); err != nil { // check before making a lock in a folder that is not an index
			return nil, err
		}
		held, err := lock.Folder(x.dir)
		if err != nil {
			return nil, err
		}
		x.lock = held
	}
	err := x.load()
	if err != nil {
		if x.lock != nil {
			err = errors.Join(err, x.lock.Release())
		}
		return nil, err
	}
	x.b.answer = x.search
	return x, nil
}

// Close waits for changes under way, and frees the index's resources. Searches under
// way end with an error.
func (x *Index) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	x.mu.Unlock()
	err := x.Yield()
	x.mu.Lock()
	v := x.view
	x.view = nil
	x.mu.Unlock()
	v.release()
	return err
}

// Yield waits for changes under way and lets another process open the index for writing. x can still be read, as it
// is now: it does not see later changes. Changes of x are ErrClosed from then on.
func (x *Index) Yield() error {
	x.mu.Lock()
	done := x.yielded || x.w == nil
	x.yielded = true
	x.mu.Unlock()
	if done {
		return nil
	}
	return errors.Join(x.w.stop(), x.lock.Release())
}

// Dir is the folder of the index.
func (x *Index) Dir() string { return x.dir }

// acquire returns the newest view, to be released.
func (x *Index) acquire() (*view, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.view == nil {
		return nil, ErrClosed
	}
	x.view.refs.Add(1)
	return x.view, nil
}

// publish makes v the view of later calls.
func (x *Index) publish(v *view) {
	x.mu.Lock()
	old := x.view
	x.view = v
	x.mu.Unlock()
	if old != nil {
		old.release()
	}
}

// Info describes an index.
type Info struct {
	Version  int            `json:"version"`
	Items    int            `json:"items"`
	Dim      int            `json:"dim"`
	Distance eval.Distance  `json:"distance"`
	Network  Network        `json:"network"`
	Columns  []store.Column `json:"columns"`
	// Generation grows with every change of the set of files in the folder.
	Generation uint64 `json:"generation"`
	// Removed items still use space; Logged items are not in a segment yet.
	Segments int `json:"segments"`
	Removed  int `json:"removed"`
	Logged   int `json:"logged"`
	// Lists is set if the index was compacted into lists.
	Lists *Lists `json:"lists,omitempty"`
	// Shortfall is set if acknowledged changes are missing. Such an index opens only
	// for reading, until Check repairs it.
	Shortfall *Shortfall `json:"shortfall,omitempty"`
}

// Lists describes the lists of near items into which an index is cut. A search that
// need not be exact reads Probes of them.
type Lists struct {
	NumLists int `json:"lists"`
	Probes   int `json:"probes"`
	// Recall is the share of the true 10 nearest that a search of Probes lists found.
	// It was measured when the lists were made, with Queries items of the index that
	// were not used to make them.
	Recall float64 `json:"recall"`
	// RecallOutliers is the recall for as many queries unlike the items: each is the items' mean
	// moved in a random direction by an item's distance from it. 0 is unknown.
	RecallOutliers float64 `json:"recall_unlike,omitempty"`
	NumQueries     int     `json:"queries"`
}

// Info describes the present state of the index; zero after Close.
func (x *Index) Info() Info {
	v, err := x.acquire()
	if err != nil {
		return Info{}
	}
	defer v.release()
	info := v.info()
	info.Shortfall = x.shortfall
	return info
}

// State identifies the present contents of the index. The text differs after every change and for every other index.
// It is the same in every process that opens the index unchanged, and "" after Close.
func (x *Index) State() string {
	v, err := x.acquire()
	if err != nil {
		return ""
	}
	defer v.release()
	// Within a generation every change adds a row to the tail, or removes one from anywhere.
	return fmt.Sprintf("%s-%d-%d-%d", v.m.Index, v.m.Generation, v.tail.rows(), v.info().Removed)
}

// Get returns the item with an id, or false if no item has it.
func (x *Index) Get(id string) (store.Item, bool, error) {
	v, err := x.acquire()
	if err != nil {
		return store.Item{}, false, err
	}
	defer v.release()
	return v.get(id)
}

// All yields every item, as of the moment it begins. After an error it ends.
func (x *Index) All() iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		v, err := x.acquire()
		if err != nil {
			yield(store.Item{}, err)
			return
		}
		defer v.release()
		v.visitItems(nil, yield)
	}
}

// AllWithoutVectors is All without the vectors, which it does not read.
func (x *Index) AllWithoutVectors() iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		v, err := x.acquire()
		if err != nil {
			yield(store.Item{}, err)
			return
		}
		defer v.release()
		v.allWithoutVectors(yield)
	}
}

// Existing controls what Add does with an item whose id exists already.
type Existing int

const (
	// Skip keeps the existing item.
	Skip Existing = iota
	// Replace replaces it by the new item.
	Replace
	// Refuse adds nothing at all; the error is a *store.ExistsError.
	Refuse
)

// AddOptions control Add.
type AddOptions struct {
	Existing Existing
	// Progress, if set, is called with the number of items written.
	Progress func(done int)
}

// Added counts the items of an Add.
type Added struct {
	Added    int `json:"added"`
	Replaced int `json:"replaced"`
	Skipped  int `json:"skipped"`
}

// Add adds items: all except skipped ones or, with an error, none. Once it returns they
// survive a loss of power. If several items of a call have one id, the last counts with
// Replace, the first with Skip. The caller may change the items afterwards.
//
// The error is an *InputError if a vector has another length than those of the index, a
// *store.ItemError if an item cannot be stored, a *store.ExistsError with Refuse, and
// store.ErrReadOnly if the index is open for reading. If the disk is full it wraps the
// operating system's error; the index is then unchanged and still usable.
func (x *Index) Add(ctx context.Context, items []store.Item, opt AddOptions) (Added, error) {
	if x.w == nil {
		return Added{}, store.ErrReadOnly
	}
	for i := range items {
		if err := checkItem(&items[i], x.dim); err != nil {
			return Added{}, err
		}
	}
	return x.w.add(ctx, items, opt)
}

// Change has removals and additions that are made together.
type Change struct {
	Remove []string
	// Put is written after the removals and replaces items with the same ids.
	Put []store.Item
	// Progress, if set, is called with the number of items of Put written.
	Progress func(done int)
}

// Change makes a change: all of it or, with an error or if the process is killed, nothing.
// Once it returns the change survives a loss of power. It returns how many ids of Remove
// existed, and counts Put as Add does. The errors are those of Add.
func (x *Index) Change(ctx context.Context, c Change) (removed int, added Added, err error) {
	return x.Update(ctx, func() (Change, error) { return c, nil })
}

// Update is Change with a change that is computed from the items as they are at the moment of writing: no other change
// is made between the call of compute and this change. compute may call Get, and must not change the index. If it
// returns an error, nothing is changed and Update returns that error.
func (x *Index) Update(ctx context.Context, compute func() (Change, error)) (removed int, added Added, err error) {
	if x.w == nil {
		return 0, Added{}, store.ErrReadOnly
	}
	r, err := x.w.submit(&request{ctx: ctx, existing: Replace, compute: compute})
	if err == nil {
		x.changes.Add(1)
	}
	return r.removed, r.added, err
}

// Remove removes the items with the given ids and returns how many existed.
func (x *Index) Remove(ctx context.Context, ids ...string) (int, error) {
	if x.w == nil {
		return 0, store.ErrReadOnly
	}
	return x.w.remove(ctx, ids)
}

// RemoveWhere removes the items that pass a filter and returns their number. A nil
// filter is an error: it would remove all.
func (x *Index) RemoveWhere(ctx context.Context, f *store.Filter) (int, error) {
	if x.w == nil {
		return 0, store.ErrReadOnly
	}
	if f == nil {
		return 0, inputf("a removal without a filter would remove all items")
	}
	v, err := x.acquire()
	if err != nil {
		return 0, err
	}
	ids, err := v.ids(f)
	v.release()
	if err != nil {
		return 0, err
	}
	return x.w.remove(ctx, ids)
}

// removeOrphans removes the files of the folder that the manifest does not name: files that
// killed processes left, and files that could not be removed while they were in use.
func (x *Index) removeOrphans(m *manifest) error {
	if err := x.files.Clean(x.dir); err != nil {
		return err
	}
	keep := map[string]bool{m.Log: true}
	for _, s := range m.Segments {
		keep[s.File], keep[s.RemovedFile] = true, true
	}
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); fileName.MatchString(name) && !keep[name] && !strings.HasPrefix(name, ".") {
			_ = x.files.Remove(filepath.Join(x.dir, name)) // a later start tries again if a reader has it open
		}
	}
	x.removeNetworks(m, entries)
	return nil
}
