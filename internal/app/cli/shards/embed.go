package shards

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
	"os"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
)

// Source names a data set that workers open too.
type Source struct {
	// Data is a name for data.Open. A path must lead to the same files on all machines.
	Data    string `json:"data"`
	Outside bool   `json:"outside,omitempty"`
}

// embedSet is what the shards of a set have in common.
type embedSet struct {
	Source
	Model   string `json:"model"` // file of the queue: an archive of what run.Load needs
	Strict  bool   `json:"strict,omitempty"`
	Samples string `json:"samples"` // digest of the names of all samples
}

// embedSpec is a shard of a set.
type embedSpec struct {
	embedSet
	// At has the positions of the shard's samples as ascending ranges: the first, and the one after the last.
	At [][2]int `json:"at"`
	// Contents is a digest of the samples' contents, if they are known: a job of other contents is another job.
	Contents string `json:"contents,omitempty"`
}

// ShardOptions controls how a data set is cut into shards.
type ShardOptions struct {
	// Rows is the least number of samples of a shard (default 1024). It is rounded up to
	// whole batches, so that every sample is in the same batch as in a single process.
	Rows int
	// Strict makes the first image that cannot be read an error; otherwise such images are
	// left out.
	Strict bool
}

// Runner runs jobs and stores their files.
type Runner interface {
	jobs.Runner
	jobs.Files
}

// SharedDataset is a data set that a Runner embeds, with the network for it.
type SharedDataset struct {
	// Rows is the number of samples of a shard.
	Rows   int
	set    embedSet
	dim    int
	data   *data.Dataset
	runner Runner
}

