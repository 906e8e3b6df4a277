package work

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/within"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/run"
)

// Source names a data set that workers open too.
type Source struct {
	// Data is a name for data.Open. A path must lead to the same files on all machines.
	Data    string `json:"data"`
	Outside bool   `json:"outside,omitempty"`
}

// embedSpec is a shard: the samples from From up to To.
type embedSpec struct {
	Source
	Model   string `json:"model"` // file of the queue: an archive of what run.Load needs
	Strict  bool   `json:"strict,omitempty"`
	Samples string `json:"samples"` // digest of the names of all samples
	From    int    `json:"from"`
	To      int    `json:"to"`
}

// Cutting controls how a data set is cut into shards.
type Cutting struct {
	// Rows is the least number of samples of a shard (default 1024). It is rounded up to
	// whole batches, so that every sample is in the same batch as in a single process.
	Rows int
	// Strict makes the first image that cannot be read an error; otherwise such images are
	// left out.
	Strict bool
}

// Embed makes runner embed the samples of d with the model of a run, and returns the result of
// m.Embed. It also returns the jobs, whose results the caller removes after writing its own.
func Embed(ctx context.Context, m *run.Model, folder *run.Folder, d *data.Dataset, s Source, c Cutting,
	runner interface {
		jobs.Runner
		jobs.Files
	}) (*run.Embedded, []jobs.Job, error) {
	file, err := runner.Keep(ctx, func(w io.Writer) error { return packFiles(w, folder.Dir(), folder.ModelPaths()) })
	if err != nil {
		return nil, nil, fmt.Errorf("storing the network in the queue: %w", err)
	}
	batch := cmp.Or(m.Config.Eval.Batch, 256)
	rows := (max(1, cmp.Or(c.Rows, 1024)) + batch - 1) / batch * batch
	names := digest(d)
	var list []jobs.Job
	for from := 0; from < d.Len(); from += rows {
		to := min(d.Len(), from+rows)
		j, err := jobs.New(embedKind, embedSpec{s, file, c.Strict, names, from, to})
		if err != nil {
			return nil, nil, err
		}
		j.Title = fmt.Sprintf("embed: %s, %d to %d", d.Name, from, to-1)
		list = append(list, j)
	}
	results, err := runner.Run(ctx, list)
	if err != nil {
		return nil, list, err
	}
	e, err := join(d, m.Net.Dim(), list, results)
	return e, list, err
}

