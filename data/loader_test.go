package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
)

// counted is a Source whose sample i is w x h pixels of value i, with the
// failures that a test asks for.
type counted struct {
	w, h   int
	c      int // what Shape says; 0: 1, and -1: unknown
	fail   map[int]error
	panics int
}

func (s *counted) Shape() (w, h, c int) { return s.w, s.h, max(0, cmp.Or(s.c, 1)) }

func (s *counted) Read(_ context.Context, i int, dst *imaging.Image, _ *imaging.Decoder) error {
	if err := s.fail[i]; err != nil {
		return err
	}
	if s.panics != 0 && i == s.panics {
		panic("decoder bug")
	}
	dst.Reset(s.w, s.h, 1)
	for k := range dst.Pix {
		dst.Pix[k] = uint8(i)
	}
	return nil
}

func countedPart(n int, src *counted) *Part {
	d := &Dataset{Name: "counted", Layout: "test", Fine: "class", Train: "class", Source: src}
	p := &Part{Data: d}
	values := make([]int64, n)
	for i := range n {
		d.Names = append(d.Names, fmt.Sprintf("image%d", i))
		values[i] = int64(i % 3)
		p.Index = append(p.Index, n-1-i) // a part in another order than the set
		p.Label = append(p.Label, int64(i%2))
		p.Fine = append(p.Fine, int64(i))
	}
	d.Columns = []Column{newNumberColumn("class", values)}
	d.mustBeConsistent()
	return p
}

func newLoader(t *testing.T, p *Part, cfg LoaderConfig) *Loader {
	t.Helper()
	l, err := NewLoader(p, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLoaderOrderAndValues(t *testing.T) {
	p := countedPart(50, &counted{w: 3, h: 2})
	batches := [][]int{{4, 9, 9, 0, 17, 3, 2, 1, 5}, {49}, {}, {30, 31}, {7, 6, 5, 4, 3, 2}}
	for _, workers := range []int{1, 2, 7} {
		l := newLoader(t, p, LoaderConfig{Workers: workers, Prefetch: workers})
		if h, w, c := l.Shape(); h != 2 || w != 3 || c != 1 {
			t.Fatalf("shape %d %d %d", h, w, c)
		}
		for epoch := range 3 {
			s := l.Epoch(t.Context(), epoch, batches)
			for k, want := range batches {
				b, err := s.Next()
				if err != nil {
					t.Fatal(err)
				}
				if b.N != len(want) || !slices.Equal(b.Pos, want) || len(b.Pixels) != b.N*6 {
					t.Fatalf("batch %d: %v, want %v", k, b.Pos, want)
				}
				for i, pos := range want {
					for _, v := range b.Sample(i) {
						if math.Abs(float64(v)-float64(49-pos)/255) > 1e-6 {
							t.Fatalf("batch %d sample %d: %v", k, i, b.Sample(i))
						}
					}
					if b.Label[i] != int64(pos%2) || b.Fine[i] != int64(pos) {
						t.Fatalf("batch %d sample %d: labels %d %d", k, i, b.Label[i], b.Fine[i])
					}
				}
			}
			if _, err := s.Next(); err != io.EOF {
				t.Fatalf("after the last batch: %v", err)
			}
			s.Close()
		}
		st := l.Stats()
		if st.Samples != 3*18 || st.WaitShare() < 0 || st.WaitShare() > 1 || st.Total <= 0 {
			t.Errorf("%+v", st)
		}
	}
}

func TestLoaderSequential(t *testing.T) {
	l := newLoader(t, countedPart(10, &counted{w: 1, h: 1}), LoaderConfig{})
	s := l.Sequential(t.Context(), 4)
	defer s.Close()
	var got []int
	for {
		b, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b.Pos...)
	}
	if !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("%v", got)
	}
}

