package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/internal/test/mutations"
	"github.com/kindred-ml/kindred/internal/test/powertest"
)

// newRefusals lists some files.
func newRefusals(n int, reason string) (out []unreadableItem) {
	for i := range n {
		out = append(out, unreadableItem{ID: fmt.Sprintf("a/%d.jpg", i), Path: fmt.Sprintf("/photos/a/%d.jpg", i),
			Size: int64(i), Modified: "then", Digest: fmt.Sprintf("%064x", i), Set: "/photos", Reason: reason})
	}
	return out
}

// TestMutations changes the list, which is then ignored or of valid entries.
func TestMutations(t *testing.T) {
	dir := t.TempDir()
	u := readUnreadable(dir, "1")
	if err := u.write(atomic.Files{}, newRefusals(3, "damaged")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(u.path)
	if err != nil {
		t.Fatal(err)
	}
	mutations.Try(t, mutations.Reader{Name: "list of unreadable files", Valid: []string{string(text)},
		Read: func(text []byte) error {
			_, err := parseUnreadable(text)
			return err
		}}, mutations.Reader{Name: "decisions about missing photos",
		Valid: []string{`{"format": 1, "pending": "abc", ` +
			`"since": "2026-05-01T12:00:00Z", "confirmed": true, "kept": ["a", "b"]}`}, Read: func(text []byte) error {
			_, err := parseRemovals(text)
			return err
		}})
}

// A list is found again by the same decoders only; a damaged one is nothing but a note.
func TestReadUnreadable(t *testing.T) {
	dir := t.TempDir()
	u := readUnreadable(dir, "1")
	if u.damaged != nil || len(u.list) != 0 {
		t.Fatal(u)
	}
	if err := u.write(atomic.Files{}, newRefusals(3, "damaged")); err != nil {
		t.Fatal(err)
	}
	if u = readUnreadable(dir, "1"); u.damaged != nil || len(u.list) != 3 || !u.hasContent(fmt.Sprintf("%064x", 2)) {
		t.Errorf("%+v", u)
	}
	if u = readUnreadable(dir, "2"); u.damaged != nil || len(u.list) != 0 || u.hasContent(fmt.Sprintf("%064x", 2)) {
		t.Errorf("other decoders: %+v", u)
	}
	whole, err := os.ReadFile(u.path)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"half": string(whole[:len(whole)/2]), "foreign": "hello",
		"a later format": strings.Replace(string(whole), `"format": 1`, `"format": 2`, 1),
		"no digest":      strings.Replace(string(whole), fmt.Sprintf("%064x", 1), "", 1), "empty": ""} {
		if err := os.WriteFile(u.path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if u := readUnreadable(dir, "1"); u.damaged == nil || !strings.Contains(u.damaged.Error(), u.path) ||
			len(u.list) != 0 {
			t.Errorf("%s: %+v", what, u)
		}
	}
}

// Only a file of the same place, size, trusted time and part is known without its content.
func TestRecognise(t *testing.T) {
	dir := t.TempDir()
	list := newRefusals(2, "damaged")
	list[1].Modified = ""
	u := readUnreadable(dir, "1")
	if err := u.write(atomic.Files{}, list); err != nil {
		t.Fatal(err)
	}
	u = readUnreadable(dir, "1")
	same := changes.File{ID: list[0].ID, Path: list[0].Path, Size: list[0].Size, Modified: "then"}
	for what, change := range map[string]func(w *changes.File){
		"id": func(w *changes.File) { w.ID = "other" }, "path": func(w *changes.File) { w.Path = "/other" },
		"size": func(w *changes.File) { w.Size++ }, "time": func(w *changes.File) { w.Modified = "now" },
		"no time": func(w *changes.File) { w.Modified = "" }, "part": func(w *changes.File) { w.Part = "left" },
		"gone":         func(w *changes.File) { w.Unread = true },
		"never a time": func(w *changes.File) { *w = changes.File{ID: list[1].ID, Path: list[1].Path, Size: 1} },
	} {
		w := same
		change(&w)
		if before := w; u.matchUnchanged(&w) || w != before {
			t.Errorf("another %s is the same: %+v", what, w)
		}
	}
	if w := same; !u.matchUnchanged(&w) || !w.Refused || w.Digest != list[0].Digest {
		t.Errorf("%+v", w)
	}
}

// The list has the files that were passed over, with their present times, and those refused now; of other sets, the
// files that exist. Without changes of the index it is still brought up to date.
func TestRemember(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, "a", name) }
	writeFile(t, at("1.png"), "one", time.Hour)
	writeFile(t, filepath.Join(elsewhere, "there.png"), "there", time.Hour)
	x := newFilledIndex(t, openDataset(t, dir), dir, 2)
	look := func(opt Options) *Plan { return planFor(t, x, dir, opt) }
	writeFile(t, at("known.png"), "bad", time.Hour)
	writeFile(t, at("new.png"), "worse", time.Hour)
	p := look(Options{})
	digests := map[string]string{}
	for _, w := range p.Want {
		digests[filepath.Base(w.ID)] = w.Digest
	}
	entry := func(id, path, set string) unreadableItem {
		return unreadableItem{ID: id, Path: path, Digest: digests["known.png"], Set: set, Reason: "damaged"}
	}
	if err := p.unreadable.write(atomic.Files{}, []unreadableItem{entry("a/gone.png", at("gone.png"), dir),
		entry("a/known.png", at("known.png"), dir),
		entry("there.png", filepath.Join(elsewhere, "there.png"), elsewhere),
		entry("was there.png", filepath.Join(elsewhere, "was there.png"), elsewhere)}); err != nil {
		t.Fatal(err)
	}
	if p := look(Options{Again: true}); p.Embed != 2 || p.Counts[changes.Refused] != 0 {
		t.Errorf("again: %+v", p.Plan)
	}
	if p := look(Options{Decoders: "other"}); p.Embed != 2 || p.Counts[changes.Refused] != 0 {
		t.Errorf("other decoders: %+v", p.Plan)
	}
	writeFile(t, at("copy.png"), "bad", 0)
	p = look(Options{})
	if p.Embed != 1 || p.Counts[changes.Refused] != 2 || p.Counts[changes.Added] != 1 {
		t.Fatalf("%+v", p.Plan)
	}
	if err := p.saveUnreadable(map[string]string{digests["new.png"]: "too large"}); err != nil {
		t.Fatal(err)
	}
	listed := func() (out []string) {
		for _, r := range readUnreadable(x.Dir(), imaging.DecoderSet()).list {
			out = append(out, fmt.Sprint(r.ID, " ", r.Modified != "", " ", r.Reason))
		}
		return out
	}
	want := []string{"a/copy.png false damaged", "a/known.png true damaged", "a/new.png true too large",
		"there.png false damaged"}
	if got := listed(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	writeFile(t, at("copy.png"), "bad", time.Hour)
	p = look(Options{})
	if !p.IsEmpty() || p.Counts[changes.Refused] != 3 {
		t.Errorf("%+v", p.Plan)
	}
	want[0] = "a/copy.png true damaged"
	if done, err := p.Apply(t.Context(), x, noNetwork(t), nil); err != nil || done.Note != nil ||
		!slices.Equal(listed(), want) {
		t.Errorf("%+v, %v, %q, want %q", done, err, listed(), want)
	}
	// A list that cannot be written is a note; the index has the change.
	writeFile(t, at("1 again.png"), "one", time.Hour)
	if err := os.Remove(at("copy.png")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	p = look(Options{})
	p.files.Fault = func(string, string) error { return full }
	if done, err := p.Apply(t.Context(), x, noNetwork(t), nil); err != nil || !errors.Is(done.Note, full) ||
		x.Info().Items != 2 || !slices.Equal(listed(), want) {
		t.Errorf("%+v, %v: %d items, %q", done, err, x.Info().Items, listed())
	}
}

// Errors about a content last; errors of the system and of this process's memory do not.
func TestLasting(t *testing.T) {
	t.Setenv("KINDRED_DECODERS", t.TempDir())
	missing := new(imaging.Decoder).Decode(t.Context(), new(imaging.Image), []byte("\x00\x00\x00\x18ftypheic"))
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("the data are not valid JPEG, or end early"), true},
		{&fs.PathError{Op: "read", Path: "a.jpg", Err: syscall.EIO}, false},
		{syscall.EMFILE, false}, {fs.ErrNotExist, false}, {&fileinfo.NotRegularError{Path: "a.jpg"}, false},
		{&budget.Error{What: "PNG", Need: 5, Limit: 4}, false}, {missing, false},
	} {
		if got := isContentError(fmt.Errorf("a.jpg: %w", c.err)); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// After a loss of power at any step of writing the list it is the old one or the new one,
// and a write that fails leaves the old one.
func TestUnreadablePowerLoss(t *testing.T) {
	dir := t.TempDir()
	disk := powertest.Record(t, dir)
	lists := [][]unreadableItem{nil, newRefusals(2, "one"), newRefusals(5, "two"), nil, newRefusals(1, "three")}
	u := readUnreadable(dir, "1")
	ends := []int{0}
	for _, list := range lists[1:] {
		if err := u.write(disk.Files(), list); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, disk.Steps())
	}
	disk.CheckComplete()
	seen := map[int]int{}
	disk.States(1, 20, func(s *powertest.State) bool {
		home := t.TempDir()
		s.Write(t, home)
		got := readUnreadable(home, "1")
		found, last := -1, 0
		for k := range ends {
			if ends[k] <= s.Steps {
				last = k
			}
		}
		for k, list := range lists {
			// A removal is not synced: the list that was removed may be back, and its facts are true.
			may := k == last || k == last+1 && ends[last] < s.Steps || k == last-1 && list != nil && lists[last] == nil
			if may && fmt.Sprint(got.list) == fmt.Sprint(list) {
				found = k
			}
		}
		if got.damaged != nil || found < 0 {
			t.Errorf("after step %d: %+v", s.Steps, got)
		}
		seen[found]++
		return !t.Failed()
	})
	if len(seen) < 4 {
		t.Errorf("only %v were seen: the test shows nothing", seen)
	}
	full := errors.New("no space left on device")
	for _, op := range []string{"create", "write", "sync", "rename"} {
		err := u.write(atomic.Files{Fault: func(o, _ string) error {
			if o == op {
				return full
			}
			return nil
		}}, newRefusals(9, "four"))
		if got := readUnreadable(dir, "1"); !errors.Is(err, full) || len(got.list) != 1 || got.damaged != nil {
			t.Errorf("%s: %v, %+v", op, err, got)
		}
	}
}
