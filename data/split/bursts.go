package split

import (
	"cmp"
	"context"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/classname"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// Limits of the search for photos that were taken together.
const (
	// maxCompared is the largest number of pictures that are compared.
	maxCompared = 20_000
	// maxNeighbours is the number of pictures of its class with which a picture is compared: those
	// before it in the order of names.
	maxNeighbours = 1000
	// burstGap is a time between two photos that is too short to photograph two things.
	burstGap = 2 * time.Second
	// sessionGap is a time between two photos within which less likeness is enough.
	sessionGap = time.Minute
	// stoppedClock is the number of photos with the same second from which a clock is not trusted.
	stoppedClock = 20
)

// FindGroups finds photographs of a class that were taken together: bursts and copies. For each
// position of the part it returns the first position of its group.
//
// Two samples of a class belong together if
//   - their names are equal;
//   - their pictures are more alike than any two of different classes;
//   - the EXIF times of their files are neighbours and at most two seconds apart;
//   - the times are at most a minute apart, or their files have consecutive numbers, and
//     the pictures are more alike than those of different classes usually are. Numbers
//     count if consecutive pictures are alike more often than other pictures of a class.
//
// Groups that share a sample are joined. A picture is compared with the thousand pictures before
// it in its class, in the order of names.
//
// Only names are compared if there are more than 20,000 pictures, if the set has features instead
// of pictures, or if its files are on a server. why then gives the reason; it is "" if pictures
// were compared. A picture that cannot be read resembles no other picture.
func FindGroups(ctx context.Context, p *data.Part) (of []int, why string, err error) {
	f := groupFinder{p: p, groupOf: lists.Indices(p.Len())}
	_, f.classes = lists.Group(p.Fine)
	for _, m := range f.classes {
		slices.SortStableFunc(m, func(a, b int) int { return classname.Compare(f.name(a), f.name(b)) })
	}
	f.joinNames()
	switch {
	case p.Data.Features != nil:
		why = "features show no bursts"
	case p.Len() > maxCompared:
		why = "more than " + strconv.Itoa(maxCompared) + " pictures are not searched for bursts"
	case p.Data.IsRemote():
		why = "pictures on a server are not searched for bursts"
	default:
		err = f.comparePictures(ctx)
	}
	for k := range f.groupOf {
		f.groupOf[k] = f.root(k)
	}
	return f.groupOf, why, err
}

// groupFinder is a search for groups.
type groupFinder struct {
	p          *data.Part
	groupOf    []int   // for each position, a position nearer to the first of its group
	classes    [][]int // positions in the natural order of their names
	thumbnails []thumbnail
	// tint is the largest difference of the tints of pictures that belong together. sure is their
	// least likeness, and likely the least likeness of neighbours. copied is the least likeness
	// of copies in other colours.
	tint, sure, likely, copied float64
}

func (f *groupFinder) root(k int) int {
	for f.groupOf[k] != k {
		f.groupOf[k] = f.groupOf[f.groupOf[k]]
		k = f.groupOf[k]
	}
	return k
}

func (f *groupFinder) join(a, b int) {
	a, b = f.root(a), f.root(b)
	f.groupOf[max(a, b)] = min(a, b)
}

func (f *groupFinder) name(k int) string { return f.p.Data.Names[f.p.Index[k]] }

// joinNames joins samples of a class with the same name: parts of one photo, or a photo that is
// listed twice.
func (f *groupFinder) joinNames() {
	for _, m := range f.classes {
		for i := 1; i < len(m); i++ {
			if n := f.name(m[i]); n != "" && n == f.name(m[i-1]) {
				f.join(m[i-1], m[i])
			}
		}
	}
}

// comparePictures compares the pictures.
func (f *groupFinder) comparePictures(ctx context.Context) error {
	var err error
	if f.thumbnails, err = readThumbnails(ctx, f.p.Data, f.p.Index); err != nil {
		return err
	}
	if err := f.calibrate(ctx); err != nil {
		return err
	}
	for _, m := range f.classes { // first, because compare uses the groups that are joined already
		if err := f.joinSimilar(ctx, m); err != nil {
			return err
		}
	}
	f.joinNumbers()
	for _, m := range f.classes {
		f.joinTimes(m)
	}
	return nil
}

// similarPair are two pictures that are alike.
type similarPair struct {
	a, b       int
	similarity float64
}

// joinSimilar joins the pictures of a class that are alike, beginning with the most alike. It joins
// two groups only if all their pairs are likely; otherwise pictures of a simple shape would form
// a chain.
func (f *groupFinder) joinSimilar(ctx context.Context, m []int) error {
	of := make([][]similarPair, len(m))
	err := par.ForContext(ctx, len(m), 8, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for j := max(0, i-maxNeighbours); j < i; j++ {
				if c := f.similarity(m[i], m[j], f.sure); c >= f.sure {
					of[i] = append(of[i], similarPair{m[j], m[i], c})
				}
			}
		}
	})
	if err != nil {
		return err
	}
	alike := slices.Concat(of...)
	slices.SortStableFunc(alike, func(p, q similarPair) int { return cmp.Compare(q.similarity, p.similarity) })
	groups := map[int][]int{}
	members := func(k int) []int {
		if g := groups[f.root(k)]; g != nil {
			return g
		}
		return []int{k}
	}
	for _, p := range alike {
		a, b := members(p.a), members(p.b)
		if f.root(p.a) == f.root(p.b) || !f.areAllLikely(a, b) {
			continue
		}
		f.join(p.a, p.b)
		groups[f.root(p.a)] = slices.Concat(a, b)
	}
	return nil
}

