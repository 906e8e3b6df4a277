package index

// bitmap is a set of rows. A nil one is empty, whatever the number of rows.
type bitmap []uint64

func newBitmap(n int) bitmap { return make(bitmap, (n+63)/64) }

func (b bitmap) has(i int) bool { return i>>6 < len(b) && b[i>>6]>>(i&63)&1 != 0 }

func (b bitmap) set(i int) { b[i>>6] |= 1 << (i & 63) }

// with is b and the given rows of n, in memory of its own.
func (b bitmap) with(n int, rows []int) bitmap {
	out := newBitmap(n)
	copy(out, b)
	for _, r := range rows {
		out.set(r)
	}
	return out
}