func TestLoaderErrors(t *testing.T) {
	broken := errors.New("image7: broken")
	p := countedPart(20, &counted{w: 1, h: 1, fail: map[int]error{7: broken}, panics: 9})
	batches := [][]int{{0, 1}, {11, 12, 13, 10, 9}, {2, 3}} // positions of samples 8 7 6 9 10

	l := newLoader(t, p, LoaderConfig{Strict: true})
	s := l.Epoch(t.Context(), 0, batches)
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(); !errors.Is(err, broken) {
		t.Errorf("fatal: %v", err)
	}
	s.Close()

	// A failure of all that the samples lie in ends it either way, and is no sample's.
	gone := errors.New("no route to host")
	for _, strict := range []bool{false, true} {
		q := countedPart(20, &counted{w: 1, h: 1, fail: map[int]error{7: fmt.Errorf("x.zip: %w", &SourceError{gone})}})
		l := newLoader(t, q, LoaderConfig{Strict: strict})
		s := l.Epoch(t.Context(), 0, batches[1:])
		var sample *UnreadableError
		if _, err := s.Next(); !errors.Is(err, gone) || errors.As(err, &sample) || len(l.Stats().Skipped) > 0 {
			t.Errorf("strict %v: %v", strict, err)
		}
		s.Close()
	}

	l = newLoader(t, p, LoaderConfig{})
	s = l.Epoch(t.Context(), 0, batches)
	defer s.Close()
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	b, err := s.Next()
	if err != nil || b.N != 3 || !slices.Equal(b.Pos, []int{11, 13, 9}) || !slices.Equal(b.Fine, []int64{11, 13, 9}) ||
		len(b.Pixels) != 3 {
		t.Fatalf("%+v %v", b, err)
	}
	for i, sample := range []float32{8, 6, 10} {
		if math.Abs(float64(b.Pixels[i]-sample/255)) > 1e-6 {
			t.Errorf("kept sample %d has value %v", i, b.Pixels[i]*255)
		}
	}
	skipped := l.Stats().Skipped
	if len(skipped) != 2 || skipped[0].Sample != 7 || !errors.Is(skipped[0].Err, broken) || skipped[1].Sample != 9 ||
		!strings.Contains(skipped[1].Err.Error(), "image9: internal error while reading the image: decoder bug") {
		t.Errorf("%v", skipped)
	}

	// Another epoch meets the same ones: they are counted once.
	again := l.Epoch(t.Context(), 1, batches)
	defer again.Close()
	for range batches {
		if _, err := again.Next(); err != nil {
			t.Fatal(err)
		}
	}
	p.Data.LeftOut = []LeftOut{{Reason: "not an image", Count: 1, First: []string{"x"}}}
	left := p.Data.AllLeftOut(l.Stats(), l.Stats())
	if len(left) != 2 || left[0].Count != 1 || left[1].Count != 2 || left[1].First[0] != "image7: broken" ||
		left[1].Reason != "could not be read" {
		t.Errorf("%v", left)
	}
	left[0].First[0] = "changed"
	if p.Data.LeftOut[0].First[0] != "x" {
		t.Error("the list is shared")
	}
}

func TestLoaderCancel(t *testing.T) {
	p := countedPart(1000, &counted{w: 8, h: 8})
	batches := make([][]int, 100)
	for i := range batches {
		batches[i] = []int{i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6}
	}
	l := newLoader(t, p, LoaderConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	s := l.Epoch(ctx, 0, batches)
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err := error(nil); ; {
		if _, err = s.Next(); err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			break
		}
	}
	s.Close()

	for range 50 { // left early, at any moment
		s := l.Epoch(t.Context(), 0, batches)
		s.Next()
		s.Close()
	}
	if n := len(l.free); n > 4 {
		t.Errorf("%d buffers kept", n)
	}
}

func TestLoaderReusesMemory(t *testing.T) {
	p := countedPart(64, &counted{w: 32, h: 32})
	l := newLoader(t, p, LoaderConfig{Workers: 1, Prefetch: 1})
	seen := map[*float32]bool{}
	for range 5 {
		s := l.Sequential(t.Context(), 8)
		for {
			b, err := s.Next()
			if err != nil {
				break
			}
			seen[&b.Pixels[0]] = true
		}
		s.Close()
	}
	if len(seen) != 2 {
		t.Errorf("%d buffers for one batch in use and one ahead", len(seen))
	}
}

// read counts the samples that are read.
type read struct {
	*counted
	n atomic.Int64
}

func (s *read) Read(ctx context.Context, i int, dst *imaging.Image, d *imaging.Decoder) error {
	defer s.n.Add(1)
	return s.counted.Read(ctx, i, dst, d)
}

