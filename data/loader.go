package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
)

// LoaderConfig describes a Loader. Zero values mean the stated defaults.
type LoaderConfig struct {
	// Image says how every image is prepared.
	Image prepare.Config
	// Seed, with the epoch and the sample, determines every augmentation.
	Seed uint64
	// Workers is the number of goroutines that prepare samples; default
	// GOMAXPROCS.
	Workers int
	// Prefetch is the number of batches prepared beyond the one in use; default 2.
	Prefetch int
	// Strict makes a sample that cannot be read an error. Otherwise such samples are left out and
	// recorded in Stats.
	Strict bool
	// Smooth enlarges the chroma of JPEG files by interpolation; see
	// imaging.Decoder.
	Smooth bool
	// RawColours leaves colours as they are stored; see imaging.Decoder.
	RawColours bool
	// Bytes asks for samples before normalization, in Batch.Bytes, if 8 bits represent them
	// exactly; see prepare.Pipeline.
	Bytes bool
}

// Batch holds prepared samples. It belongs to the Stream that returned it, and the next call of Next
// overwrites it.
type Batch struct {
	// N samples of H x W x C values each.
	N, H, W, C int
	// Pixels is N x H x W x C, normalised. A Loader of bytes sets Bytes instead, which is not
	// normalised.
	Pixels []float32
	Bytes  []uint8
	// Pos holds the positions in the Part. Label and Fine hold their labels if the Part has labels.
	Pos         []int
	Label, Fine []int64
}

// Sample returns the values of sample i.
func (b *Batch) Sample(i int) []float32 { return nthPiece(b.Pixels, i, b.H*b.W*b.C) }

// nthPiece returns the i-th piece of n values.
func nthPiece[T any](v []T, i, n int) []T { return v[i*n : (i+1)*n : (i+1)*n] }

// Loader prepares batches of a Part in the background. The values of a sample depend on the seed, the
// epoch, the sample and the number of its earlier occurrences in the same batch. They do not depend
// on the number of workers or the machine's speed. Several goroutines may use a Loader, but only one
// may use a Stream.
type Loader struct {
	part     *Part
	cfg      LoaderConfig
	pipeline *prepare.Pipeline
	h, w, c  int
	bytes    bool

	mu    sync.Mutex
	free  []*slot
	stats Stats
	// skipped has the samples in stats.Skipped, and remarked has stats.Remarks.
	skipped  map[int]bool
	remarked map[Remark]bool
}

// Stats holds sums over a Loader's streams.
type Stats struct {
	// Samples handed out.
	Samples int
	// Waited is the time for which Next blocked. Total is the time from the request of each
	// stream's first batch to the stream's end.
	Waited, Total time.Duration
	// Skipped lists the samples that were left out, each once, in the order found.
	Skipped []Skipped
	// Remarks lists the samples that were changed as their users may not expect, each once, in the
	// order found. They are not known for a cache.
	Remarks []Remark
}

// Remark is one of imaging.Decoder.Remarks on a sample, which is identified by its number in the Dataset.
type Remark struct {
	Sample int
	Text   string
}

// Skipped identifies a sample that could not be read by its number in the Dataset.
type Skipped struct {
	Sample int
	Err    error
}

// WaitShare returns the share of time that the consumer waited for data, 0 to 1.
func (s Stats) WaitShare() float64 {
	if s.Total <= 0 {
		return 0
	}
	return float64(s.Waited) / float64(s.Total)
}

// NewLoader returns a Loader for the images of p. It is an error if cfg does not suit them. All
// samples must get the same shape, so a set with images of several sizes needs cfg.Image.Width and
// Height.
func NewLoader(p *Part, cfg LoaderConfig) (*Loader, error) {
	d := p.Data
	if err := d.CheckLengths(); err != nil {
		return nil, err
	}
	if d.Source == nil {
		return nil, fmt.Errorf("data set %s has features instead of images", d.Name)
	}
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Prefetch <= 0 {
		cfg.Prefetch = 2
	}
	w, h, c := d.Source.Shape()
	if d.Boxes != nil {
		w, h = 0, 0
	}
	c = cmp.Or(c, 3)
	cfg.Image.Channels = cmp.Or(cfg.Image.Channels, c)
	pipeline, err := prepare.NewPipeline(cfg.Image)
	if err != nil {
		return nil, err
	}
	l := &Loader{part: p, cfg: cfg, pipeline: pipeline}
	l.h, l.w, l.c = pipeline.Shape(w, h, c)
	if l.h == 0 || l.w == 0 {
		return nil, fmt.Errorf("the images of %s differ in size: give one size for all", d.Name)
	}
	l.bytes = cfg.Bytes && pipeline.Bytes(w, h)
	return l, nil
}

