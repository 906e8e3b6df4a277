package onnxnet

import "fmt"

// form says how the values of an image lie in a tensor, whatever its shape:
// h x w positions of c channels each, the channels of a position side by side
// or, with first, the positions of a channel.
type form struct {
	first   bool
	h, w, c int
	// pad is what a Pad has added to h and w, top, left, bottom and right: the
	// convolution or pool that follows takes it over.
	pad [4]int
	// drop counts positions that were cut off in front: the mean that follows
	// leaves them out.
	drop int
}

func (f form) positions() int { return f.h * f.w }

func (f form) len() int { return f.h * f.w * f.c }

// offset is where the value of a position and channel lies.
func (f form) offset(position, channel int) int {
	if f.first {
		return channel*f.positions() + position
	}
	return position*f.c + channel
}

// place is the inverse of offset.
func (f form) place(offset int) (position, channel int) {
	if f.first {
		return offset % f.positions(), offset / f.positions()
	}
	return offset / f.c, offset % f.c
}

// settled reports whether no part of a form waits for a following operator.
func (f form) settled() bool { return f.pad == [4]int{} && f.drop == 0 }

// is reports whether the values lie as in g; of vectors there is one way only.
func (f form) is(g form) bool {
	return f.h*f.w == g.h*g.w && f.c == g.c && (f.first == g.first || f.positions() == 1 || f.c == 1)
}

func (f form) String() string { return fmt.Sprintf("%d x %d x %d", f.h, f.w, f.c) }
