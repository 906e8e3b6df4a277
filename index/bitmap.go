package index

import "math/bits"

// bitmap is a set of rows of a part.
type bitmap []uint64

func newBitmap(n int) bitmap { return make(bitmap, (n+63)/64) }

// fullBitmap returns the set of all n rows.
func fullBitmap(n int) bitmap {
	b := newBitmap(n)
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n%64 != 0 {
		b[len(b)-1] = 1<<(n%64) - 1
	}
	return b
}

func (b bitmap) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bitmap) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitmap) clear(i int)    { b[i>>6] &^= 1 << (i & 63) }

func (b bitmap) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// and keeps the rows that are in c too.
func (b bitmap) and(c bitmap) {
	for i := range b {
		b[i] &= c[i]
	}
}

// or adds the rows of c.
func (b bitmap) or(c bitmap) {
	for i := range b {
		b[i] |= c[i]
	}
}

// not replaces b by the rows of all that are not in b.
func (b bitmap) not(all bitmap) {
	for i := range b {
		b[i] = all[i] &^ b[i]
	}
}

// visitRows calls f for the rows in order until it returns false.
func (b bitmap) visitRows(f func(row int) bool) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			if !f(i*64 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}