// Bytes reports whether batches hold bytes.
func (l *Loader) Bytes() bool { return l.bytes }

// Shape returns height, width and channels of the samples.
func (l *Loader) Shape() (h, w, c int) { return l.h, l.w, l.c }

// Stats returns a snapshot of the sums so far.
func (l *Loader) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Skipped, s.Remarks = slices.Clone(s.Skipped), slices.Clone(s.Remarks)
	return s
}

// Epoch starts preparing batches, given as lists of positions in the Part, with the augmentations of
// the given epoch. Close the Stream after use. Epoch panics on a position that the Part does not have.
func (l *Loader) Epoch(ctx context.Context, epoch int, batches [][]int) *Stream {
	return l.start(ctx, batches, &epoch, wholeBatch)
}

// EpochPart is Epoch for a part of each batch, for processes that share batches. Of a batch of n
// samples it prepares those from first up to, but not including, end, as part returns them. They have
// the same values as in the whole batch.
func (l *Loader) EpochPart(ctx context.Context, epoch int, batches [][]int, part func(n int) (first, end int)) *Stream {
	return l.start(ctx, batches, &epoch, part)
}

// wholeBatch returns the whole batch as the part.
func wholeBatch(n int) (first, end int) { return 0, n }

// Sequential starts preparing the whole Part in order, size samples per batch,
// without augmentation: for an evaluation.
func (l *Loader) Sequential(ctx context.Context, size int) *Stream {
	size = max(size, 1)
	var batches [][]int
	for at := 0; at < l.part.Len(); at += size {
		b := make([]int, min(size, l.part.Len()-at))
		for i := range b {
			b[i] = at + i
		}
		batches = append(batches, b)
	}
	return l.start(ctx, batches, nil, wholeBatch)
}

// slot is a batch in preparation. Every job writes its own samples and its own entries of errs.
type slot struct {
	batch   Batch
	pos     []int
	turn    []uint64 // number of earlier occurrences of the position in this batch
	errs    []error
	remarks [][]string // remarks on the samples
	pending sync.WaitGroup
}

// job is some consecutive samples of one slot.
type job struct {
	s      *slot
	lo, hi int
}

// jobSamples is the number of samples that a worker takes at a time. It is large enough to make the
// hand-over cheap for tiny images, and small enough to share a small batch among workers.
const jobSamples = 4

// Stream returns the batches of one epoch in order.
type Stream struct {
	l       *Loader
	ctx     context.Context
	stop    context.CancelFunc
	epoch   *int
	part    func(n int) (first, end int)
	ready   chan *slot // in order; a slot may still be in preparation
	back    chan *slot // slots free to fill
	done    sync.WaitGroup
	current *slot
	began   time.Time
	waited  time.Duration
	samples int
}

func (l *Loader) start(ctx context.Context, batches [][]int, epoch *int, part func(n int) (first, end int)) *Stream {
	for _, b := range batches {
		for _, pos := range b {
			if pos < 0 || pos >= l.part.Len() {
				panic(fmt.Sprintf("data: position %d in a part of %d samples", pos, l.part.Len()))
			}
		}
	}
	slots := min(l.cfg.Prefetch+1, max(len(batches), 1))
	s := &Stream{l: l, epoch: epoch, part: part, ready: make(chan *slot, slots), back: make(chan *slot, slots)}
	s.ctx, s.stop = context.WithCancel(ctx)
	for range slots {
		s.back <- l.takeSlot()
	}
	jobs := make(chan job)
	for range l.cfg.Workers {
		s.done.Go(func() { s.work(jobs) })
	}
	s.done.Go(func() { s.dispatch(batches, jobs) })
	return s
}

func (l *Loader) takeSlot() *slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		s := l.free[n-1]
		l.free = l.free[:n-1]
		return s
	}
	return new(slot)
}

