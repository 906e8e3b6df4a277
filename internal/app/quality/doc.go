// Package quality finds photos that are blurred, dark, blown out, tiny, of an odd shape or
// like screenshots.
//
//	part -> Look: a Measure of each photo -> Judge: a score of each defect, 0 to 1
//
// The usual values are learned from the set itself. A score is the distance of a photo from the set's
// median in robust standard deviations (1.4826 times the median absolute deviation), divided by twice the
// limit of 3.5. So a photo has the defect from a score of 0.5. Fixed bounds keep ordinary photos from
// counting as dark or tiny in a set whose photos are all alike. A set of drawings, night skies or
// screenshots has no defects for that reason.
package quality