// A batch keeps its values until the next call of Next, while the Loader fills the other buffers.
func TestLoaderLeavesTheBatchInUse(t *testing.T) {
	const size, ahead = 8, 2
	for _, bytes := range []bool{false, true} {
		src := &read{counted: &counted{w: 8, h: 8}}
		p := countedPart(64, nil)
		p.Data.Source = src
		l := newLoader(t, p, LoaderConfig{Workers: 2, Prefetch: ahead, Bytes: bytes})
		for range 3 { // the later streams have the buffers of the first
			src.n.Store(0)
			s := l.Sequential(t.Context(), size)
			for k := range p.Len() / size {
				b, err := s.Next()
				if err != nil {
					t.Fatal(err)
				}
				for src.n.Load() < int64(min((k+1+ahead)*size, p.Len())) {
					time.Sleep(10 * time.Microsecond) // until all buffers are filled
				}
				time.Sleep(time.Millisecond) // for one more, if the batch's own buffer were free
				for i := range size {
					want := uint8(p.Index[k*size+i])
					if len(b.Pos) != size || b.Pos[i] != k*size+i || bytes && b.Bytes[i*64] != want ||
						!bytes && math.Round(float64(b.Sample(i)[63])*255) != float64(want) {
						t.Fatalf("bytes %v, batch %d: sample %d changed while the batch was in use", bytes, k, i)
					}
				}
			}
			s.Close()
		}
	}
}

func TestNewLoaderErrors(t *testing.T) {
	p := countedPart(3, &counted{})
	if _, err := NewLoader(p, LoaderConfig{}); err == nil || !strings.Contains(err.Error(), "differ in size") {
		t.Errorf("%v", err)
	}
	if _, err := NewLoader(p, LoaderConfig{Image: prepare.Config{Width: 8}}); err == nil {
		t.Error("a width without a height")
	}
}

func TestSampleSeedsDiffer(t *testing.T) {
	seen := map[uint64]string{}
	for epoch := range 30 {
		for sample := range 300 {
			for turn := range uint64(3) {
				z := sampleSeed(epoch, sample, turn)
				at := fmt.Sprint(epoch, sample, turn)
				if other, ok := seen[z]; ok {
					t.Fatalf("%s and %s share a seed", at, other)
				}
				seen[z] = at
			}
		}
	}
}

// slow is a Source whose images take until the context ends.
type slow struct{ counted }

func (s *slow) Read(ctx context.Context, i int, _ *imaging.Image, _ *imaging.Decoder) error {
	<-ctx.Done()
	return ctx.Err()
}

// A loader that waits for images ends with its context, and with Close.
func TestLoaderStopsWithinAnImage(t *testing.T) {
	p := countedPart(20, &counted{w: 2, h: 2})
	p.Data.Source = &slow{counted{w: 2, h: 2}}
	for _, skip := range []bool{false, true} {
		l := newLoader(t, p, LoaderConfig{Strict: !skip})
		ctx, cancel := context.WithCancel(t.Context())
		s := l.Sequential(ctx, 4)
		time.AfterFunc(20*time.Millisecond, cancel)
		began := time.Now()
		if _, err := s.Next(); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		s.Close()
		l.Sequential(t.Context(), 4).Close()
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("ended after %v", took)
		}
		if n := len(l.Stats().Skipped); n != 0 {
			t.Errorf("%d images count as unreadable", n)
		}
	}
}

// What a loader needs of its configuration, and what it does without.
func TestLoaderDefaults(t *testing.T) {
	l := newLoader(t, countedPart(5, &counted{w: 4, h: 4}), LoaderConfig{Workers: -1, Prefetch: -1})
	if l.cfg.Workers < 1 || l.cfg.Prefetch != 2 {
		t.Errorf("%d workers, %d ahead", l.cfg.Workers, l.cfg.Prefetch)
	}
	if s := l.Epoch(t.Context(), 0, [][]int{{0}, {1}, {2}, {3}, {4}}); cap(s.ready) != 3 {
		t.Errorf("%d slots, want one in use and two ahead", cap(s.ready))
	} else {
		s.Close()
	}
	if s := l.Epoch(t.Context(), 0, nil); cap(s.ready) != 1 {
		t.Errorf("%d slots for nothing", cap(s.ready))
	} else {
		s.Close()
	}
	for _, bad := range []int{-1, 5} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("position %d: no panic", bad)
				}
			}()
			l.Epoch(t.Context(), 0, [][]int{{bad}})
		}()
	}
	// One channel or three: as the images are, three where that is not known.
	for channels, want := range map[int]int{-1: 3, 1: 1, 3: 3} {
		l := newLoader(t, countedPart(2, &counted{w: 2, h: 2, c: channels}), LoaderConfig{})
		if _, _, c := l.Shape(); c != want {
			t.Errorf("%d channels from %d", c, channels)
		}
	}
	p := countedPart(2, &counted{w: 2, h: 2})
	p.Data.Boxes = make([]image.Rectangle, 2)
	if _, err := NewLoader(p, LoaderConfig{}); err == nil || !strings.Contains(err.Error(), "differ in size") {
		t.Errorf("with boxes: %v", err)
	}
	if s := l.Sequential(t.Context(), -3); s == nil {
		t.Error("no stream")
	} else if b, err := s.Next(); err != nil || b.N != 1 {
		t.Errorf("%v %v", b, err)
	} else {
		s.Close()
	}
}

