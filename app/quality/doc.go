// Package quality finds photos that are blurred, dark, blown out, tiny, of an odd shape or
// like screenshots.
//
//	part -> Look: a Measure of each photo -> Judge: a score of each defect, 0 to 1
//
// What is usual is learned from the set itself: a score is how far a photo is from the
// set's median, in robust standard deviations (1.4826 times the median absolute deviation),
// over twice the limit of 3.5. So 0.5 is the limit, from which a photo has the defect.
// Bounds beside it keep what nobody would call dark, or tiny, from being so in a set whose
// photos are all alike. A set of drawings, of night skies or of screenshots has no defects
// by being one.
package quality
