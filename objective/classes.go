package objective

import (
	"fmt"
	"slices"
)

// ClassIndices numbers labels from 0 up. If classes is 0 it numbers them in
// ascending order. Otherwise it keeps the labels if all are below classes, and
// numbers them in ascending order if there are exactly classes different ones.
// It returns the number of classes.
func ClassIndices(labels []int64, classes int) ([]int64, int, error) {
	distinct := slices.Compact(slices.Sorted(slices.Values(labels)))
	if classes > 0 && (len(distinct) == 0 || distinct[0] >= 0 && distinct[len(distinct)-1] < int64(classes)) {
		return labels, classes, nil
	}
	if classes > 0 && len(distinct) != classes {
		return nil, 0, fmt.Errorf("%d classes for labels of %d classes from %d to %d: give one for each class, or "+
			"one for each of 0 to %d",
			classes, len(distinct), distinct[0], distinct[len(distinct)-1], distinct[len(distinct)-1])
	}
	out := make([]int64, len(labels))
	for i, y := range labels {
		k, _ := slices.BinarySearch(distinct, y)
		out[i] = int64(k)
	}
	return out, len(distinct), nil
}