// dispatch hands out batches in order as slots come free.
func (s *Stream) dispatch(batches [][]int, jobs chan<- job) {
	defer close(jobs)
	defer close(s.ready)
	for _, whole := range batches {
		var t *slot
		select {
		case t = <-s.back:
		case <-s.ctx.Done():
			return
		}
		first, end := s.part(len(whole))
		pos := whole[first:end]
		s.l.prepare(t, whole[:end], first)
		s.ready <- t // never blocks: there are as many places as slots
		for lo := 0; lo < len(pos); lo += jobSamples {
			j := job{t, lo, min(lo+jobSamples, len(pos))}
			select {
			case jobs <- j:
			case <-s.ctx.Done():
				for k := j.lo; k < len(pos); k++ {
					t.errs[k] = s.ctx.Err()
					t.pending.Done()
				}
				return
			}
		}
	}
}

// prepare shapes t for the samples at pos. before is the number of samples of the batch before them.
func (l *Loader) prepare(t *slot, pos []int, before int) {
	n := len(pos) - before
	t.pos = append(t.pos[:0], pos[before:]...)
	t.errs = append(t.errs[:0], make([]error, n)...)
	t.remarks = append(t.remarks[:0], make([][]string, n)...)
	t.turn = t.turn[:0]
	seen := make(map[int]uint64, n)
	for i, p := range pos {
		if i >= before {
			t.turn = append(t.turn, seen[p])
		}
		seen[p]++
	}
	size := n * l.h * l.w * l.c
	pixels, bytes := t.batch.Pixels, t.batch.Bytes
	if l.bytes {
		bytes = resize(bytes, size)
	} else {
		pixels = resize(pixels, size)
	}
	t.batch = Batch{N: n, H: l.h, W: l.w, C: l.c, Pixels: pixels, Bytes: bytes,
		Pos: t.batch.Pos[:0], Label: t.batch.Label[:0], Fine: t.batch.Fine[:0]}
	t.pending.Add(n)
}

// resize returns n values, whose content is arbitrary, in the memory of v if that is enough.
func resize[T float32 | uint8](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}

func (s *Stream) work(jobs <-chan job) {
	var (
		dec     = imaging.Decoder{Smooth: s.l.cfg.Smooth, RawColours: s.l.cfg.RawColours, Shrink: s.l.pipeline.Shrink}
		scratch prepare.Scratch
		im      imaging.Image
	)
	for j := range jobs {
		for k := j.lo; k < j.hi; k++ {
			if err := s.ctx.Err(); err != nil {
				j.s.errs[k] = err
			} else {
				dec.ClearRemarks()
				j.s.errs[k] = s.sample(j.s, k, &im, &dec, &scratch)
				j.s.remarks[k] = dec.Remarks()
			}
			j.s.pending.Done()
		}
	}
}

// sample prepares sample k of t. A panic in a decoder becomes that image's error.
func (s *Stream) sample(t *slot, k int, im *imaging.Image, dec *imaging.Decoder, scratch *prepare.Scratch) (err error) {
	l := s.l
	i := l.part.Index[t.pos[k]]
	d := l.part.Data
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: internal error while reading the image: %v", d.Names[i], r)
		}
	}()
	if err := d.Image(s.ctx, i, im, dec); err != nil {
		return err
	}
	if h, w, _ := l.pipeline.Shape(im.W, im.H, l.c); h != l.h || w != l.w {
		return &SourceError{fmt.Errorf("%s: image of %d x %d pixels among images of %d x %d: give one size for "+
			"them to", d.Names[i], w, h, l.w, l.h)}
	}
	var rng *rand.Rand
	if s.epoch != nil {
		rng = rand.New(rand.NewPCG(l.cfg.Seed, sampleSeed(*s.epoch, i, t.turn[k])))
	}
	if l.bytes {
		l.pipeline.ApplyBytes(nthPiece(t.batch.Bytes, k, l.h*l.w*l.c), im, rng, scratch)
	} else {
		l.pipeline.Apply(t.batch.Sample(k), im, rng, scratch)
	}
	return nil
}

// sampleSeed mixes its arguments by the finaliser of SplitMix64, so that neighbouring samples and
// epochs get unrelated generators.
func sampleSeed(epoch, sample int, turn uint64) uint64 {
	z := uint64(0)
	for _, v := range [3]uint64{uint64(epoch), uint64(sample), turn} {
		z += v + 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
	}
	return z
}

