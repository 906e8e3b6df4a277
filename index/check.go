package index

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/kindred-ml/kindred/internal/base/lock"
)

// CheckOptions control Check.
type CheckOptions struct {
	// Repair repairs what is wrong. The index must not be open for writing meanwhile.
	Repair bool
	// Progress, if set, is called with the number of bytes read.
	Progress func(done, total int64)
}

// CheckResult is the result of Check.
type CheckResult struct {
	Items    int       `json:"items"` // items in the index, after a repair if asked for
	Segments int       `json:"segments"`
	Bytes    int64     `json:"bytes"`
	Problems []Problem `json:"problems"`
	// Unfinished is the number of bytes after the last whole frame of the log. They were
	// never acknowledged. A process that is killed, or a machine that stops, leaves such
	// bytes, and the next start removes them.
	Unfinished int64 `json:"unfinished"`
}

// Problem is a damaged file.
type Problem struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
	// Consequence is the effect of a repair.
	Consequence string `json:"consequence"`
	// Lost is the number of items that a repair loses, as far as it is known.
	Lost int `json:"lost"`
}

// Check reads the whole index in a folder, compares all checksums, and verifies that every
// item is found by its id and no id occurs twice. Without Repair it changes nothing; if the
// index is open elsewhere, it reads the state of one moment, and what is written or removed
// meanwhile is never a problem. It returns an error if the folder has no readable manifest,
// which cannot be repaired.
func Check(ctx context.Context, dir string, opt CheckOptions) (*CheckResult, error) {
	if opt.Repair {
		if _, err := readManifest(dir); err != nil {
			return nil, err
		}
		held, err := lock.Folder(dir)
		if err != nil {
			return nil, err
		}
		defer held.Release()
	}
	return check(ctx, dir, opt, readManifest)
}

// maxRereads is how often a check that found problems begins anew because the files with the
// problems were replaced meanwhile.
const maxRereads = 10