// areAllLikely reports whether every picture of a is likely to belong together with every picture of b.
func (f *groupFinder) areAllLikely(a, b []int) bool {
	for _, i := range a {
		for _, j := range b {
			if f.similarity(i, j, f.likely) < f.likely {
				return false
			}
		}
	}
	return true
}

// joinNumbers joins pictures of a class whose files have consecutive numbers, if numbers mean
// something in this set. If files were numbered later in any order, such pictures are no more
// alike than others of their class.
func (f *groupFinder) joinNumbers() {
	rng := rand.New(rand.NewPCG(0x5eed9a17, 1))
	var pairs [][2]int
	others := 0
	for _, m := range f.classes {
		for i := 1; i < len(m); i++ {
			if !areConsecutive(f.name(m[i-1]), f.name(m[i])) {
				continue
			}
			if f.similarity(m[i-1], m[i], f.likely) >= f.likely {
				pairs = append(pairs, [2]int{m[i-1], m[i]})
			}
			if k := rng.IntN(len(m)); k != i && k != i-1 && f.similarity(m[k], m[i], f.likely) >= f.likely {
				others++
			}
		}
	}
	if len(pairs) <= 3*others {
		return
	}
	for _, p := range pairs {
		f.join(p[0], p[1])
	}
}

// joinTimes joins pictures of a class that were taken one after the other.
func (f *groupFinder) joinTimes(m []int) {
	var timed []int
	at := map[time.Time]int{}
	for _, k := range m {
		if t := f.thumbnails[k].taken; !t.IsZero() {
			timed = append(timed, k)
			at[t]++
		}
	}
	timed = slices.DeleteFunc(timed, func(k int) bool { return at[f.thumbnails[k].taken] >= stoppedClock })
	slices.SortStableFunc(timed, func(a, b int) int { return f.thumbnails[a].taken.Compare(f.thumbnails[b].taken) })
	for i := 1; i < len(timed); i++ {
		a, b := timed[i-1], timed[i]
		switch apart := f.thumbnails[b].taken.Sub(f.thumbnails[a].taken); {
		case apart <= burstGap:
			f.join(a, b)
		case apart <= sessionGap && f.similarity(a, b, f.likely) >= f.likely:
			f.join(a, b)
		}
	}
}

