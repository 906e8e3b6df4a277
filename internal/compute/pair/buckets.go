package pair

import "math/bits"

// buckets groups indices by a number that each has: one bucket for each
// distinct number, in the order in which these first come up.
type buckets struct {
	slots   []int32 // open-addressing table from number to bucket
	value   []int64 // per bucket
	at      []int32 // per index: its bucket
	start   []int32
	members []int32 // ascending within each bucket
}

func (b *buckets) build(values []int64) {
	b.slots = resize(b.slots, 1<<bits.Len(uint(2*len(values)|7)))
	for i := range b.slots {
		b.slots[i] = -1
	}
	b.value = b.value[:0]
	b.at = resize(b.at, len(values))
	for j, v := range values {
		s := b.slot(v)
		if b.slots[s] < 0 {
			b.slots[s] = int32(len(b.value))
			b.value = append(b.value, v)
		}
		b.at[j] = b.slots[s]
	}
	b.start = resize(b.start, len(b.value)+1)
	clear(b.start)
	for _, c := range b.at {
		b.start[c+1]++
	}
	for c := range b.value {
		b.start[c+1] += b.start[c]
	}
	b.members = resize(b.members, len(values))
	for j, c := range b.at {
		b.members[b.start[c]] = int32(j)
		b.start[c]++
	}
	copy(b.start[1:], b.start)
	b.start[0] = 0
}

// slot returns the place of v in the table: where it is, or where it would go.
func (b *buckets) slot(v int64) int {
	mask := len(b.slots) - 1
	s := int(uint64(v)*0x9e3779b97f4a7c15>>32) & mask
	for b.slots[s] >= 0 && b.value[b.slots[s]] != v {
		s = (s + 1) & mask
	}
	return s
}

// find returns the bucket of v, -1 without one.
func (b *buckets) find(v int64) int32 { return b.slots[b.slot(v)] }

// indices returns the indices in a bucket, none for -1.
func (b *buckets) indices(bucket int32) []int32 {
	if bucket < 0 {
		return nil
	}
	return b.members[b.start[bucket]:b.start[bucket+1]]
}