// check is Check with the function that reads the manifest. For a repair the caller holds the
// lock.
func check(ctx context.Context, dir string, opt CheckOptions,
	latest func(string) (*manifest, error)) (*CheckResult, error) {
	var c *checker
	defer func() { c.close() }()
	left := maxRereads
	err := readConsistently(dir, latest, func(o *openFiles) error {
		c.close()
		c = &checker{ctx: ctx, dir: dir, m: o.m, files: o, opt: opt, total: o.size(),
			out: &CheckResult{Problems: []Problem{}}, ids: make(map[string]bool)}
		if err := c.readAll(); err != nil {
			return fmt.Errorf("checking %s: %w", dir, err)
		}
		if left--; left >= 0 && c.isOutdated(latest) {
			return errReplaced
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !opt.Repair || len(c.out.Problems) == 0 {
		return c.out, nil
	}
	return c.out, c.repair()
}

// checker checks an index. Its parts and tail have what is intact or can be saved.
type checker struct {
	ctx   context.Context
	dir   string
	m     *manifest
	files *openFiles
	opt   CheckOptions
	out   *CheckResult
	total int64

	state *state
	ids   map[string]bool // of the rows seen, the newest first
	// toRewrite are parts whose segment must be rewritten.
	toRewrite map[*segment]bool
	open      []*segment
}

func (c *checker) close() {
	if c == nil {
		return
	}
	for _, s := range c.open {
		s.file.Close()
	}
}

func (c *checker) addProblem(file string, lost int, consequence, format string, args ...any) {
	c.out.Problems = append(c.out.Problems, Problem{file, fmt.Sprintf(format, args...), consequence, lost})
}

// reasonOf returns the message of an error about a file, without the advice to run Check.
func reasonOf(err error) string {
	var damage *DamageError
	if errors.As(err, &damage) {
		return damage.Reason
	}
	return err.Error()
}

// isOutdated reports whether there is a problem with a file that the newest manifest no longer
// names.
func (c *checker) isOutdated(latest func(string) (*manifest, error)) bool {
	if len(c.out.Problems) == 0 {
		return false
	}
	now, err := latest(c.dir)
	if err != nil || now.isSameGeneration(c.m) {
		return false
	}
	names := now.fileNames()
	return slices.ContainsFunc(c.out.Problems, func(p Problem) bool { return !slices.Contains(names, p.File) })
}

// cannotOpen reports whether an error means that this process may not or cannot open a file at
// present. The file itself may be intact.
func cannotOpen(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// readAll reads all files.
func (c *checker) readAll() error {
	c.toRewrite = make(map[*segment]bool)
	c.out.Segments = len(c.m.Segments)
	var parts []part
	for _, ref := range c.m.Segments {
		p, err := c.readSegment(ref)
		if err != nil {
			return err
		}
		if p.seg != nil {
			parts = append(parts, p)
		}
	}
	c.state = newState(c.m, parts)
	if err := c.readLog(); err != nil {
		return err
	}
	return recoverMapped(func() error {
		c.findDuplicates()
		return nil
	})
}

// addProgress adds to the progress.
func (c *checker) addProgress(n int64) error {
	c.out.Bytes += n
	if c.opt.Progress != nil {
		c.opt.Progress(c.out.Bytes, c.total)
	}
	return c.ctx.Err()
}

// readSegment reads one segment and its removals.
func (c *checker) readSegment(ref segmentRef) (part, error) {
	var s *segment
	var bad []string
	f, err := c.files.takeSegment(ref.File)
	if err == nil {
		s, bad, err = readDamagedSegment(filepath.Join(c.dir, ref.File), f, c.m.Dim, c.m.Distance)
	}
	if cannotOpen(err) {
		return part{}, err
	}
	if err != nil {
		c.addProblem(ref.File, ref.Rows, "its items are lost", "%s", reasonOf(err))
		return part{}, c.ctx.Err()
	}
	c.open = append(c.open, s)
	p := part{seg: s, live: s.allRows, removedFile: ref.RemovedFile}
	if s.n != ref.Rows {
		c.addProblem(ref.File, 0, "the manifest is corrected", "it has %d rows, and the manifest says %d", s.n,
			ref.Rows)
	}
	if ref.RemovedFile != "" {
		if p.live, err = ref.liveRows(c.files, s.n); cannotOpen(err) {
			return part{}, err
		} else if err != nil {
			c.addProblem(ref.RemovedFile, 0, "items that were removed come back", "%s", reasonOf(err))
			p.live, p.removedFile = s.allRows, ""
		}
	}
	lost := newBitmap(s.n)
	err = recoverMapped(func() error {
		bad = append(bad, s.checkSections(lost)...)
		if len(bad) == 0 {
			bad = s.checkFind()
		}
		return nil
	})
	if err != nil {
		c.addProblem(ref.File, ref.Rows, "its items are lost", "%s", reasonOf(err))
		return part{}, c.ctx.Err()
	}
	n := 0
	lost.visitRows(func(r int) bool {
		if p.live.has(r) {
			n++
		}
		return true
	})
	for _, reason := range bad {
		c.toRewrite[s] = true
		what := "it is rebuilt"
		if n > 0 {
			what = fmt.Sprintf("%d items are lost", n)
		}
		c.addProblem(ref.File, n, what, "%s", reason)
	}
	if n > 0 {
		p.live = slices.Clone(p.live)
		lost.visitRows(func(r int) bool {
			p.live.clear(r)
			return true
		})
	}
	p.numRemoved = s.n - p.live.count()
	return p, c.addProgress(int64(len(s.file.Bytes)))
}

const (
	sectionDiffers = "the checksum of section %s is wrong"
	vectorsDiffer  = "the checksum of section vectors is wrong"
)

// checkSections compares the checksums of all sections that have not been compared yet, and
// notes the rows whose vectors are lost.
func (s *segment) checkSections(lost bitmap) (bad []string) {
	for _, t := range s.table.Sections {
		if t.Name != "vectors" && t.Name != "codes" {
			continue
		}
		if crc32.Checksum(s.file.Bytes[t.Offset:t.Offset+t.Length], castagnoli()) != t.Sum {
			bad = append(bad, fmt.Sprintf(sectionDiffers, t.Name))
		}
	}
	if s.sums == nil && len(bad) > 0 && bad[0] == vectorsDiffer {
		copy(lost, s.allRows) // it is not known which
	}
	for b, sum := range s.sums {
		lo, hi := b*s.group, min((b+1)*s.group, s.n)
		if crc32.Checksum(bytesOf(s.x[lo*s.d:hi*s.d]), castagnoli()) != sum {
			for r := lo; r < hi; r++ {
				lost.set(r)
			}
		}
	}
	for r := range s.n {
		if !lost.has(r) && (firstNonFinite(s.row(r)) >= 0 || !isValidID(s.ids.at(r))) {
			bad = append(bad, fmt.Sprintf("row %d has no valid item", r))
			lost.set(r)
		}
	}
	return bad
}

// checkFind checks that every row is found by its id.
func (s *segment) checkFind() []string {
	for r := range s.n {
		if s.find(s.ids.at(r)) != r {
			return []string{fmt.Sprintf("row %d is not found by its id", r)}
		}
	}
	return nil
}

// readLog reads the log.
func (c *checker) readLog() error {
	c.state.begin()
	var found *logContent
	f, err := c.files.fileOf(c.m.Log)
	if err == nil {
		found, err = readLog(f, c.m.Index, c.m.Dim, func(ops []operation) error {
			return recoverMapped(func() error { return c.state.replay(ops) })
		})
	}
	var damage *DamageError
	switch {
	case errors.As(err, &damage):
		c.addProblem(c.m.Log, 0, "changes from there on, up to the next segment, are lost", "%s",
			damage.Reason)
	case errors.Is(err, fs.ErrNotExist):
		c.addProblem(c.m.Log, 0, "the last changes are lost", "it is missing")
	case err != nil:
		return err
	case found.shortfall != nil:
		c.addProblem(c.m.Log, 0, "they are lost", "%s", found.shortfall.reason())
	}
	c.state.commit()
	switch {
	case err == nil:
		c.out.Unfinished = max(0, found.size-found.end)
		return c.addProgress(found.size)
	case f == nil:
		return nil
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return c.addProgress(st.Size())
}

// findDuplicates finds ids that occur twice (the newest item counts), and counts
// the items.
func (c *checker) findDuplicates() {
	twice := ""
	n := 0
	see := func(id string) bool {
		if c.ids[id] {
			twice = id
			n++
			return false
		}
		c.ids[string([]byte(id))] = true
		return true
	}
	t := c.state.tail
	for i := t.rows() - 1; i >= 0; i-- {
		if t.live.has(i) {
			see(t.items[i].ID)
		}
	}
	for k := len(c.state.parts) - 1; k >= 0; k-- {
		p := &c.state.parts[k]
		live := slices.Clone(p.live)
		p.live.visitRows(func(r int) bool {
			if !see(p.seg.ids.at(r)) {
				live.clear(r)
				p.numRemoved++
			}
			return true
		})
		p.live = live
	}
	if n > 0 {
		c.addProblem(manifestFile, 0, "the newest item of each id is kept", "%d ids occur twice, such as %q", n, twice)
	}
	c.out.Items = len(c.ids)
}

// repair writes a manifest of the intact parts, and rewrites damaged ones.
func (c *checker) repair() error {
	x := &Index{dir: c.dir, sizes: defaultLimits()}
	w := &writer{x: x, m: c.m, state: c.state}
	w.next.Store(c.m.Next)
	for i := range c.state.parts {
		p := &c.state.parts[i]
		p.numRecorded = -1 // write the removed rows again
		if p.numRemoved == 0 {
			p.numRecorded, p.removedFile = 0, ""
		}
	}
	ch := w.change()
	parts := slices.Clone(c.state.parts)
	for i, p := range parts {
		if !c.toRewrite[p.seg] || p.numRemoved == p.seg.n {
			continue
		}
		rows := &viewSource{v: &view{parts: parts[i : i+1], tail: &tail{dim: c.m.Dim}}}
		p.live.visitRows(func(r int) bool {
			rows.list = append(rows.list, rowRef{0, int32(r)})
			return true
		})
		var anew part
		if err := recoverMapped(func() error {
			anew = ch.writeSegment(c.ctx, rows, nil, nil)
			return ch.err
		}); err != nil {
			return err
		}
		c.open = append(c.open, anew.seg)
		parts[i] = anew
	}
	if !slices.ContainsFunc(parts, func(p part) bool { return p.seg.lists != nil }) {
		ch.m.Lists = nil
	}
	if err := w.sealLog(c.ctx, ch, parts); err != nil {
		return err
	}
	defer w.log.close()
	return x.removeOrphans(w.m)
}
