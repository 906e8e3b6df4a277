// Package runs reads the folders that training leaves behind (config.yaml,
// metrics.csv, timing.csv) and compares them on one page. Runs whose
// configurations differ only in the seed are one setting, shown as mean and
// standard deviation.
package runs
