package mirror

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// UnreadableFileName is the name of the list of unreadable pictures in the folder of an index.
const UnreadableFileName = "unreadable.json"

// unreadableFormat is the version of the file's format.
const unreadableFormat = 1

// unreadableItem is a file whose content no decoder reads.
type unreadableItem struct {
	ID       string `json:"id"`
	Path     string `json:"path,omitempty"`
	Size     int64  `json:"size"`
	Modified string `json:"modified,omitempty"` // "" if the time does not prove unchanged content
	Part     string `json:"part,omitempty"`
	Digest   string `json:"digest"`
	Set      string `json:"set,omitempty"`
	Reason   string `json:"reason"`
}

// unreadable is the list of an index. Losing it costs only the time to try its files again: it has facts about
// contents, and a file with another content is not in it. So it need not be written together with the items, and
// a damaged list is ignored.
type unreadable struct {
	path     string
	decoders string
	list     []unreadableItem // in the order of the ids
	reasons  map[string]string
	at       map[string]int
	damaged  error // reason why the file is ignored
}

// unreadableFile is the form of the list in its file.
type unreadableFile struct {
	Format   int              `json:"format"`
	Decoders string           `json:"decoders"`
	Files    []unreadableItem `json:"files"`
}

// readUnreadable reads the list in the folder of an index.
func readUnreadable(dir, decoders string) *unreadable {
	u := &unreadable{path: filepath.Join(dir, UnreadableFileName), decoders: decoders, reasons: map[string]string{},
		at: map[string]int{}}
	text, err := fileinfo.ReadFile(u.path)
	if errors.Is(err, fs.ErrNotExist) {
		return u
	}
	var f unreadableFile
	if err == nil {
		f, err = parseUnreadable(text)
	}
	if err != nil {
		u.damaged = fmt.Errorf("%s is ignored, and its files are tried again: %w", u.path, err)
		return u
	}
	if f.Decoders != decoders {
		return u
	}
	u.list = f.Files
	for i, r := range u.list {
		u.at[r.ID], u.reasons[r.Digest] = i, r.Reason
	}
	return u
}

func parseUnreadable(text []byte) (f unreadableFile, err error) {
	if err := strictjson.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("not a list of unreadable files: %w", err)
	}
	if f.Format != unreadableFormat {
		return f, fmt.Errorf("its format is %d: want %d", f.Format, unreadableFormat)
	}
	for i, r := range f.Files {
		sum, err := hex.DecodeString(r.Digest)
		if err != nil || len(sum) != len(data.Digest{}) || r.ID == "" || r.Size < 0 {
			return f, fmt.Errorf("files[%d] is not the entry of a file", i)
		}
	}
	return f, nil
}

// matchUnchanged marks a wanted file whose size and time prove that its content is in the list, and sets its digest.
func (u *unreadable) matchUnchanged(w *changes.File) bool {
	i, ok := u.at[w.ID]
	if !ok || w.Unread || w.Modified == "" {
		return false
	}
	r := &u.list[i]
	if w.Modified != r.Modified || w.Size != r.Size || w.Part != r.Part || w.Path != r.Path {
		return false
	}
	w.Digest, w.Refused = r.Digest, true
	return true
}

// hasContent reports whether a content is in the list.
func (u *unreadable) hasContent(digest string) bool {
	_, ok := u.reasons[digest]
	return ok
}

// nextUnreadable returns the list after a change: the plan's files that were passed over, and those whose
// content, by digest, was refused in this change. Entries of other sets stay while their files exist.
func (p *Plan) nextUnreadable(refused map[string]string) []unreadableItem {
	var out []unreadableItem
	wanted := make(map[string]bool, len(p.Want))
	for i := range p.Want {
		wanted[p.Want[i].ID] = true
	}
	for _, r := range p.unreadable.list {
		_, err := os.Lstat(r.Path)
		gone := r.Path != "" && errors.Is(err, fs.ErrNotExist)
		if !wanted[r.ID] && r.Set != p.place && !gone {
			out = append(out, r)
		}
	}
	for _, c := range p.Changes {
		if c.To < 0 {
			continue
		}
		w := &p.Want[c.To]
		reason, ok := "", false
		switch c.Kind {
		case changes.Refused:
			reason, ok = p.unreadable.reasons[w.Digest], true
		case changes.Added, changes.Changed:
			reason, ok = refused[w.Digest]
			ok = ok && c.Like < 0
		}
		if ok {
			out = append(out, unreadableItem{w.ID, w.Path, w.Size, w.Modified, w.Part, w.Digest, p.place, reason})
		}
	}
	slices.SortFunc(out, func(a, b unreadableItem) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// skippedFiles lists the files that the set leaves out and those that are passed over.
func (p *Plan) skippedFiles() []data.LeftOut {
	var known data.Stats
	for _, c := range p.Changes {
		if c.Kind == changes.Refused {
			known.Skipped = append(known.Skipped, data.Skipped{Sample: p.sample[c.To],
				Err: errors.New(p.unreadable.reasons[p.Want[c.To].Digest])})
		}
	}
	return p.set.AllLeftOut(known)
}

// saveUnreadable writes the list of an index, if it is another one than before.
func (p *Plan) saveUnreadable(refused map[string]string) error {
	u, list := p.unreadable, p.nextUnreadable(refused)
	if slices.Equal(list, u.list) && u.damaged == nil {
		return nil
	}
	err := u.write(p.files, list)
	if err != nil {
		return fmt.Errorf("unreadable files are tried again next time: %w", err)
	}
	return nil
}

// write replaces the file, completely or not at all. An empty list has no file.
func (u *unreadable) write(files atomic.Files, list []unreadableItem) error {
	if len(list) == 0 {
		if err := files.Remove(u.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return files.Write(u.path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(unreadableFile{unreadableFormat, u.decoders, list})
	})
}

// isContentError reports whether the error of a picture is about its content: not about opening or reading
// its file, about its decoder, or about the memory of this process, which may be otherwise next time.
func isContentError(err error) bool {
	var path *fs.PathError
	var number syscall.Errno
	var kind *fileinfo.NotRegularError
	var memory *budget.Error
	return !errors.As(err, &path) && !errors.As(err, &number) && !errors.As(err, &kind) && !errors.As(err, &memory) &&
		!errors.Is(err, fs.ErrNotExist) && !imaging.IsDecoderError(err)
}

// loadUnreadable reads the list of an index and marks the files of the set that are in it and unchanged.
func (p *Plan) loadUnreadable(x *index.Index, opt Options) {
	p.place = opt.Set
	p.unreadable = readUnreadable(x.Dir(), cmp.Or(opt.Decoders, imaging.DecoderSet()))
	p.Note = p.unreadable.damaged
	if opt.Again {
		p.unreadable.at, p.unreadable.reasons = nil, nil
	}
	for i := range p.Want {
		if w := &p.Want[i]; p.unreadable.matchUnchanged(w) {
			p.facts[p.sample[i]].Digest = w.Digest
		}
	}
}
