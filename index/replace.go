package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kindred-ml/kindred/store"
)

// errReplacedContents is why an index takes no changes after ReplaceContents.
var errReplacedContents = errors.New("its contents were replaced")

// networkGrace is how long the folder of a network stays after its index got another one. A program that opened the
// index before that can still load the network.
const networkGrace = time.Minute

// ReplaceContents gives the folder of x the contents of another index on the same disk: its items, vectors, dimension,
// distance, lists and the files of its network, which network describes. Columns that only x has stay, without values.
// This is one change: whoever opens the folder finds all of the old contents or all of the new ones, with their
// network. x goes on showing the old contents and takes no more changes: open its folder again. Both indexes must be
// open for writing, and nothing may change other meanwhile. other stays as it is and can be removed afterwards.
func (x *Index) ReplaceContents(ctx context.Context, other *Index, network Network) error {
	if x.w == nil || other.w == nil {
		return store.ErrReadOnly
	}
	for _, w := range []*writer{other.w, x.w} { // no merge may change the files meanwhile
		w.merging.Lock()
		defer w.merging.Unlock()
	}
	if _, err := other.w.submit(&request{ctx: ctx, seal: true}); err != nil {
		return err
	}
	_, err := x.w.submit(&request{ctx: ctx, replace: other, network: network})
	return err
}

// IsOutdated reports whether the contents of the folder were replaced since x was opened.
func (x *Index) IsOutdated() (bool, error) {
	v, err := x.acquire()
	if err != nil {
		return false, err
	}
	defer v.release()
	m, err := readManifest(x.dir)
	return err == nil && m.networkDir() != v.m.networkDir(), err
}

// networkDir returns the name of the folder of the network.
func (m *manifest) networkDir() string {
	if m.NetworkDir == "" {
		return defaultNetwork
	}
	return m.NetworkDir
}

// replace makes the contents of a sealed index those of the folder.
func (w *writer) replace(other *Index, network Network) error {
	v, err := other.acquire()
	if err != nil {
		return err
	}
	defer v.release()
	c := w.change()
	c.m.Dim, c.m.Distance, c.m.Network, c.m.Lists = v.m.Dim, v.m.Distance, network, v.m.Lists
	c.m.Columns, c.err = joinColumns(c.m.Columns, v.m.Columns)
	var parts []part
	for _, ref := range v.m.Segments {
		parts = append(parts, c.copySegment(other.dir, ref))
	}
	c.copyNetwork(filepath.Join(other.dir, v.m.networkDir()))
	c.m.Log = c.newName("log")
	if c.err == nil {
		var l *logFile
		if l, c.err = createLog(w.x.files, filepath.Join(w.x.dir, c.m.Log), c.m.Index); c.err == nil {
			c.err = l.close()
		}
	}
	// Programs that have opened the index load its network from now on for as long as it stays.
	now := time.Now()
	_ = os.Chtimes(filepath.Join(w.x.dir, w.m.networkDir()), now, now)
	if err := c.commit(parts); err != nil {
		return err
	}
	for _, s := range c.segs {
		s.file.Close()
	}
	w.broken = errReplacedContents
	c.removeUnused()
	return nil
}

// joinColumns returns the columns of an index and those that only another one has. A column of both must have one type.
func joinColumns(have, more []store.Column) ([]store.Column, error) {
	out := slices.Clone(have)
	for _, c := range more {
		at := slices.IndexFunc(have, func(h store.Column) bool { return h.Name == c.Name })
		if at >= 0 && have[at].Kind != c.Kind {
			return nil, inputf("column %s has values of kind %v, but its new values are of kind %v", c.Name,
				have[at].Kind, c.Kind)
		}
		if at < 0 {
			out = append(out, c)
		}
	}
	return out, nil
}

// copySegment copies a segment of another index, with its removed rows.
func (c *change) copySegment(from string, ref segmentRef) part {
	if c.err != nil {
		return part{}
	}
	files, dir := c.w.x.files, c.w.x.dir
	path := filepath.Join(dir, c.newName("seg"))
	if c.err = files.Copy(filepath.Join(from, ref.File), path); c.err != nil {
		return part{}
	}
	p := part{}
	if p.seg, c.err = openSegment(path, c.m.Dim, c.m.Distance); c.err != nil {
		return part{}
	}
	c.segs = append(c.segs, p.seg)
	if ref.RemovedFile != "" {
		p.removedFile = c.newName("dead")
		c.err = files.Copy(filepath.Join(from, ref.RemovedFile), filepath.Join(dir, p.removedFile))
	}
	return p
}

// copyNetwork copies the folder of another index's network, if it has one. Without one the new folder is missing, as
// for an index that was made without a network.
func (c *change) copyNetwork(from string) {
	if c.err != nil {
		return
	}
	c.m.NetworkDir = c.w.newName("network")
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	to := filepath.Join(c.w.x.dir, c.m.NetworkDir)
	if c.err = errors.Join(err, c.w.x.files.MkdirAll(to)); c.err != nil {
		return
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			c.err = fmt.Errorf("%s is not a regular file", filepath.Join(from, e.Name()))
		} else if err := c.w.x.files.Copy(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			c.err = err
		}
		if c.err != nil {
			return
		}
	}
	c.err = c.w.x.files.SyncFolder(to)
}

// removeNetworks removes the folders of networks that the manifest does not name, unless one was in use until a moment
// ago. A folder with a number that the manifest gives next was never in use: a process was killed before its change.
func (x *Index) removeNetworks(m *manifest, entries []os.DirEntry) {
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || name == m.networkDir() || name != defaultNetwork && !networkName.MatchString(name) {
			continue
		}
		var number uint64
		_, _ = fmt.Sscanf(name, "%d.network", &number) // 0 for the first network
		if info, err := e.Info(); err == nil && (number >= m.Next || time.Since(info.ModTime()) > networkGrace) {
			_ = os.RemoveAll(filepath.Join(x.dir, name)) // a later start tries again
		}
	}
}