// digest returns a digest of the names of the samples.
func digest(d *data.Dataset) string {
	h := sha256.New()
	for _, n := range d.Names {
		fmt.Fprintf(h, "%q\n", n)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// shard is the head of a result, as a line of JSON. The rows follow
// as float32, little-endian.
type shard struct {
	Rows    int            `json:"rows"`
	Cols    int            `json:"cols"`
	Pos     []int          `json:"pos"` // positions in the data set
	LeftOut []data.LeftOut `json:"left_out,omitempty"`
}

func writeShard(e *run.Embedded, from int) ([]byte, error) {
	s := shard{Rows: e.X.Rows, Cols: e.X.Cols, LeftOut: e.LeftOut}
	for _, p := range e.Pos {
		s.Pos = append(s.Pos, from+p)
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	b = slices.Grow(append(b, '\n'), 4*s.Rows*s.Cols)
	for i := range s.Rows {
		for _, v := range e.X.Row(i) {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b, nil
}

// readShard returns a shard and the bytes of its rows.
func readShard(b []byte) (shard, []byte, error) {
	var s shard
	head, rows, ok := bytes.Cut(b, []byte("\n"))
	if !ok {
		return s, nil, fmt.Errorf("a damaged result: no rows")
	}
	if err := strictjson.Loose(head, &s); err != nil {
		return s, nil, fmt.Errorf("a damaged result: %w", err)
	}
	if s.Rows < 0 || s.Cols < 0 || s.Rows != len(s.Pos) ||
		budget.Product(4, int64(s.Rows), int64(s.Cols)) != int64(len(rows)) {
		return s, nil, fmt.Errorf("a damaged result: %d x %d numbers in %d bytes at %d places", s.Rows, s.Cols,
			len(rows), len(s.Pos))
	}
	return s, rows, nil
}

// join joins shards.
func join(d *data.Dataset, dim int, list []jobs.Job, results []jobs.Result) (*run.Embedded, error) {
	if err := budget.Check("the embeddings of "+d.Name, budget.Product(4, int64(d.Len()), int64(dim))); err != nil {
		return nil, err
	}
	e := &run.Embedded{X: mat.New(d.Len(), dim), Part: d.All(), LeftOut: d.Unread()}
	for i, r := range results {
		s, rows, err := readShard(r.Output)
		if err == nil && s.Rows > 0 && s.Cols != dim {
			err = fmt.Errorf("embeddings of %d numbers instead of %d", s.Cols, dim)
		}
		for k := 0; err == nil && k < s.Rows; k++ {
			at := len(e.Pos)
			if p := s.Pos[k]; p < 0 || p >= d.Len() || at > 0 && p <= e.Pos[at-1] {
				err = fmt.Errorf("a damaged result: sample %d", p)
				break
			}
			row := e.X.Row(at)
			for c := range row {
				row[c] = math.Float32frombits(binary.LittleEndian.Uint32(rows[4*(k*dim+c):]))
			}
			e.Pos = append(e.Pos, s.Pos[k])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list[i].Title, err)
		}
		e.LeftOut = data.AddLeftOut(e.LeftOut, d.LeftOut, s.LeftOut)
	}
	e.X = e.X.RowRange(0, len(e.Pos))
	return e, nil
}

// opened is a network with a data set, kept for further shards.
type opened struct {
	of    embedSpec     // without From and To
	in    *within.Roots // what the job's submitter may read
	model *run.Model
	data  *data.Dataset
	part  *data.Part
}

// close closes the data set and the roots. Errors do not matter after reading.
func (o *opened) close() { _, _ = o.data.Close(), o.in.Close() }

// embed embeds a shard. Shards that come at the same time wait for each other: one
// uses all cores.
func (k *Kit) embed(ctx context.Context, t jobs.Task) ([]byte, error) {
	var s embedSpec
	if err := t.Job().Decode(&s); err != nil {
		return nil, err
	}
	in, err := k.roots(t.Job())
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.openFor(ctx, t, s, in); err != nil {
		in.Close()
		return nil, err
	}
	if n := k.last.part.Len(); s.From < 0 || s.From > s.To || s.To > n {
		return nil, fmt.Errorf("samples %d to %d of %d", s.From, s.To, n)
	}
	at := make([]int, s.To-s.From)
	for i := range at {
		at[i] = s.From + i
	}
	m := *k.last.model
	m.Progress = func(done, total int) { t.Report(fmt.Sprintf("%d of %d", done, total)) }
	e, err := m.Embed(ctx, k.last.part.Subset(at))
	if err != nil {
		return nil, err
	}
	return writeShard(e, s.From)
}

// openFor opens what a shard needs, unless it is open from the last shard. The rights are those of the
// submitter, who may be another one than the last.
func (k *Kit) openFor(ctx context.Context, t jobs.Task, s embedSpec, in *within.Roots) error {
	if err := k.allowData(in, "data", s.Data, s.Outside); err != nil {
		return err
	}
	s.From, s.To = 0, 0
	if k.last != nil && k.last.of == s && (k.last.in == nil) == (in == nil) {
		return in.Close()
	}
	if k.last != nil {
		k.last.close()
		k.last = nil
	}
	dir, remove, err := k.scratch()
	if err != nil {
		return err
	}
	defer remove()
	r, err := t.Open(ctx, s.Model)
	if err != nil {
		return fmt.Errorf("the network: %w", err)
	}
	defer r.Close()
	if err := unpack(r, dir); err != nil {
		return fmt.Errorf("the network: %w", err)
	}
	m, err := run.Load(dir)
	if err != nil {
		return err
	}
	m.Config.Data.Strict = s.Strict
	d, err := k.Open(within.For(ctx, in), s.Data, data.OpenOptions{Home: k.Home, Formats: k.Formats,
		Crop: m.Config.Data.Crop, Outside: s.Outside, Unlabelled: true, Strict: s.Strict})
	if err != nil {
		return err
	}
	if digest(d) != s.Samples {
		return errors.Join(fmt.Errorf("%s has other samples here (%d) than where the job was submitted",
			s.Data, d.Len()), d.Close())
	}
	k.last = &opened{s, in, m, d, d.All()}
	return nil
}
