// Package suspects lists what may be wrong with labelled items: labels that contradict
// the neighbours', copies of one picture, items unlike all others, classes that overlap.
// It presents the results of package clean in words, tables and a page of package review.
package suspects
