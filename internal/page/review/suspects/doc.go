// Package suspects lists what may be wrong with labelled items: labels that neighbours
// contradict, copies of a picture, items unlike all others, and classes that overlap. It
// presents the results of package clean in words, tables and a page of package review.
package suspects