// Next returns the next batch, or io.EOF after the last one. After the call, do not use the previous
// batch.
func (s *Stream) Next() (*Batch, error) {
	start := time.Now()
	if s.began.IsZero() {
		s.began = start
	}
	if s.current != nil {
		s.back <- s.current
		s.current = nil
	}
	t, ok := <-s.ready
	if ok {
		t.pending.Wait()
	}
	s.waited += time.Since(start)
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	if !ok {
		return nil, io.EOF
	}
	s.current = t
	if err := s.finish(t); err != nil {
		return nil, err
	}
	s.samples += t.batch.N
	return &t.batch, nil
}

// UnreadableError is the error of a sample that cannot be read. Without Strict such a sample is left out.
type UnreadableError struct{ Err error }

func (u *UnreadableError) Error() string { return u.Err.Error() }
func (u *UnreadableError) Unwrap() error { return u.Err }

// SourceError is the error of a whole source instead of a single sample: a server that cannot be
// reached, or an archive that changes while it is read. It ends a Loader even if unreadable samples
// are left out. A file system for OpenFS may return it.
type SourceError struct{ Err error }

func (e *SourceError) Error() string { return e.Err.Error() }
func (e *SourceError) Unwrap() error { return e.Err }

// IsFatal reports whether the error of reading a sample is an interruption or a SourceError. Then trying
// the other samples is useless.
func IsFatal(err error) bool {
	var source *SourceError
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &source)
}

// asUnreadableError marks an error that concerns a single sample.
func asUnreadableError(err error) error {
	if IsFatal(err) {
		return err
	}
	return &UnreadableError{err}
}

// finish drops or reports the samples that failed and fills in the labels.
func (s *Stream) finish(t *slot) error {
	b, p := &t.batch, s.l.part
	kept := 0
	for k, err := range t.errs {
		if err != nil {
			if s.l.cfg.Strict || IsFatal(err) {
				return asUnreadableError(err)
			}
			s.l.skip(p.Index[t.pos[k]], err)
			continue
		}
		for _, text := range t.remarks[k] {
			s.l.remark(Remark{p.Index[t.pos[k]], text})
		}
		if size := b.H * b.W * b.C; kept < k && s.l.bytes {
			copy(nthPiece(b.Bytes, kept, size), nthPiece(b.Bytes, k, size))
		} else if kept < k {
			copy(b.Sample(kept), b.Sample(k))
		}
		kept++
		pos := t.pos[k]
		b.Pos = append(b.Pos, pos)
		if len(p.Label) > 0 {
			b.Label = append(b.Label, p.Label[pos])
			b.Fine = append(b.Fine, p.Fine[pos])
		}
	}
	b.N = kept
	if size := kept * b.H * b.W * b.C; s.l.bytes {
		b.Bytes = b.Bytes[:size]
	} else {
		b.Pixels = b.Pixels[:size]
	}
	return nil
}

// skip notes that a sample could not be read.
func (l *Loader) skip(sample int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.skipped[sample] {
		if l.skipped == nil {
			l.skipped = make(map[int]bool)
		}
		l.skipped[sample] = true
		l.stats.Skipped = append(l.stats.Skipped, Skipped{sample, err})
	}
}

// remark keeps a remark.
func (l *Loader) remark(r Remark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.remarked[r] {
		if l.remarked == nil {
			l.remarked = make(map[Remark]bool)
		}
		l.remarked[r] = true
		l.stats.Remarks = append(l.stats.Remarks, r)
	}
}

// Close ends the stream, even if batches are left, and adds its times to the Loader's. After the
// call, do not use the last batch.
func (s *Stream) Close() {
	s.stop()
	s.done.Wait()
	l := s.l
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Samples += s.samples
	l.stats.Waited += s.waited
	if !s.began.IsZero() {
		l.stats.Total += time.Since(s.began)
		s.began = time.Time{}
	}
	s.samples, s.waited = 0, 0
	if s.current != nil {
		l.free = append(l.free, s.current)
		s.current = nil
	}
	for t := range s.ready { // closed by dispatch
		l.free = append(l.free, t)
	}
	for len(s.back) > 0 {
		l.free = append(l.free, <-s.back)
	}
}
