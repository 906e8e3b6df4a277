// Package suspects lists what may be wrong with labelled items: labels that the
// neighbours deny, copies of one picture, items unlike anything, classes that overlap. It
// puts what package clean finds into words, tables and a page of package review.
package suspects