// NewSharedDataset stores the network of m where the jobs of runner find it.
func NewSharedDataset(ctx context.Context, m *run.Model, d *data.Dataset, s Source, c ShardOptions,
	runner Runner) (*SharedDataset, error) {
	dir, err := os.MkdirTemp("", "kindred-network-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var file string
	if err = m.Save(dir); err == nil {
		file, err = runner.Store(ctx, func(w io.Writer) error { return pack(w, dir) })
	}
	if err != nil {
		return nil, fmt.Errorf("storing the network in the queue: %w", err)
	}
	return &SharedDataset{WholeBatches(m, cmp.Or(c.Rows, 1024)), embedSet{s, file, c.Strict, digestTexts(itemNames(d))},
		m.Net.Dim(), d,
		runner}, nil
}

// WholeBatches rounds a number of samples up to whole batches of the model's embeddings.
func WholeBatches(m *run.Model, rows int) int {
	batch := cmp.Or(m.Config.Eval.Batch, 64)
	return (max(1, rows) + batch - 1) / batch * batch
}

// Embed returns the embeddings of p, whose samples are in the order of the set, as those of Model.EmbedPart. It also
// returns the jobs, whose results the caller removes after writing its own. digests has a digest of each sample's
// content, or is nil: then results of an earlier call are used even if the content of a sample has changed since.
func (s *SharedDataset) Embed(ctx context.Context, p *data.Part, digests []string) (
	*run.Embeddings, []jobs.Job, error) {
	var list []jobs.Job
	for from := 0; from < p.Len(); from += s.Rows {
		to := min(p.Len(), from+s.Rows)
		at, contents := p.Index[from:to], ""
		if digests != nil {
			contents = digestTexts(digests[from:to])
		}
		j, err := jobs.New(embedKind, embedSpec{s.set, positionRanges(at), contents})
		if err != nil {
			return nil, nil, fmt.Errorf("%w; or choose smaller shards", err)
		}
		j.Title = fmt.Sprintf("embed: %s, %d to %d", s.data.Name, at[0], at[len(at)-1])
		list = append(list, j)
	}
	results, err := s.runner.Run(ctx, list)
	if err != nil {
		return nil, list, err
	}
	e, err := s.joinShards(p, list, results)
	return e, list, err
}

// RemoveResults removes the results of jobs of Embed.
func (s *SharedDataset) RemoveResults(ctx context.Context, list []jobs.Job) error {
	return s.runner.Forget(ctx, list)
}

// positionRanges returns ascending positions as ranges.
func positionRanges(at []int) [][2]int {
	var out [][2]int
	for _, i := range at {
		if n := len(out); n > 0 && out[n-1][1] == i {
			out[n-1][1]++
		} else {
			out = append(out, [2]int{i, i + 1})
		}
	}
	return out
}

// positions returns the positions of a shard in a set of n samples.
func (s *embedSpec) positions(n int) ([]int, error) {
	var at []int
	last := 0
	for _, r := range s.At {
		if r[0] < last || r[0] >= r[1] || r[1] > n {
			return nil, fmt.Errorf("samples %d to %d of %d", r[0], r[1], n)
		}
		for last = r[0]; last < r[1]; last++ {
			at = append(at, last)
		}
	}
	return at, nil
}

// itemNames returns the names of the samples' items.
func itemNames(d *data.Dataset) []string {
	out := make([]string, d.Len())
	for i := range out {
		out[i] = d.ItemName(i)
	}
	return out
}

// digestTexts returns a digest of texts, such as the names of the samples.
func digestTexts(texts []string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%q\n", t)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// shard is the head of a result, as a line of JSON. The rows follow
// as float32, little-endian.
type shard struct {
	Rows    int            `json:"rows"`
	Cols    int            `json:"cols"`
	Pos     []int          `json:"pos"` // positions in the shard
	LeftOut []data.LeftOut `json:"left_out,omitempty"`
}

func writeShard(e *run.Embeddings) ([]byte, error) {
	s := shard{Rows: e.X.Rows, Cols: e.X.Cols, Pos: e.Pos, LeftOut: e.LeftOut}
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
	if err := strictjson.UnmarshalLoose(head, &s); err != nil {
		return s, nil, fmt.Errorf("a damaged result: %w", err)
	}
	if s.Rows < 0 || s.Cols < 0 || s.Rows != len(s.Pos) ||
		budget.Product(4, int64(s.Rows), int64(s.Cols)) != int64(len(rows)) {
		return s, nil, fmt.Errorf("a damaged result: %d x %d numbers in %d bytes at %d places", s.Rows, s.Cols,
			len(rows), len(s.Pos))
	}
	return s, rows, nil
}

// joinShards joins the shards of p.
func (s *SharedDataset) joinShards(p *data.Part, list []jobs.Job, results []jobs.Result) (*run.Embeddings, error) {
	if err := budget.Check("the embeddings of "+s.data.Name,
		budget.Product(4, int64(p.Len()), int64(s.dim))); err != nil {
		return nil, err
	}
	e := &run.Embeddings{X: matrix.New(p.Len(), s.dim), Part: p, LeftOut: s.data.AllLeftOut()}
	for i, r := range results {
		h, rows, err := readShard(r.Output)
		if err == nil && h.Rows > 0 && h.Cols != s.dim {
			err = fmt.Errorf("embeddings of %d numbers instead of %d", h.Cols, s.dim)
		}
		from := i * s.Rows
		last, n := -1, min(s.Rows, p.Len()-from)
		for k := 0; err == nil && k < h.Rows; k++ {
			at := h.Pos[k]
			if at <= last || at >= n {
				err = fmt.Errorf("a damaged result: sample %d of %d", at, n)
				break
			}
			row := e.X.Row(len(e.Pos))
			for c := range row {
				row[c] = math.Float32frombits(binary.LittleEndian.Uint32(rows[4*(k*s.dim+c):]))
			}
			e.Pos, last = append(e.Pos, from+at), at
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list[i].Title, err)
		}
		e.LeftOut = data.AddLeftOut(e.LeftOut, s.data.LeftOut, h.LeftOut)
	}
	e.X = e.X.RowRange(0, len(e.Pos))
	return e, nil
}

// openShardSource is a network with a data set, kept for further shards.
type openShardSource struct {
	of    embedSet
	in    *rootfs.Roots // what the job's submitter may read
	model *run.Model
	data  *data.Dataset
	part  *data.Part
}

// close closes the data set and the roots. Errors do not matter after reading.
func (o *openShardSource) close() { _, _ = o.data.Close(), o.in.Close() }

// embed embeds a shard. Shards that come at the same time wait for each other: one
// uses all cores.
func (k *WorkerKit) embed(ctx context.Context, t jobs.Task) ([]byte, error) {
	var s embedSpec
	if err := t.Job().Decode(&s); err != nil {
		return nil, err
	}
	in, err := k.jobRoots(t.Job())
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.openFor(ctx, t, s.embedSet, in); err != nil {
		in.Close()
		return nil, err
	}
	at, err := s.positions(k.last.part.Len())
	if err != nil {
		return nil, err
	}
	m := k.last.model.Copy()
	m.Progress = func(done, total int) { t.Report(fmt.Sprintf("%d of %d", done, total)) }
	e, err := m.EmbedPart(ctx, k.last.part.Subset(at))
	if err != nil {
		return nil, err
	}
	return writeShard(e)
}

// openFor opens what a shard needs, unless it is open from the last shard. The rights are those of the
// submitter, who may be another one than the last.
func (k *WorkerKit) openFor(ctx context.Context, t jobs.Task, s embedSet, in *rootfs.Roots) error {
	if err := k.allowData(in, "data", s.Data, s.Outside); err != nil {
		return err
	}
	if k.last != nil && k.last.of == s && (k.last.in == nil) == (in == nil) {
		return in.Close()
	}
	if k.last != nil {
		k.last.close()
		k.last = nil
	}
	dir, remove, err := k.makeTempDir()
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
	d, err := k.Open(rootfs.WithRoots(ctx, in), s.Data, data.OpenOptions{Home: k.Home, Formats: k.Formats,
		Crop: m.Config.Data.Crop, Outside: s.Outside, Unlabelled: true, Distinct: true,
		Strict: s.Strict})
	if err != nil {
		return err
	}
	if digestTexts(itemNames(d)) != s.Samples {
		return errors.Join(fmt.Errorf("%s has other samples here (%d) than where the job was submitted",
			s.Data, d.Len()), d.Close())
	}
	k.last = &openShardSource{s, in, m, d, d.All()}
	return nil
}
