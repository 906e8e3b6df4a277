package onnxnet

import "fmt"

// imageLayout says how the values of an image lie in a tensor, whatever its shape:
// h x w positions of c channels each, the channels of a position side by side
// or, with first, the positions of a channel.
type imageLayout struct {
	first   bool
	h, w, c int
	// pad is what a Pad has added to h and w, top, left, bottom and right: the
	// convolution or pool that follows takes it over.
	pad [4]int
	// drop counts positions that were cut off in front: the mean that follows
	// leaves them out.
	drop int
}

func (f imageLayout) positions() int { return f.h * f.w }

func (f imageLayout) len() int { return f.h * f.w * f.c }

// offset is where the value of a position and channel lies.
func (f imageLayout) offset(position, channel int) int {
	if f.first {
		return channel*f.positions() + position
	}
	return position*f.c + channel
}

// place is the inverse of offset.
func (f imageLayout) place(offset int) (position, channel int) {
	if f.first {
		return offset % f.positions(), offset / f.positions()
	}
	return offset / f.c, offset % f.c
}

// isSettled reports whether no part of a form waits for a following operator.
func (f imageLayout) isSettled() bool { return f.pad == [4]int{} && f.drop == 0 }

// equals reports whether the values lie as in g; of vectors there is one way only.
func (f imageLayout) equals(g imageLayout) bool {
	return f.h*f.w == g.h*g.w && f.c == g.c && (f.first == g.first || f.positions() == 1 || f.c == 1)
}

func (f imageLayout) String() string { return fmt.Sprintf("%d x %d x %d", f.h, f.w, f.c) }
