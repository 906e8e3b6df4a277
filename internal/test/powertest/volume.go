package powertest

import (
	"bytes"
	"maps"
	"path"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// sector is the number of bytes that a disk writes whole or not at all.
const sector = 512

// folder is the inode of a folder in names.
const folder = -1

// volume is a folder and its durable state.
type volume struct {
	inodes []*inode
	names  map[string]int // paths as programs see them, with their positions in inodes
	synced map[string]int // the durable paths
	// changes are the later changes of names, by folder, in order.
	changes map[string][]nameChange
}

// inode is the content of a file.
type inode struct {
	durable []byte
	pending []atomic.Step // writes and truncations since the last sync
}

// nameChange is a change of a name: to an inode, or a removal.
type nameChange struct {
	name  string
	inode int
	none  bool
	// after is the position of a change that must happen before this one, or -1: a
	// rename removes the old name only when the new name exists.
	after int
}

func newVolume(begin map[string][]byte) *volume {
	v := &volume{names: make(map[string]int), changes: make(map[string][]nameChange)}
	for _, name := range slices.Sorted(maps.Keys(begin)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			v.names[dir] = folder
		}
		v.names[name] = len(v.inodes)
		v.inodes = append(v.inodes, &inode{durable: begin[name]})
	}
	v.synced = maps.Clone(v.names)
	return v
}

// apply makes a step.
func (v *volume) apply(s atomic.Step) {
	switch s.Op {
	case "create":
		v.applyName(s.Path, len(v.inodes))
		v.inodes = append(v.inodes, &inode{})
	case "mkdir":
		v.applyName(s.Path, folder)
	case "write", "truncate":
		f := v.inodes[v.names[s.Path]]
		f.pending = append(f.pending, s)
	case "sync":
		f := v.inodes[v.names[s.Path]]
		f.durable, f.pending = f.content(allChooser{}), nil
	case "rename":
		dir := path.Dir(s.To)
		v.applyName(s.To, v.names[s.Path])
		delete(v.names, s.Path)
		// Both names are in one folder, because package atomic renames only within a folder.
		v.changes[dir] = append(v.changes[dir], nameChange{name: s.Path, none: true, after: len(v.changes[dir]) - 1})
	case "remove":
		dir := path.Dir(s.Path)
		delete(v.names, s.Path)
		v.changes[dir] = append(v.changes[dir], nameChange{name: s.Path, none: true, after: -1})
	case "names":
		for _, c := range v.changes[s.Path] {
			c.make(v.synced)
		}
		delete(v.changes, s.Path)
	}
}

func (v *volume) applyName(applyName string, inode int) {
	dir := path.Dir(applyName)
	v.names[applyName] = inode
	v.changes[dir] = append(v.changes[dir], nameChange{name: applyName, inode: inode, after: -1})
}

func (c *nameChange) make(names map[string]int) {
	if c.none {
		delete(names, c.name)
	} else {
		names[c.name] = c.inode
	}
}

// pending returns the number of changes that are not durable.
func (v *volume) pending() int {
	n := 0
	for _, c := range v.changes {
		n += len(c)
	}
	for _, f := range v.inodes {
		n += len(f.pending)
	}
	return n
}

// chooser decides what happens to changes that are not durable. It is asked about each, in a
// fixed order.
type chooser interface {
	// hasHappened reports whether a change of a name or of a file's length has happened.
	hasHappened() bool
	// write writes the part of a write that has arrived into a file, which is long enough.
	// The bytes from old on are new.
	write(file []byte, at int, data []byte, old int)
}

// state returns the content of the disk: files by name, and folders by name with a final slash.
func (v *volume) state(by chooser) map[string][]byte {
	names := maps.Clone(v.synced)
	for _, dir := range slices.Sorted(maps.Keys(v.changes)) {
		kept := make([]bool, len(v.changes[dir]))
		for i, c := range v.changes[dir] {
			if kept[i] = by.hasHappened() && (c.after < 0 || kept[c.after]); kept[i] {
				c.make(names)
			}
		}
	}
	content := make([][]byte, len(v.inodes))
	for i, f := range v.inodes {
		content[i] = f.content(by)
	}
	out := make(map[string][]byte)
	for name, at := range names {
		switch {
		case !isReachable(names, name):
		case at == folder:
			out[name+"/"] = nil
		default:
			out[name] = content[at]
		}
	}
	return out
}

// isReachable reports whether the folders above a file exist.
func isReachable(names map[string]int, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if at, ok := names[dir]; !ok || at != folder {
			return false
		}
	}
	return true
}

// content returns the content of a file on the disk.
func (f *inode) content(by chooser) []byte {
	out := f.durable
	shared := true
	for _, s := range f.pending {
		if s.Op == "truncate" {
			if by.hasHappened() && int(s.At) < len(out) {
				out, shared = bytes.Clone(out[:s.At]), false
			}
			continue
		}
		if !by.hasHappened() {
			continue
		}
		if shared {
			out, shared = bytes.Clone(out), false
		}
		old := len(out)
		if end := int(s.At) + len(s.Data); end > old {
			out = append(out, make([]byte, end-old)...)
		}
		by.write(out, int(s.At), s.Data, old)
	}
	return out
}

// allChooser is the chooser of a machine that does not stop.
type allChooser struct{}

func (allChooser) hasHappened() bool                          { return true }
func (allChooser) write(file []byte, at int, b []byte, _ int) { copy(file[at:], b) }
