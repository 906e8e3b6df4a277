// Package split divides a data set for an experiment.
//
// Select applies a Selection: a label rule and a split. It explains the division. Its Parts are the
// samples for training, the queries, the gallery and the samples for validation.
//
// Photographs that were taken together (FindGroups) stay on one side if Selection.Group asks for that.
package split
