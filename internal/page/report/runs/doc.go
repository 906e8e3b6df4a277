// Package runs compares the folders that training leaves behind on one page. Runs whose
// configurations differ only in the seed are one setting, shown as mean and
// standard deviation.
package runs
