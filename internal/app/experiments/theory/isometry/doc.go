// Package isometry measures how far an arrangement of labelled points is from
// separating its classes, and finds the nearest one that does.
//
// In: a Set, points f with classes. Out: L_HN (the hardest triplet's loss), the
// isometric error and the Hausdorff-like distance between two arrangements, the
// nearest triplet-separated (TS) arrangement in either sense with a lower bound
// beside the found value, searches for sets in which these quantities are as
// far apart as can be, and whether the nearest TS arrangement is collapsed.
//
// An arrangement is TS if for every anchor each distance to its own class is at
// most each distance to other classes. d_iso(f, TS) is the infimum over TS
// arrangements g of the largest |D_f - D_g|.
//
// Xu, Bethune and others, "The isometric approximation theorem applied to
// hard-negative mining in the triplet loss" (2023), with definitions 1 to 4,
// theorems 2 and 3.
package isometry