// An image of another size than the rest is an error that gives both.
func TestLoaderRefusesAnotherSize(t *testing.T) {
	p := countedPart(3, &counted{w: 4, h: 6})
	l := newLoader(t, p, LoaderConfig{})
	for _, size := range [][2]int{{5, 6}, {4, 7}} {
		p.Data.Source = &counted{w: size[0], h: size[1]}
		s := l.Sequential(t.Context(), 1)
		if _, err := s.Next(); err == nil || !strings.Contains(err.Error(),
			fmt.Sprintf("image of %d x %d pixels among images of 4 x 6", size[0], size[1])) {
			t.Errorf("%v", err)
		}
		s.Close()
	}
}

// TestLoaderGivesBytes: a loader that is asked for bytes gives them where they are the
// same, without those that cannot be read, and values elsewhere.
func TestLoaderGivesBytes(t *testing.T) {
	src := &counted{w: 4, h: 3, fail: map[int]error{2: errors.New("torn")}}
	for _, c := range []struct {
		cfg  prepare.Config
		want bool
	}{{prepare.Config{}, true}, {prepare.Config{Width: 2, Height: 2}, false},
		{prepare.Config{Width: 2, Height: 2, Rounded: true}, true}} {
		l, err := NewLoader(countedPart(5, src), LoaderConfig{Image: c.cfg, Bytes: true})
		if err != nil {
			t.Fatal(err)
		}
		if l.Bytes() != c.want {
			t.Errorf("%+v: bytes %v", c.cfg, l.Bytes())
		}
		st := l.Epoch(context.Background(), 0, [][]int{{0, 1, 2, 3}, {4}})
		b, err := st.Next()
		if err != nil {
			t.Fatal(err)
		}
		if size := b.H * b.W * b.C; c.want {
			if b.N != 3 || b.Pixels != nil || len(b.Bytes) != 3*size || b.Bytes[2*size] != 1 {
				t.Errorf("%+v: %d samples, bytes %v, values %v", c.cfg, b.N, b.Bytes, b.Pixels)
			}
		} else if b.Bytes != nil || len(b.Pixels) != 3*size {
			t.Errorf("%+v: bytes %v, values %v", c.cfg, b.Bytes, b.Pixels)
		}
		st.Close()
	}
}

// TestEpochPart checks that a part of a batch has the samples and the values of the whole one,
// also of a sample that stands in both parts: its second view stays its second.
func TestEpochPart(t *testing.T) {
	p := countedPart(12, &counted{w: 8, h: 8})
	l := newLoader(t, p, LoaderConfig{Seed: 3, Image: prepare.Config{Augment: prepare.Augment{Pad: 0.5}}})
	batches := [][]int{{0, 1, 2, 0, 1, 0, 5}, {7, 7, 7, 7}}
	read := func(s *Stream) (all [][]float32, pos [][]int) {
		defer s.Close()
		for {
			b, err := s.Next()
			if errors.Is(err, io.EOF) {
				return all, pos
			} else if err != nil {
				t.Fatal(err)
			}
			all, pos = append(all, slices.Clone(b.Pixels)), append(pos, slices.Clone(b.Pos))
		}
	}
	whole, _ := read(l.Epoch(t.Context(), 4, batches))
	if n := len(whole[1]) / 4; slices.Equal(whole[1][:n], whole[1][n:2*n]) {
		t.Fatal("two views of a sample are alike, which shows nothing")
	}
	for cut := range 5 {
		for k, part := range []func(n int) (int, int){
			func(int) (int, int) { return 0, cut },
			func(n int) (int, int) { return cut, n },
		} {
			got, pos := read(l.EpochPart(t.Context(), 4, batches, part))
			for i, b := range batches {
				first, end := part(len(b))
				if size := len(whole[i]) / len(b); !slices.Equal(got[i], whole[i][first*size:end*size]) ||
					!slices.Equal(pos[i], b[first:end]) {
					t.Errorf("part %d of batch %d, cut at %d, has other values", k, i, cut)
				}
			}
		}
	}
}