// similarity returns the likeness of two pictures of similar colours, which is exact if it reaches
// enough. For other pictures it is 0, unless they are copies.
func (f *groupFinder) similarity(a, b int, enough float64) float64 {
	p, q := &f.thumbnails[a], &f.thumbnails[b]
	if p.tintDistance(q) <= f.tint {
		return p.similarity(q, enough)
	}
	if c := p.similarity(q, f.copied); c >= f.copied {
		return c
	}
	return 0
}

// areConsecutive reports whether the numbers at the ends of two file names are consecutive.
func areConsecutive(a, b string) bool {
	before, m := splitNumber(a)
	same, n := splitNumber(b)
	return m >= 0 && n == m+1 && before == same
}

// splitNumber cuts the number off the end of a file name; n is -1 without a number.
func splitNumber(name string) (before string, n int64) {
	name = strings.TrimSuffix(name, path.Ext(name))
	before = strings.TrimRight(name, "0123456789")
	n, err := strconv.ParseInt(name[len(before):], 10, 64)
	if err != nil || len(name)-len(before) > 12 {
		return name, -1
	}
	return before, n
}

// Chance is estimated from the set itself, by the likeness of pictures of different classes, which
// were not taken together.
const (
	calibrationPairs = 100_000 // number of pairs
	tintShare        = 0.05    // share of pairs that may have tints as near
	sureShare        = 2e-5    // share of pairs that may be as alike too
	// likelyShare is sureShare for neighbours, which are few pairs.
	likelyShare = 5e-4
	// copiedShare is sureShare for pictures of any tints.
	copiedShare = 2e-5
	minTint     = 6
	minSure     = 0.8
	minLikely   = 0.7
	minCopied   = 0.9
)

// calibrate computes how alike pictures must be. It measures pictures of different classes.
// Pictures of one class are more alike by chance, so it adds a third of the way from that measure
// to equality.
func (f *groupFinder) calibrate(ctx context.Context) error {
	f.tint, f.sure, f.likely, f.copied = minTint, minSure, minLikely, minCopied
	pairs := f.pairsAcrossClasses()
	if len(pairs) == 0 {
		return nil
	}
	of := make([]float64, len(pairs))
	measure := func(value func(a, b *thumbnail) float64) error {
		err := par.ForContext(ctx, len(pairs), 256, func(lo, hi int) {
			for k := lo; k < hi; k++ {
				of[k] = value(&f.thumbnails[pairs[k][0]], &f.thumbnails[pairs[k][1]])
			}
		})
		slices.Sort(of)
		return err
	}
	if err := measure((*thumbnail).tintDistance); err != nil {
		return err
	}
	f.tint = max(f.tint, of[int(tintShare*float64(len(of)))])
	above := func(share float64) float64 {
		at := of[len(of)-1-int(share*float64(len(of)))]
		return at + (1-at)/3
	}
	if err := measure(func(a, b *thumbnail) float64 { return a.similarity(b, minSure) }); err != nil {
		return err
	}
	f.copied = max(f.copied, (1+above(copiedShare))/2)
	err := measure(func(a, b *thumbnail) float64 {
		if a.tintDistance(b) > f.tint {
			return 0
		}
		return a.similarity(b, minLikely)
	})
	f.sure, f.likely = max(f.sure, above(sureShare)), max(f.likely, above(likelyShare))
	return err
}

// pairsAcrossClasses draws pairs of pictures of different classes, always the same pairs.
func (f *groupFinder) pairsAcrossClasses() [][2]int {
	n := f.p.Len()
	var out [][2]int
	add := func(a, b int) {
		if f.p.Fine[a] != f.p.Fine[b] {
			out = append(out, [2]int{a, b})
		}
	}
	if n*(n-1)/2 <= calibrationPairs {
		for b := range n {
			for a := range b {
				add(a, b)
			}
		}
		return out
	}
	rng := rand.New(rand.NewPCG(0x5eed9a17, 0))
	for range calibrationPairs {
		add(rng.IntN(n), rng.IntN(n))
	}
	return out
}
